"""Frames that get lost: what is acknowledged, what is sent again, what is received."""
