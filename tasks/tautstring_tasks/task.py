"""What a vision task says of itself. Commands, training, studies and reports are written once."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from tautstring_tasks.arrays import Array
from tautstring_tasks.devices import Precision
from tautstring_tasks.images import Pixels
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.training import StepLoss

if TYPE_CHECKING:
    from typing_extensions import Self

Net = TypeVar("Net")  # dataclass: the options of the task's nets; one of them is `arm`
Data = TypeVar("Data")  # dataclass: the options of what the nets are trained on
Test = TypeVar("Test")  # dataclass: the options of tests
Values = npt.NDArray[np.float64]
# From a net: its scores on a test set by name, each of shape (..., items).
Score = Callable[[nn.Module, torch.device, Precision], dict[str, Array]]
PaperResults = dict[str, dict[str, tuple[float, ...]]]  # see Task.paper


@dataclass(frozen=True)
class NoPlaces:
    """The files that a task needs besides its data: none."""


BASELINE = "none"  # the arm without TV, which the paper compares with


@dataclass(frozen=True)
class Training:
    """What nets are trained on: the loss of each step, and a description of the data."""

    loss: StepLoss
    about: dict[str, Any]


@dataclass(frozen=True)
class TestSet:
    """How a net is scored on a test set, and a description of it, with its `items`."""

    score: Score
    about: dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """How a task's main score is shown."""

    name: str
    unit: str
    digits: int
    scale: float = 1.0  # from scores to the unit
    is_compared: bool = False  # the main score always is


class Task(ABC, Generic[Net, Data, Test]):
    """A task: its nets and their arms, its data, its scores and the paper's."""

    name: ClassVar[str]
    """Its name on the command line."""
    title: ClassVar[str]
    """The heading of its page."""
    summary: ClassVar[str]
    """What it does, in a line."""
    net: Net
    """The default net."""
    data: Data
    """The default options of the data."""
    test: Test
    """The default options of tests."""
    recipe: Recipe
    """The default training."""
    places: Any = NoPlaces()
    """Files that commands need besides the data, a dataclass; they are not part of a record."""
    arms: ClassVar[Mapping[str, str]]
    """Names of the arms, and how tables call them; `none` is the baseline."""
    compared_with: ClassVar[tuple[str, ...]] = (BASELINE,)
    """The arms that all others are compared with."""
    sets: ClassVar[tuple[str, ...]]
    """The test sets."""
    samples: ClassVar[str]
    """What a batch consists of, in the plural."""
    measures: ClassVar[tuple[Measure, ...]]
    """What tables show: the main score, and others in brackets."""
    items: ClassVar[str]
    """What a test set consists of, in the plural."""
    units: ClassVar[str]
    """Units of lambda and of the loss, for the page."""
    remark: ClassVar[str] = ""
    """What to know about the paper's results, for the page."""
    shipped: ClassVar[str | None] = None
    """The default net of `apply`, among those that the package contains."""
    makes_images: ClassVar[bool] = True
    """Whether `apply` writes images; otherwise it prints what a net has to say."""

    @abstractmethod
    def make(self, net: Net) -> nn.Module:
        """Create a net, with weights from torch's generator."""

    @abstractmethod
    def training(
        self, folder: Path, net: Net, data: Data, recipe: Recipe, device: torch.device
    ) -> Training:
        """Return what nets are trained on."""

    @abstractmethod
    def tests(
        self, folder: Path, sets: Sequence[str], data: Data, test: Test
    ) -> dict[str, TestSet]:
        """Return test sets for nets that were trained on `data`; raise if one is missing."""

    @abstractmethod
    def columns(
        self, scores: Mapping[str, Mapping[str, Array]], measure: Measure
    ) -> dict[str, Values]:
        """Return the columns of the page's tables, from the scores by test set.

        Values are the scores of each item, in the items' order.
        """

    @abstractmethod
    def apply(
        self, net: nn.Module, image: Pixels, device: torch.device, precision: Precision
    ) -> Pixels | str:
        """Return what the net makes of an image: another image, or what it has to say."""

    @abstractmethod
    def generate(self, folder: Path) -> None:
        """Render a small data set, to try the commands."""

    def at(self, places: Any) -> Self:
        """Return this task with its files at other places."""
        found = copy.copy(self)
        found.places = places
        return found

    def start(self, net: Net) -> nn.Module:
        """Create the net that training starts with."""
        return self.make(net)

    def scores_stored(self) -> tuple[str, ...]:
        """Return the names of the scores that each test set has."""
        return tuple(measure.name for measure in self.measures)

    def rates(self, net: Net) -> dict[str, float]:
        """Return multiples of the learning rate, by the first part of parameters' names."""
        return {}

    def condition(self, about: Mapping[str, Any]) -> str:
        """Name what a study varies besides arms and seeds, for the page; may be empty."""
        return ""

    def paper(self, about: Mapping[str, Any]) -> PaperResults:
        """Return the paper's results by arm and column: of the first measures, in their units.

        An arm may also be a method that is none of the task's arms.
        """
        return {}

    is_paper_paired: ClassVar[bool] = False
    """Whether the paper trained its own baseline, so that differences to it compare with ours."""

    def figures(self, groups: Sequence[Sequence[Any]], folder: Path) -> str:
        """Draw the task's own figures into a folder; return the sections that show them.

        Each group is of runs that differ in nothing except arm and seed.
        """
        return ""

    def weights(self) -> dict[str, Path]:
        """Return the nets that the package contains, by name."""
        folder = Path(inspect.getfile(type(self))).parent / "weights"
        return {file.stem: file for file in sorted(folder.glob("*.safetensors"))}
