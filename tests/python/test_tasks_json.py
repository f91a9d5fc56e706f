# The structure of JSON that the tasks read.
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tautstring_tasks import json_files
from tautstring_tasks.errors import InputError
from tautstring_tasks.json_files import Maybe, OneOf

FILE = Path("file.json")

FITTING = [
    ({"a": "x"}, {"a": str}),
    ({"a": 1, "b": 2}, {"a": int}),
    ({"a": 1}, {"a": float}),
    ({"a": [1, 2]}, {"a": [int]}),
    ({"a": []}, {"a": [int]}),
    ({"a": [1]}, {"a": [int, ...]}),
    ({"a": 1, "b": 2}, {str: int}),
    ({}, {"a": Maybe(int)}),
    ({"a": "red"}, {"a": ("red", "green")}),
    ({"a": True}, {"a": bool}),
    ({"a": None}, {"a": None}),
    ({"a": 1}, {"a": OneOf(int, None)}),
    ({"a": None}, {"a": OneOf(int, None)}),
    ({"a": [1]}, {"a": OneOf({"b": int}, [int])}),
    ({"a": {"b": 1}}, {"a": OneOf({"b": int}, [int])}),
]
UNFIT = [
    ({}, {"a": str}, "has no a"),
    ({"a": 1}, {"a": str}, "a must be a string"),
    ({"a": 1.5}, {"a": int}, "a must be a whole number"),
    ({"a": 2**63}, {"a": int}, "a must be a whole number"),
    ({"a": float("nan")}, {"a": float}, "a must be a finite number"),
    ({"a": True}, {"a": int}, "a must be a whole number"),
    ({"a": False}, {"a": float}, "a must be a finite number"),
    ({"a": None}, {"a": float}, "a must be a finite number"),
    ({"a": 1}, {"a": bool}, "a must be true or false"),
    ({"a": None}, {"a": bool}, "a must be true or false"),
    ({"a": False}, {"a": None}, "a must be null"),
    ({"a": 0}, {"a": None}, "a must be null"),
    ({"a": "blue"}, {"a": ("red", "green")}, r"a must be one of \('red', 'green'\)"),
    ({"a": 1}, {"a": ("red", "green")}, "a must be one of"),
    ({"a": [1, "x"]}, {"a": [int]}, r"a\[1\] must be a whole number"),
    ({"a": []}, {"a": [int, ...]}, "a must be a list with items"),
    ({"a": 1}, {"a": [int]}, "a must be a list"),
    ({}, {str: int}, "the whole must be an object with entries"),
    ({"a": 1}, {"a": {"b": int}}, "a must be an object"),
    ({"a": {"b": 1.5}}, {"a": {"b": int}}, "a.b must be a whole number"),
    ({"a": "x"}, {"a": Maybe(int)}, "a must be a whole number"),
    ({"a": "x"}, {"a": OneOf(int, None)}, "a must be a whole number"),
    ({"a": ["x"]}, {"a": OneOf({"b": int}, [int])}, "a must be an object"),
]


@pytest.mark.parametrize(("content", "wanted"), FITTING)
def test_content_that_has_the_structure_is_accepted(content, wanted):
    assert json_files.check(FILE, content, wanted) is None


@pytest.mark.parametrize(("content", "wanted", "message"), UNFIT)
def test_content_of_another_structure_is_named(content, wanted, message):
    with pytest.raises(InputError, match=f"file.json: {message}"):
        json_files.check(FILE, content, wanted)


@dataclass(frozen=True)
class Options:
    kind: Literal["small", "large"] = "small"
    count: int = 3
    rate: float | None = None
    parts: tuple[float, ...] = (0.5,)
    is_quick: bool = False
    folder: Path = Path("somewhere")


@pytest.mark.parametrize(
    ("stored", "options"),
    [
        ({}, Options()),
        ({"kind": "large", "count": 4}, Options(kind="large", count=4)),
        ({"rate": 0.5}, Options(rate=0.5)),
        ({"rate": 1}, Options(rate=1)),
        ({"rate": None}, Options()),
        ({"parts": [0.1, 0.2]}, Options(parts=(0.1, 0.2))),
        ({"parts": []}, Options(parts=())),
        ({"is_quick": True}, Options(is_quick=True)),
    ],
)
def test_options_are_those_of_the_file_or_the_defaults(stored, options):
    assert json_files.options_of(FILE, {"it": stored}, "it", Options) == options


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ({"kind": "huge"}, r"it.kind must be one of \('small', 'large'\)"),
        ({"count": None}, "it.count must be a whole number"),
        ({"rate": "fast"}, "it.rate must be a finite number"),
        ({"parts": 0.5}, "it.parts must be a list"),
        ({"parts": ["half"]}, r"it.parts\[0\] must be a finite number"),
        ({"is_quick": 1}, "it.is_quick must be true or false"),
        ({"colour": "red", "age": 3}, "it has unknown options: age, colour"),
        ({"folder": "elsewhere"}, "it has unknown options: folder"),
        (None, "it must be an object"),
    ],
)
def test_options_of_another_kind_are_named(stored, message):
    with pytest.raises(InputError, match=f"file.json: {message}"):
        json_files.options_of(FILE, {"it": stored}, "it", Options)
