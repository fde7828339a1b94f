"""Options that several commands share are the fields of a dataclass."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Turn the fields of the command's first argument, a dataclass, into options."""
    first, *own = signature(command).parameters.values()
    options = get_type_hints(command)[first.name]
    hints = get_type_hints(options, include_extras=True)
    shared = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(options)
    ]
    own = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own]
    parameters = [
        *(each for each in shared if each.default is Parameter.empty),
        *own,
        *(each for each in shared if each.default is not Parameter.empty),
    ]

    @wraps(command)
    def call(**values: Any) -> None:
        given = {each.name: values.pop(each.name) for each in fields(options)}
        command(options(**given), **values)

    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call
