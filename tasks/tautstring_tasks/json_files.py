"""Reading JSON and checking its structure: a file may be damaged, or from another program."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tautstring_tasks.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")
_NAMES = {
    str: "a string",
    bool: "true or false",
    None: "null",
    int: "a whole number",
    float: "a finite number",
    list: "a list",
    dict: "an object",
}


@dataclasses.dataclass(frozen=True)
class Maybe:
    """An optional entry, and what it must be if it exists."""

    wanted: Any


class OneOf:
    """Several structures, of which an entry must have one."""

    def __init__(self, *wanted: Any) -> None:
        """Store them."""
        self.wanted = wanted


def parse(file: Path, text: str) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise InputError(f"{file}: is not readable JSON (nested too deeply)") from None
    except ValueError as error:
        raise InputError(f"{file}: is not valid JSON ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: must be a JSON object")
    return content


def check(file: Path, content: Any, wanted: Any, name: str = "") -> None:
    """Raise, naming the entry, if content does not have the wanted structure.

    Wanted is one of these:

    - `str`, `int`, `float` (any finite number), `list`, `dict`
    - `bool`, and `None` for null
    - a tuple of the strings that are allowed
    - `OneOf(each, ...)`, of which one must fit
    - `[each]`, what each item must be; `[each, ...]` if there must be at least one
    - `{"name": each}`, what these entries must be; others are ignored
    - `{str: each}`, what each entry must be; there must be at least one
    """
    if isinstance(wanted, OneOf):
        first, *others = wanted.wanted
        for each in others:
            with contextlib.suppress(InputError):
                return check(file, content, each, name)
        check(file, content, first, name)
    elif isinstance(wanted, tuple):
        _require(file, name, isinstance(content, str) and content in wanted, f"one of {wanted}")
    elif isinstance(wanted, list):
        _require(file, name, isinstance(content, list), "a list")
        _require(file, name, bool(content) or ... not in wanted, "a list with items")
        for index, item in enumerate(content):
            check(file, item, wanted[0], f"{name}[{index}]")
    elif isinstance(wanted, Mapping):
        _require(file, name, isinstance(content, dict), "an object")
        _require(file, name, bool(content) or str not in wanted, "an object with entries")
        _check_entries(file, content, wanted, name)
    else:
        _require(file, name, _is_plain(content, wanted), _NAMES[wanted])


def options_of(file: Path, content: Mapping[str, Any], key: str, kind: type[Options]) -> Options:
    """Return the dataclass of options stored under `key` in a file; missing ones get defaults.

    Options that are paths are not in files (see `runs.as_options`).
    """
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind) if hints[field.name] is not Path]
    fields = {name: Maybe(_wanted(hints[name])) for name in names}
    check(file, content, {key: fields})
    unknown = content[key].keys() - fields.keys()
    if unknown:
        raise InputError(f"{file}: {key} has unknown options: {', '.join(sorted(unknown))}")
    given = {n: tuple(v) if isinstance(v, list) else v for n, v in content[key].items()}
    try:
        return kind(**given)
    except InputError as error:
        raise InputError(f"{file}: {key} is out of bounds ({error})") from None


def _wanted(hint: Any) -> Any:
    """Return the structure of an option, from its type."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return arguments
    if origin is tuple:  # of any length
        return [_wanted(arguments[0])]
    if origin in (typing.Union, types.UnionType):
        return OneOf(*map(_wanted, arguments))
    return None if hint is type(None) else hint


def _check_entries(
    file: Path, content: Mapping[str, Any], wanted: Mapping[Any, Any], name: str
) -> None:
    if str in wanted:
        wanted = dict.fromkeys(content, wanted[str])
    for key, entry in wanted.items():
        inner = f"{name}.{key}" if name else key
        if key in content:
            check(file, content[key], entry.wanted if isinstance(entry, Maybe) else entry, inner)
        elif not isinstance(entry, Maybe):
            raise InputError(f"{file}: has no {inner}")


def _is_plain(content: Any, wanted: type | None) -> bool:
    if isinstance(content, bool) or content is None:
        return wanted in (None, bool) and isinstance(content, bool) == (wanted is bool)
    if isinstance(content, int):  # of any size in JSON
        return wanted in (int, float) and abs(content) < 2**63
    if isinstance(content, float):
        return wanted is float and math.isfinite(content)
    return wanted is not None and isinstance(content, wanted)


def _require(file: Path, name: str, is_met: bool, allowed: str) -> None:
    if not is_met:
        raise InputError(f"{file}: {name or 'the whole'} must be {allowed}")
