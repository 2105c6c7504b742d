"""An AXI4-Lite master: the registers of a simulated card, for its driver."""

from collections import deque

from cocotb.triggers import Event
from tightwire.host.errors import CardError

from .pins import Pins

__all__ = ["AxiLiteMaster"]

_OKAY = "00"
_ASKS = ("aw", "w", "ar")


class AxiLiteMaster:
    """``tightwire.host.Registers`` on the flat signals ``{prefix}_awaddr`` and so on; steps with
    a ``Stepper``. One access at a time.

    Parameters
    ----------
    dut : handle
    prefix : str
    rng : random.Random, optional
        Then AW and W come in any order, some clocks apart, and answers wait.
    patience : int
        Clocks until an access that is not answered is given up (CardError).
    """

    pause_clocks = 50

    def __init__(self, dut, prefix="s_axil", *, rng=None, patience=1000):
        pins = Pins(dut, prefix)
        self.name = prefix
        self.patience = patience
        self.accesses = 0
        self._rng = rng
        self._put = {name: pins.put_number(name) for name in (
            "awaddr", "wdata", "wstrb", "araddr", "awvalid", "wvalid", "arvalid", "bready",
            "rready")}
        self._get = {name: pins.get(name) for name in (
            "awready", "wready", "arready", "bvalid", "bresp", "rvalid", "rresp", "rdata")}
        self.restart()

    def restart(self):
        for name in ("awvalid", "wvalid", "arvalid", "bready", "rready"):
            self._put[name](0)
        self._queue = deque()
        self._access = None
        self._sleepers = []
        self._lower = []  # what was handed over with the last clock

    def state(self):
        """For the text of an error."""
        return f"{self.name} {len(self._queue) + (self._access is not None)} accesses wait"

    # ---- for the driver ----

    async def read32(self, address):
        return await self._do(_Access("read", address))

    async def write32(self, address, value, strobes=15):
        await self._do(_Access("write", address, value, strobes))

    async def pause(self):
        """Some clocks pass."""
        await self.clocks(self.pause_clocks)

    async def clocks(self, count):
        event = Event()
        self._sleepers.append([count, event])
        await event.wait()

    async def _do(self, access):
        self._queue.append(access)
        await access.done.wait()
        if access.response != _OKAY:
            raise CardError(f"{access.kind} at {access.address:#x}: " + {
                "10": "SLVERR", "11": "DECERR", None: "no answer"}[access.response])
        return access.value

    # ---- each clock ----

    def step(self, clock):
        """To be called at each falling edge."""
        if self._sleepers:
            for sleeper in self._sleepers:
                sleeper[0] -= 1
                if sleeper[0] <= 0:
                    sleeper[1].set()
            self._sleepers = [one for one in self._sleepers if one[0] > 0]
        for name in self._lower:
            self._put[name](0)
        self._lower.clear()
        access = self._access
        if access is None:
            if not self._queue:
                return
            access = self._access = self._queue.popleft()
            self._begin(access, clock)
        for channel, at in list(access.todo.items()):
            if clock < at:
                continue
            ours, theirs = ("valid", "ready") if channel in _ASKS else ("ready", "valid")
            self._put[f"{channel}{ours}"](1)
            if self._get[f"{channel}{theirs}"]() == "1":
                self._lower.append(f"{channel}{ours}")
                del access.todo[channel]
                if channel not in _ASKS:
                    access.response = self._get[f"{channel}resp"]()
                if channel == "r":
                    access.value = int(self._get["rdata"](), 2)
        late = clock - access.begun > self.patience
        if late:
            access.response = None
            self._lower = [name for name in self._put if name.endswith(("valid", "ready"))]
        if late or not access.todo:
            self.accesses += 1
            self._access = None
            access.done.set()

    def _begin(self, access, clock):
        """What is to happen from which clock on."""
        def late():
            return clock + (self._rng.randrange(4) if self._rng else 0)

        access.begun = clock
        if access.kind == "read":
            self._put["araddr"](access.address)
            access.todo = {"ar": late(), "r": late()}
        else:
            self._put["awaddr"](access.address)
            self._put["wdata"](access.value)
            self._put["wstrb"](access.strobes)
            access.todo = {"aw": late(), "w": late(), "b": late()}


class _Access:
    def __init__(self, kind, address, value=None, strobes=None):
        self.kind, self.address, self.value, self.strobes = kind, address, value, strobes
        self.response = None
        self.todo = {}
        self.done = Event()
