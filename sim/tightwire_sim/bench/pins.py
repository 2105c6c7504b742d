"""The signals of a port by the simulator's own functions, which are much faster than cocotb's.

They take and give strings of bits, the highest first. They are not part of cocotb's public
interface; its version is pinned.
"""

__all__ = ["Pins"]


class Pins:
    """Signals whose names begin with a prefix and a ``_``."""

    def __init__(self, dut, prefix):
        self.prefix = prefix
        self._dut = dut

    def _handle(self, name):
        return getattr(self._dut, f"{self.prefix}_{name}")

    def width(self, name):
        return len(self._handle(name))

    def get(self, name):
        """A function that says what stands at a signal."""
        return self._handle(name)._handle.get_signal_val_binstr

    def put(self, name):
        """A function that drives a signal, as a procedural assignment would."""
        function = self._handle(name)._handle.set_signal_val_binstr
        return lambda bits: function(0, bits)

    def put_number(self, name):
        """The same, of an int."""
        function, width = self._handle(name)._handle.set_signal_val_binstr, self.width(name)
        return lambda number: function(0, f"{number:0{width}b}")
