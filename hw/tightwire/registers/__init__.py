"""Registers, described once: for the gateware, the host code and the documentation."""
