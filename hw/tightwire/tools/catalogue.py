"""The tops that can be generated: name, component, parameters."""

import importlib
from dataclasses import dataclass, fields

from ..config import ConfigError

__all__ = ["Top", "TOPS", "make_config"]


@dataclass(frozen=True, kw_only=True)
class Top:
    """One top.

    Parameters
    ----------
    component, config : str
        The component's class and that of its only argument, each as ``module:name``. They are
        imported when asked for, since Amaranth takes its time.
    summary : str
        One line for the command line's help.
    """

    component: str
    config: str
    summary: str

    @staticmethod
    def _load(reference):
        module, _, name = reference.partition(":")
        return getattr(importlib.import_module(module), name)

    def config_class(self):
        return self._load(self.config)

    def build(self, config):
        """The component that ``config`` describes."""
        return self._load(self.component)(config)


TOPS = {
    "codec": Top(
        component="tightwire.tops.codec:CodecTop",
        config="tightwire.config:CodecConfig",
        summary="payload streams: float32 in, records out, and back",
    ),
}


def make_config(top, **parameters):
    """The configuration of a top, of the parameters that are not None.

    Raises
    ------
    ConfigError
        ``top`` does not have a parameter of that name, or a value is not legal.
    """
    config = TOPS[top].config_class()
    given = {name: value for name, value in parameters.items() if value is not None}
    known = [field.name for field in fields(config)]
    for name in given:
        if name not in known:
            raise ConfigError(f"{top} has no parameter {name}, only {', '.join(known)}")
    return config(**given)
