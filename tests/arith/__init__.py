"""Arithmetic in simulation, against plain Python and the golden model."""
