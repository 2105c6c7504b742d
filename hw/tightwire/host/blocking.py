"""The driver for plain calls."""

from inspect import iscoroutinefunction

from .card import Card

__all__ = ["BlockingCard", "finish"]


def finish(coroutine):
    """The result of a coroutine that never has to wait for anybody."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("the registers of a BlockingCard must not wait: await nothing in them")


class BlockingCard:
    """A ``Card`` whose coroutines are plain methods, over Registers that await nothing.

    Parameters and members are those of Card.
    """

    def __init__(self, registers, memory):
        self.card = Card(registers, memory)

    def __getattr__(self, name):
        value = getattr(self.card, name)
        if not iscoroutinefunction(value):
            return value

        def call(*args, **kwargs):
            return finish(value(*args, **kwargs))
        call.__name__, call.__doc__ = name, value.__doc__
        return call
