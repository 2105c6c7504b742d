"""Both ends of the transport in plain Python, over frames without contents (docs/transport.md).

They say what the gateware is to do, and are the other end where a bench has only one of it.
"""

from .channel import Channel
from .frames import Ack, Frame, Outcome, Status
from .receiver import Receiver
from .sender import Sender

__all__ = ["Ack", "Channel", "Frame", "Outcome", "Receiver", "Sender", "Status"]
