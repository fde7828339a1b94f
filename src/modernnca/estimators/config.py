"""ModernNCAConfig: every option of the estimators, frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from modernnca._named import named
from modernnca.ensemble.ensemble_config import EnsembleConfig
from modernnca.table.preprocessor import PreprocessingConfig


@dataclass(frozen=True, kw_only=True)
class ModernNCAConfig(PreprocessingConfig, EnsembleConfig):
    """Every option. One that is None is chosen by the preset.

    The estimators take it, or a dict of options, as `config`; searches address an
    option as `config__distance`. Options that are also constructor arguments may be
    given in either place.

    >>> ModernNCAConfig(distance="cosine").given()
    {'distance': 'cosine'}
    """


def _document(config: type[ModernNCAConfig]) -> str:
    """The options with their meaning and the value of the preset "default"."""
    lines = [
        f"    {each.name}: {each.metadata['text']} "
        f"Default: {each.metadata['default']!r}."
        for each in fields(config)
    ]
    return (config.__doc__ or "") + "\n    Options:\n" + "\n".join(lines) + "\n"


ModernNCAConfig.__doc__ = _document(ModernNCAConfig)


def as_options(config: Any) -> dict[str, Any]:
    """The options that were given as `config`: None, a dict or a ModernNCAConfig.

    >>> as_options({"distnace": "cosine"})
    Traceback (most recent call last):
    ...
    ValueError: Unknown option 'distnace' in config; did you mean 'distance'?
    """
    if config is None:
        return {}
    if isinstance(config, ModernNCAConfig):
        return config.given()
    if not isinstance(config, Mapping):
        raise ValueError(
            "config must be a dict or a ModernNCAConfig; "
            f"got {type(config).__name__} {config!r}."
        )
    known = dict.fromkeys(ModernNCAConfig.names())
    for name in config:
        named("option", name, known, where=" in config")
    return {name: value for name, value in config.items() if value is not None}
