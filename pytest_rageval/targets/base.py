"""What a kind of target must provide, what it is given, and what it answers.

To add a kind of target, write a module here with ``TARGETS = (TargetDefinition(...),)``.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.errors import RagevalError, shorten
from pytest_rageval.model import NOTHING, Sample
from pytest_rageval.registry import Registry
from pytest_rageval.run_paths import ImportMode
from pytest_rageval.scenario.fields import ANSWERED_FIELDS

if TYPE_CHECKING:
    from pytest_rageval.clients.clients import Clients


class TargetError(RagevalError):
    """The system under test gave no answer that could be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the system under test answered to a sample; what it did not say is None.

    ``context_docs`` names the document of each context. ``extra`` is whatever else it returned,
    JSON-plain: it is shown in results.json, and nothing is computed from it. ``latency_s`` is set
    by a target that keeps limits itself: its caller would measure the waiting too.
    """

    text: str | None = None
    contexts: tuple[str, ...] | None = None
    context_docs: tuple[str | None, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    latency_s: float | None = None
    is_kept: bool = False
    """Whether an earlier run was given this answer."""


class Target(Protocol):
    """Asks the system under test. Safe for many callers in one event loop."""

    async def answer(self, sample: Sample) -> Answer:
        """Return the answer to a sample.

        Raises TargetError; ClientError where the same question may succeed when it is asked again.
        """
        ...

    async def aclose(self) -> None:
        """Close whatever was opened. A target that is asked again after that opens it anew."""
        ...


@runtime_checkable
class ModelTarget(Protocol):
    """A target that is a model: it is given the clients of the run before it is asked."""

    def use(self, clients: Clients) -> None:
        """Ask through these clients from now on."""
        ...


@runtime_checkable
class Identified(Protocol):
    """A target whose identity is more than its options."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What is added to the identity of the options; without secrets."""
        ...


@dataclass(frozen=True, slots=True)
class TargetContext:
    """What a target may need in addition to its options.

    ``folders`` are where its modules may be, the scenario's own first; ``root`` is what the files
    of a checkout are named from. ``timeout_s`` is how long an answer may take altogether; the
    caller enforces it. ``settings`` holds all limits of the target, in the form of a model's.
    """

    folders: Sequence[Path] = ()
    root: Path = field(default_factory=Path.cwd)
    import_mode: ImportMode = "prepend"
    run: RunSettings = field(default_factory=RunSettings)
    timeout_s: float = 60.0
    settings: ClientSettings = field(default_factory=lambda: ClientSettings("", role="target"))

    @property
    def asks_nobody(self) -> bool:
        """Whether the run only reads its cache, if that: no server or key is needed."""
        return self.run.cache_mode == "replay" or self.run.is_dry


class TargetOptions(BaseModel):
    """The base of the options of a kind of target."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def provides(self) -> frozenset[str]:
        """The fields that answers may fill in: metrics that need them can be used."""
        return ANSWERED_FIELDS

    @property
    def shown(self) -> str:
        """How messages call this target; without secrets."""
        return "target"

    @property
    def fields(self) -> frozenset[str] | None:
        """The fields of a row that the target is shown; None where it may see all of them."""
        return None

    @property
    def pytest_fixture(self) -> str | None:
        """The fixture without whose value there is no such target."""
        return None

    @property
    def is_of_scenario(self) -> bool:
        """Whether only the scenario's path tells which system this is."""
        return self.pytest_fixture is not None

    def asked(self, limits: ClientSettings) -> ClientSettings:
        """Return the limits of the target, with what a model under test costs, if it is one."""
        return limits

    def identity(self) -> Mapping[str, Any]:
        """Return what identifies this target: another identity has other answers in the cache.

        It is written into the cache, so it holds only a digest of what may be a secret.
        """
        return digests(self.model_dump(mode="json", exclude_none=True))


def digests(values: Mapping[str, Any]) -> dict[str, str]:
    """Return a digest of each value."""
    return {name: _digest(value) for name, value in values.items()}


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=repr)
    return sha256(text.encode("ascii")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class TargetDefinition:
    """A kind of target as the registry holds it.

    ``make(options, context)`` returns the target without asking it; it raises TargetError, with
    what is wrong, as far as that can be known. Where the options name a fixture of pytest,
    ``from_value(options, context, value)`` does it with the fixture's value instead. ``repeats`` is
    how often a question that failed in passing is asked again when the scenario does not say.
    ``is_remote`` says that another process answers, which replay leaves alone; ``limits_itself``
    that the target keeps to limits, times and retries itself. ``preload()`` loads what the first
    question needs; it is called in a thread, as this is no part of the time of an answer.
    """

    name: str
    make: Callable[[Any, TargetContext], Target]
    options: type[TargetOptions]
    aliases: tuple[str, ...] = ()
    from_value: Callable[[Any, TargetContext, object], Target] | None = None
    repeats: int = 0
    is_remote: bool = False
    limits_itself: bool = False
    preload: Callable[[], None] | None = None


TARGET_REGISTRY: Registry[TargetDefinition] = Registry(
    "target type", "pytest_rageval.targets", "TARGETS"
)


_OWN: Final = str(Path(__file__).resolve().parent.parent)
_FRAMES = 3
_LONGEST = 500


def describe_exception(error: BaseException) -> str:
    """Return type and text of ``error`` in one line, then its last frames, a line each.

    ::

        KeyError: 'chunks'
          rag.py:31 in search: return index["chunks"]
    """
    return "\n".join([_head(error), *(f"  {frame}" for frame in _frames(error))])


def _head(error: BaseException) -> str:
    name = type(error).__name__
    try:
        text = shorten(" ".join(str(error).split()), _LONGEST)
    except Exception:  # noqa: BLE001  (an exception whose own text raises)
        text = ""
    return f"{name}: {text}" if text else name


def _frames(error: BaseException) -> list[str]:
    """Return the last frames outside of this package."""
    found = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in found if not frame.filename.startswith(_OWN)]
    return [_shown(frame) for frame in theirs[-_FRAMES:]]


def _shown(frame: traceback.FrameSummary) -> str:
    place = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
    return f"{place}: {shorten(frame.line, 120)}" if frame.line else place
