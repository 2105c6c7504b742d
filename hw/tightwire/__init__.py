"""tightwire: an open FPGA network card that compresses gradients at line rate."""

__version__ = "0.1.0"
