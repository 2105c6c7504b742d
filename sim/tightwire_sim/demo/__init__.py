"""The demonstration: real gradients through two codecs, back to back, in simulation.

``tightwire demo`` runs it. Card A sends gradients to card B and B sends others to A, under one
codec choice after the other. Every byte on the wire and at the far end is compared with the
golden model. What comes of it is a table, and a report that a browser opens.

``options``, ``choices`` and ``traffic`` say what is sent; ``tb_demo`` sends it and captures what
comes out; ``check`` compares, ``measure`` counts, ``results`` has both done for each capture.
``show`` leads through all that; ``stages``, ``table`` and ``page``, with its ``plots``, show it.
"""

from tightwire.tools.toolchain import ToolError

from .options import parse

__all__ = ["main"]


def main(argv=None):
    """Run the demonstration.

    Parameters
    ----------
    argv : list of str
        Arguments, without the names of the program and of the command.

    Returns
    -------
    int
        The exit code: 0 if every byte was right, else 1. Bad arguments end in SystemExit(2).

    Raises
    ------
    ToolError
        Something that is needed is missing or failed.
    """
    options = parse(argv)
    try:
        # Not sooner, so that help and complaints come at once.
        from .show import show
    except ModuleNotFoundError as error:
        raise ToolError(
            f"the demonstration needs the Python module {error.name}: "
            "make demo, or pip install 'tightwire[sim]'") from None
    return 0 if show(options) else 1
