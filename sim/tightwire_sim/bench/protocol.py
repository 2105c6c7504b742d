"""What every AXI-Stream output of ours obeys, watched beat by beat."""

__all__ = ["ProtocolError", "StreamCheck"]


class ProtocolError(AssertionError):
    """An output broke a rule of its interface; the text says which, where and when."""


class StreamCheck:
    """Holds an AXI-Stream output to its rules.

    * tvalid does not go before the beat is taken, and the beat does not change.
    * tkeep is contiguous from byte 0, never zero, and all ones before tlast.
    * Bytes without tkeep are 0.
    * tuser is the same on every beat of a frame, but for its lowest bit, the error mark, which
      comes only with tlast.
    * No bit is X or Z: not of tvalid, nor of the rest while it is high.

    The signals come as strings of bits, the highest first, as simulators give them: to compare
    those is several times faster than to make numbers of them first.

    Parameters
    ----------
    name : str
        Of the port, for the text of an error.
    """

    def __init__(self, name):
        self.name = name
        self.beats = 0
        self._waiting = None  # the beat that was offered and not taken
        self._user = None     # of the frame that has begun

    def _complain(self, clock, text):
        raise ProtocolError(f"{self.name}, clock {clock}, beat {self.beats}: {text}")

    def idle(self, clock, valid):
        """tvalid is not high at this clock."""
        if valid != "0":
            self._complain(clock, f"tvalid is {valid}")
        if self._waiting is not None:
            self._complain(clock, "tvalid fell before the beat was taken")

    def beat(self, clock, beat, taken):
        """A beat is offered at this clock, and taken or not.

        Parameters
        ----------
        clock : int
        beat : tuple of str
            tdata, tkeep, tlast, tuser.
        taken : bool
        """
        if self._waiting is not None:
            if beat != self._waiting:
                self._complain(clock, "the beat changed while it was waiting: " + ", ".join(
                    f"{name} {old} to {new}" for name, old, new in zip(
                        ("tdata", "tkeep", "tlast", "tuser"), self._waiting, beat, strict=True)
                    if old != new))
        else:
            self._look(clock, *beat)
        if not taken:
            self._waiting = beat
            return
        self._waiting = None
        self.beats += 1
        _, _, last, user = beat
        self._user = None if last == "1" else user[:-1]

    def _look(self, clock, data, keep, last, user):
        """The rules for a beat by itself and in its frame."""
        for name, bits in (("tdata", data), ("tkeep", keep), ("tlast", last), ("tuser", user)):
            if "X" in bits or "Z" in bits or "x" in bits or "z" in bits:  # the quickest way
                self._complain(clock, f"{name} is {bits}")
        if self._user is not None and user[:-1] != self._user:
            self._complain(clock, f"tuser changed within a frame, {self._user}? to {user}")
        if last == "0":
            if "0" in keep:
                self._complain(clock, f"tkeep is {keep} before tlast")
            if user[-1] == "1":
                self._complain(clock, "the error mark came before tlast")
            return
        empty = keep.find("1")
        if empty < 0:
            self._complain(clock, "tkeep is zero")
        if "0" in keep[empty:]:
            self._complain(clock, f"tkeep has a hole: {keep}")
        if "1" in data[:8 * empty]:
            self._complain(clock, f"a byte without tkeep is not 0: {data[:8 * empty]}")

    def end(self):
        """Nothing more will come: no frame may be half out."""
        if self._user is not None or self._waiting is not None:
            raise ProtocolError(f"{self.name}: a frame has begun and does not end")
