"""What can go wrong, of which the caller is to hear."""

__all__ = ["CardError", "DescriptorError", "NoCard", "QueueFull", "TableFull", "TimedOut"]


class CardError(RuntimeError):
    """Anything that the driver complains of; the text says what."""


class NoCard(CardError):
    """What is behind the registers is not such a card, or of another version."""


class QueueFull(CardError):
    """A ring has no free place now: poll, then try again."""


class TableFull(CardError):
    """No entry of a table of the card is free."""


class TimedOut(CardError):
    """The card did not do in time what it should."""


class DescriptorError(CardError, ValueError):
    """What is asked for cannot be done by this card."""
