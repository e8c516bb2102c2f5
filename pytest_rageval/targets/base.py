"""What a kind of target must provide, what it is given, and how its reply becomes an answer."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.errors import RagevalError, error_line, hide_secrets, shorten
from pytest_rageval.model import NOTHING, Sample, is_no_value, json_plain
from pytest_rageval.registry import Registry
from pytest_rageval.run_paths import ImportMode
from pytest_rageval.scenario.fields import ANSWERED_FIELDS, FIELD_ALIASES, OF_ANSWERS, WITH_ANSWERS
from pytest_rageval.text.codec import excess
from pytest_rageval.text.json_value import digests

if TYPE_CHECKING:
    from pytest_rageval.clients.clients import Clients


class TargetError(RagevalError):
    """The system under test gave no answer that could be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the system under test answered to a sample; what it did not say is None.

    ``context_docs`` names the document of each context; a context may be blank beside others, and
    an id repeated. ``extra`` is whatever else it returned, JSON-plain: results.json shows it, and
    citations, confidence and ``cost_usd`` are read from it. ``latency_s`` is set by a target that
    keeps limits itself. One of an earlier run ``is_kept``. A ``remark`` is said once for all.
    """

    text: str | None = None
    contexts: tuple[str, ...] | None = None
    context_docs: tuple[str | None, ...] | None = None
    retrieved_ids: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    latency_s: float | None = None
    is_kept: bool = False
    remark: str | None = None


class Target(Protocol):
    """Asks the system under test. Safe for many callers in one event loop."""

    async def answer(self, sample: Sample) -> Answer:
        """Return the answer to a sample.

        Raises TargetError; ClientError where the same question may succeed when it is asked again.
        """
        ...

    async def aclose(self) -> None:
        """Close whatever was opened. Asked later, it opens it again (a model: after ``use``)."""
        ...


@runtime_checkable
class ModelTarget(Protocol):
    """A target that is a model: it is given the clients of the run before it is asked."""

    def use(self, clients: Clients) -> None:
        """Ask through these clients from now on."""
        ...


@runtime_checkable
class Described(Protocol):
    """A target that adds to the identity of its options, as a function does."""

    @property
    def identity(self) -> Mapping[str, Any]:
        """What is added to the identity of the options; without secrets."""
        ...

    @property
    def takes_history(self) -> bool:
        """Whether it is handed the messages before the question."""
        ...


@dataclass(frozen=True, slots=True)
class TargetContext:
    """What a target may need in addition to its options.

    ``folders`` are where its modules may be, the scenario's own first; ``root`` is what the files
    of a checkout are named from. ``timeout_s`` is how long an answer may take; the caller enforces
    it, unless the target limits itself. ``settings`` holds all limits, in the form of a model's.
    """

    folders: Sequence[Path] = ()
    root: Path = field(default_factory=Path.cwd)
    import_mode: ImportMode = "prepend"
    run: RunSettings = field(default_factory=RunSettings)
    timeout_s: float = 60.0
    settings: ClientSettings = field(default_factory=lambda: ClientSettings("", role="target"))

    @property
    def asks_nobody(self) -> bool:
        """Whether the run only reads its cache, or (dry run) not even that.

        Then no server or key is needed.
        """
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
        """The name of the fixture whose value is the target, or None."""
        return None

    @property
    def is_of_scenario(self) -> bool:
        """Whether the options alone do not identify the system: the scenario's path does."""
        return self.pytest_fixture is not None

    def priced(self, limits: ClientSettings) -> ClientSettings:
        """Return the limits of the target, with what a model under test costs, if it is one."""
        return limits

    def identity(self) -> Mapping[str, Any]:
        """Return what identifies this target: another identity has other answers in the cache.

        It is written into the cache, so it holds only a digest of what may be a secret.
        """
        return digests(self.model_dump(mode="json", exclude_none=True))


@dataclass(frozen=True, slots=True)
class TargetDefinition:
    """A kind of target as the registry holds it.

    ``make(options, context)`` returns the target without asking it; raises TargetError for what can
    be seen to be wrong, MissingExtraError for a package. Where options name a fixture of pytest,
    ``from_value(options, context, value)`` does it with the fixture's value instead. ``repeats`` is
    how often a question with a transient failure is asked again when the scenario does not say.
    ``is_remote``: another process answers, which replay does not ask. ``limits_itself``: the target
    keeps to limits, times and retries itself. ``preload()`` loads what the first question needs, in
    a thread: this is no part of the time of an answer.
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
    return "\n".join([error_line(error, _LONGEST), *(f"  {frame}" for frame in _frames(error))])


def _frames(error: BaseException) -> list[str]:
    """Return the last frames outside of this package."""
    found = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in found if not frame.filename.startswith(_OWN)]
    return [_shown(frame) for frame in theirs[-_FRAMES:]]


def _shown(frame: traceback.FrameSummary) -> str:
    place = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
    return f"{place}: {shorten(hide_secrets(frame.line), 120)}" if frame.line else place


MOST_CHARACTERS: Final = 1_000_000
"""The longest answer, context, or JSON of all other fields, that is not taken for a mistake."""

_PARTS = ("answer", "contexts", "retrieved_ids")
"""The parts of an answer; each is enough alone, ``retrieved_ids`` too."""

_TEXT_KEYS = ("text", "page_content", "content", "chunk", "document", "contents")
_SURE_TEXTS = ("page_content", "content", "contents")
_DOC_KEYS = ("doc_name", "source", "file_name", "filename", "title")
_ID_KEYS = ("id", "doc_id", "chunk_id", "docid")
_EXPECTED = (
    "expected a text, a pair (answer, contexts), "
    "a mapping or an object with 'answer' and 'contexts'"
)


def answer_of(value: object) -> Answer:
    """Return ``value`` as an answer; raise TargetError if it cannot be one, or has an error.

    A text is an answer without contexts; a pair has both. A mapping, or an object with attributes,
    has the answer under one of the names that a data set may use for it, and so for contexts and
    retrieved ids. A context may be a text or have one; it may name its document.

    >>> answer_of({"response": "Paris", "contexts": [{"text": "...", "source": "a.pdf"}]}).text
    'Paris'
    """
    _refuse_deep(value.extra if isinstance(value, Answer) else value)
    if isinstance(value, Answer):
        contexts, docs, _ = _contexts(value.contexts, value.context_docs)
        ids = None if value.retrieved_ids is None else _ids(value.retrieved_ids)
        return _checked(replace(value, contexts=contexts, context_docs=docs, retrieved_ids=ids))
    if isinstance(value, str):
        return _checked(Answer(value))
    if value is None:
        raise TargetError(f"returned nothing (None); {_EXPECTED}")
    found = named_fields(value)
    _refuse_deep(found)
    if said := error_in(found):
        raise TargetError(f"returned an error: {said}")
    if found is None or not any(_named(found, name) for name in _PARTS):
        if isinstance(value, tuple) and len(value) == 2:
            return _checked(_from_fields({"answer": value[0], "contexts": value[1]}))
        if isinstance(value, Mapping):
            keys = ", ".join(map(repr, list(value)[:10])) or "no keys"
            hint = "of an address, name its key: target: {url: ..., answer: KEY}"
            raise TargetError(f"returned a mapping with {keys}; {_EXPECTED}; {hint}")
        raise TargetError(f"returned {shorten(repr(value))} ({type(value).__name__}); {_EXPECTED}")
    return _checked(_from_fields(found))


def error_in(found: object) -> str:
    """Return the error that a system returned, perhaps beside an answer; "" for none.

    An answer beside an error does not count. A float is taken for a measured error, no message.
    """
    said = found.get("error") if isinstance(found, Mapping) else None
    is_none = isinstance(said, float) or is_no_error(said)
    return "" if is_none else shorten(hide_secrets(str(said)), 200)


def is_no_error(said: object) -> bool:
    """Return whether what stands under ``error`` says that there is none.

    In a mapping a code of success decides; without one, all values must be empty or say success.
    """
    if isinstance(said, Mapping):
        code = said.get("code")
        is_coded = code is not None and code != "" and is_no_error(code)
        return is_coded or all(map(is_no_error, said.values()))
    return not said or (isinstance(said, str | int) and str(said).strip().lower() in _NO_ERROR)


_NO_ERROR = frozenset({"", "0", "200", "none", "null", "ok", "success", "false", "no error"})


def _refuse_deep(value: object) -> None:
    if reason := excess(value):
        raise TargetError(f"returned a value {reason}")


def named_fields(value: object) -> Mapping[str, Any] | None:
    """Return a mapping's items or an object's fields, of a plain one the known; None for others."""
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # a NamedTuple
        return dict(value._asdict())
    if isinstance(value, str | bytes | int | float | list | tuple | set):
        return None
    if is_dataclass(value) and not isinstance(value, type):
        return {found.name: getattr(value, found.name) for found in fields(value)}
    if hasattr(value, "model_dump"):  # pydantic
        dumped = value.model_dump()
        return dumped if isinstance(dumped, dict) else None
    # The names of citations and confidence.
    beside = [name for part in WITH_ANSWERS for name in OF_ANSWERS[part]]
    names = [*(name for part in _PARTS for name in FIELD_ALIASES[part]), *beside, "error"]
    found = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return {name: value for name, value in found.items() if not callable(value)} or None


def _named(found: Mapping[str, Any], field: str) -> str | None:
    names = [name for name in FIELD_ALIASES[field] if name in found]
    filled = (name for name in names if found[name] is not None and field != "answer")
    return next(filled, names[0] if names else None)


def _from_fields(found: Mapping[str, Any]) -> Answer:
    names = {field: _named(found, field) for field in _PARTS}
    text, given, retrieved = (
        None if (name := names[part]) is None else found[name] for part in _PARTS
    )
    contexts, docs, ids = _contexts(given, found.get("context_docs"))
    used = {*names.values(), "context_docs"}
    extra = {name: json_plain(part) for name, part in found.items() if name not in used}
    return Answer(
        _text(text) if names["answer"] else None,
        contexts,
        docs,
        ids if retrieved is None else _ids(retrieved),
        extra,
    )


def _text(value: Any) -> str:
    if value is None or is_no_value(value):  # NaN is a float
        raise TargetError(f"returned {value} as its answer")
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    kind = type(value).__name__
    raise TargetError(f"its answer is {shorten(repr(value))} ({kind}), expected a text")


class _Context(NamedTuple):
    text: str
    doc: str | None = None
    doc_id: str | None = None


_Contexts = tuple[tuple[str, ...] | None, tuple[str | None, ...] | None, tuple[str, ...] | None]


def _contexts(value: Any, docs_given: Any = None) -> _Contexts:
    """Return texts, documents and ids of the contexts; None of each where nothing is said."""
    if value is None:
        return None, None, None
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list | tuple):
        kind = type(value).__name__
        raise TargetError(f"its contexts are {shorten(repr(value))} ({kind}), expected a list")
    parts = [_context(part, at) for at, part in enumerate(value)]
    if docs_given is not None:
        parts = _with_docs(parts, docs_given)
    parts = [part._replace(text=part.text.strip()) for part in parts]
    # A search may return ids without a text, in their places.
    placed = [part for part in parts if part.text or part.doc_id is not None]
    ids = [part.doc_id for part in placed if part.doc_id is not None]
    # Blank ones beside others keep their places, for citations; ``with_texts`` leaves them out.
    parts = parts if any(part.text for part in parts) else []
    docs = tuple(part.doc for part in parts)
    return (
        tuple(part.text for part in parts),
        docs if not docs or any(doc is not None for doc in docs) else None,
        tuple(ids) if len(ids) == len(placed) else None,  # of nothing found, too
    )


def _with_docs(parts: list[_Context], docs: Any) -> list[_Context]:
    """Return the contexts with the documents of a separate list."""
    wanted = f"{len(parts)}: one for each context"
    if not isinstance(docs, list | tuple):
        found = f"{shorten(repr(docs))} ({type(docs).__name__})"
        raise TargetError(f"its context_docs is {found}, expected a list of {wanted}")
    if len(docs) != len(parts):
        entries = "1 entry" if len(docs) == 1 else f"{len(docs)} entries"
        raise TargetError(f"its context_docs has {entries}, expected {wanted}")
    return [
        part if doc is None else part._replace(doc=str(doc))
        for part, doc in zip(parts, docs, strict=True)
    ]


def _context(part: Any, at: int) -> _Context:
    """Return the text of a context, its document and its id: of a text, a mapping or an object."""
    if isinstance(part, str):
        return _Context(part)
    metadata = _get(part, ("metadata", "meta"))
    text = _get(part, _TEXT_KEYS)
    if isinstance(text, str) and not text.strip():  # a chunk or document beside it may be a name
        more = _get(part, _SURE_TEXTS, is_filled=True)
        text = more if isinstance(more, str) else text
    if not isinstance(text, str):
        keys = f"{', '.join(map(repr, _TEXT_KEYS[:-1]))} or {_TEXT_KEYS[-1]!r}"
        message = f"its context {at + 1} is a {type(part).__name__} without a text"
        raise TargetError(f"{message}; expected a text, or one under {keys}")
    doc = _get(part, _DOC_KEYS)
    if doc is None or not str(doc).strip():
        of_metadata = _get(metadata, _DOC_KEYS, is_filled=True)
        doc = _get(part, _DOC_KEYS, is_filled=True) if of_metadata is None else of_metadata
    doc_id = _get(part, _ID_KEYS, is_filled=True)
    doc_id = _get(part, _ID_KEYS) if doc_id is None else doc_id
    return _Context(text, *(None if name is None else str(name) for name in (doc, doc_id)))


def _get(part: Any, names: Sequence[str], *, is_filled: bool = False) -> Any:
    """Return the first of these items or attributes that is there; if asked, that is not blank."""
    is_object = not isinstance(part, Mapping)
    found = (getattr(part, name, None) if is_object else part.get(name) for name in names)
    taken = (value for value in found if not is_filled or str(value).strip())
    return next((value for value in taken if value is not None), None)


def _ids(value: Any) -> tuple[str, ...]:
    if isinstance(value, list | tuple) and all(isinstance(part, str | int) for part in value):
        return tuple(map(str, value))
    raise TargetError(f"its retrieved_ids are {shorten(repr(value))}, expected a list of ids")


def _checked(answer: Answer) -> Answer:
    """Return the answer as it is, also an empty text; refuse one too long, or without any part."""
    texts = [("answer", answer.text or ""), *(("context", text) for text in answer.contexts or ())]
    for what, text in texts:
        if len(text) > MOST_CHARACTERS:
            size = f"{len(text):,} characters, at most {MOST_CHARACTERS:,} are taken"
            raise TargetError(f"returned {'an' if what == 'answer' else 'a'} {what} of {size}")
    if answer.text is None and answer.contexts is None and answer.retrieved_ids is None:
        raise TargetError("returned neither an answer nor contexts; [] says that none were found")
    if len(json.dumps(dict(answer.extra))) > MOST_CHARACTERS:
        raise TargetError(f"returned more than {MOST_CHARACTERS:,} characters of other fields")
    return answer
