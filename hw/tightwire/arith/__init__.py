"""Arithmetic that knows nothing of frames: division, square root, draws, largest magnitude."""
