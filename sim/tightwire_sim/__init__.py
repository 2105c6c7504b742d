"""Models and benches for tightwire: the golden model, cocotb benches, captured gradients."""
