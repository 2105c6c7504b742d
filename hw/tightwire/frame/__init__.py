"""Whole Ethernet frames: parsing, building, and what is known of one."""
