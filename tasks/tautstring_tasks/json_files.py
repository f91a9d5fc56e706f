"""Reads JSON and checks its structure: a file may be damaged, or of another program."""

from __future__ import annotations

import dataclasses
import json
import math
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tautstring_tasks.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Options = TypeVar("Options", bound="DataclassInstance")
_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a finite number",
    list: "a list",
    dict: "an object",
}


@dataclasses.dataclass(frozen=True)
class Maybe:
    """What an entry must be where it is there."""

    wanted: Any


def parse(file: Path, text: str) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise InputError(f"{file}: is no JSON that can be read (nested too deeply)") from None
    except ValueError as error:
        raise InputError(f"{file}: is no JSON ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: has no entries")
    return content


def check(file: Path, content: Any, wanted: Any, name: str = "") -> None:
    """Refuse what is not as wanted, by name.

    Wanted is one of these:

    - `str`, `int`, `float` (any finite number), `list`, `dict`
    - a tuple of the texts that are allowed
    - `[each]`, what each item must be; `[each, ...]` where there must be one
    - `{"name": each}`, what entries must be; there may be others
    - `{str: each}`, what each entry must be, of which there must be one
    """
    if isinstance(wanted, tuple):
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
    """Give the dataclass of options that a file has under `key`; all have defaults."""
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    fields = {name: Maybe(_wanted(hints[name])) for name in names}
    check(file, content, {key: fields})
    unknown = content[key].keys() - fields.keys()
    if unknown:
        raise InputError(f"{file}: {key} has unknown options: {', '.join(sorted(unknown))}")
    try:
        return kind(**content[key])
    except InputError as error:
        raise InputError(f"{file}: {key} is out of bounds ({error})") from None


def _wanted(hint: Any) -> Any:
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else hint


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


def _is_plain(content: Any, wanted: type) -> bool:
    if isinstance(content, bool):
        return False
    if isinstance(content, int):  # of any size in JSON
        return wanted in (int, float) and abs(content) < 2**63
    if isinstance(content, float):
        return wanted is float and math.isfinite(content)
    return isinstance(content, wanted)


def _require(file: Path, name: str, is_met: bool, allowed: str) -> None:
    if not is_met:
        raise InputError(f"{file}: {name or 'the whole'} must be {allowed}")
