"""The host's memory: AXI4, rings in it, and the registers."""
