"""Beats and what moves them: layouts, FIFOs, delays, AXI-Stream edges."""
