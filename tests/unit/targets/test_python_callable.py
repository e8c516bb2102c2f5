"""A function as the system under test: how it is called, and what its failures say."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.model import Sample
from pytest_rageval.targets.base import TARGET_REGISTRY, Answer, TargetContext, TargetError
from pytest_rageval.targets.python_callable import CallableTarget, PythonOptions

SAMPLE = Sample("s1", question="Where?", contexts=("c",), doc_name="a.md", metadata={"lang": "en"})


def ask(function: Callable[..., Any], sample: Sample = SAMPLE, **options: Any) -> Answer:
    return asyncio.run(CallableTarget(function, options).answer(sample))


class App:
    """An application that is called."""

    def __call__(self, question: str) -> str:
        return f"App: {question}"

    async def later(self, question: str) -> str:
        return f"later: {question}"


class AsyncApp:
    async def __call__(self, question: str) -> str:
        return f"async: {question}"


async def aanswer(question: str) -> str:
    await asyncio.sleep(0)
    return f"a: {question}"


def handed_on(question: str) -> object:
    return aanswer(question)


def stream(question: str) -> Iterator[str]:
    yield from ("in ", "parts")


async def astream(question: str) -> AsyncIterator[str]:
    for part in ("in ", "parts"):
        yield part


class Parts:
    """What has parts, without being their iterator."""

    def __iter__(self) -> Iterator[str]:
        yield from ("in ", "parts")


class AsyncParts:
    async def __aiter__(self) -> AsyncIterator[str]:
        for part in ("in ", "parts"):
            yield part


class Told(Parts):
    answer = "told"


async def hands_on(question: str) -> Iterator[str]:
    return stream(question)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (hands_on, "in parts"),
        (lambda question: Parts(), "in parts"),
        (lambda question: AsyncParts(), "in parts"),
        (lambda question: Told(), "told"),
        (lambda question: f"f: {question}", "f: Where?"),
        (aanswer, "a: Where?"),
        (handed_on, "a: Where?"),
        (App(), "App: Where?"),
        (App().later, "later: Where?"),
        (AsyncApp(), "async: Where?"),
        (stream, "in parts"),
        (astream, "in parts"),
        (str.upper, "WHERE?"),
        # Parameters are filled by their names; the only one that is no field gets the question.
        (lambda q: q, "Where?"),
        (lambda sample: sample.id, "s1"),
        (lambda question, doc_name: f"{question} {doc_name}", "Where? a.md"),
        (lambda contexts, question: f"{question} {contexts[0]}", "Where? c"),
        (lambda question, /, *, metadata: metadata["lang"], "en"),
        (lambda question, top_k=3: f"{top_k}", "3"),
        (lambda question, context_ids="mine": context_ids, "mine"),
        (lambda question, **rest: f"{rest}", "{}"),
        (lambda *parts: f"{parts}", "()"),
    ],
)
def test_a_function_may_be_of_any_kind_with_any_fields(
    function: Callable[..., Any], text: str
) -> None:
    """[A21]"""
    assert ask(function).text == text


def _traced(function: Callable[..., Any]) -> Callable[..., Any]:
    def inner(*args: Any, **rest: Any) -> Any:
        return function(*args, **rest)

    return inner


@pytest.mark.parametrize(
    ("function", "is_told"),
    [
        (lambda query="", top_k=3: query, False),
        (_traced(lambda query=None: str(query)), False),
        *((lambda: "constant", False), (lambda query="", history=None: "", False)),
        (lambda question="": question, True),
        (lambda metadata=None: "", True),
        (lambda sample=None: "", True),
        (lambda query, top_k=3: query, True),
        (str.strip, True),
        (str, True),  # it may not say its parameters
    ],
)
def test_a_function_that_is_handed_nothing_of_a_row_is_told(function: Any, is_told: bool) -> None:
    """Its answers are to no question: what must not be in them was not."""
    said = "" if is_told else "no parameter receives what a row asks; call one 'question'"
    assert CallableTarget(function).doubt == said


def test_a_parameter_annotated_as_a_sample_gets_it() -> None:
    def answer(row: Sample) -> str:
        return row.id

    assert ask(answer).text == "s1"


def test_options_go_to_every_call() -> None:
    assert ask(lambda question, top_k: f"{question} {top_k}", top_k=5).text == "Where? 5"
    assert ask(lambda question, **rest: f"{rest}", k=1).text == "{'k': 1}"
    assert ask(lambda question, k=1, /, **rest: f"{k} {rest}", k=2).text == "1 {'k': 2}"  # Python's


@pytest.mark.parametrize(
    "function",
    [
        lambda sample, of: sample.metadata.pop("lang") + of.pop("k"),
        lambda question, metadata, of: metadata.pop("lang") + of.pop("k"),
        lambda question, metadata, **rest: metadata.pop("lang") + rest["of"].pop("k"),
    ],
)
def test_what_a_function_changes_changes_nothing_for_others(function: Callable[..., Any]) -> None:
    """The metadata tell the slices; a second call gets the same options."""
    sample, target = Sample("s", question="q", metadata={"lang": "e"}), {"of": {"k": "n"}}
    asked = CallableTarget(function, target)
    for _ in range(2):
        assert asyncio.run(asked.answer(sample)).text == "en"
    assert (sample.metadata, target) == ({"lang": "e"}, {"of": {"k": "n"}})


@pytest.mark.parametrize(
    ("function", "options", "text"),
    [
        (lambda question, k, /: f"{question} {k}", {"k": 5}, "Where? 5"),
        (lambda k, question, /: f"{question} {k}", {"k": 5}, "Where? 5"),
        (lambda k, /, question: f"{question} {k}", {"k": 5}, "Where? 5"),
        (lambda question, k=1, /: f"{question} {k}", {"k": 5}, "Where? 5"),
        (lambda question, k, /, **rest: f"{k} {rest}", {"k": 5, "m": 6}, "5 {'m': 6}"),
        (lambda question, k, /, m=0, *, n=1: f"{k} {m} {n}", {"k": 5, "n": 7}, "5 0 7"),
        # One that nothing fills keeps its default, and shifts nothing.
        (lambda k=1, question="", /: f"{question} {k}", {}, "Where? 1"),
        (lambda question, history=(), doc_name="", /: f"{history} {doc_name}", {}, "() a.md"),
        (lambda question, k=1, m=2, /: f"{question} {k} {m}", {"m": 5}, "Where? 1 5"),
        (lambda question, history=(), /: f"{history}", {}, "()"),
        (str.replace, {"old": "Wh", "new": "Th"}, "There?"),
        (str.center, {"width": 8}, " Where? "),
    ],
)
def test_parameters_by_position_alone_are_filled_in_their_place(
    function: Callable[..., Any], options: dict[str, Any], text: str
) -> None:
    """[A21] As by name: what a row or an option gives; Python passes none of them by name."""
    assert ask(function, **options).text == text


def _refused(question: str, api_key: str, model: str) -> str:
    raise RuntimeError(f"{model}: bad key {api_key!r}")


async def _refused_later(question: str, **options: str) -> str:
    return _refused(question, **options)


@pytest.mark.parametrize(
    "function", [_refused, _refused_later, lambda _question, **options: {"error": options}]
)
def test_an_error_shows_no_option_that_is_a_secret_by_its_name(function: Any) -> None:
    with pytest.raises(TargetError) as caught:
        ask(function, api_key="open-sesame-1", model="small-1")
    message = str(caught.value)
    assert "open-sesame-1" not in message
    assert "***" in message
    assert "small-1" in message


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda question, store: "", {}, "its parameter 'store' cannot be filled"),
        (lambda a, b: "", {}, "its parameter 'a', 'b' cannot be filled"),
        (lambda question: "", {"topk": 1}, "options: unknown parameter 'topk'"),
        (3, {}, "is 3 (int), expected a function"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(
    function: Any, options: dict[str, Any], message: str
) -> None:
    """[E12] Before anything is asked."""
    with pytest.raises(TargetError) as caught:
        CallableTarget(function, options)
    assert message in str(caught.value)


def test_a_row_without_a_question_is_not_asked() -> None:
    with pytest.raises(TargetError, match="not asked: the row has no question"):
        ask(lambda question: "x", Sample("s"))
    assert ask(lambda sample: sample.id, Sample("s")).text == "s"


def deep(question: str) -> str:
    return deeper(question)


def deeper(question: str) -> str:
    return {"a": "b"}[question]


class SecretiveError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text either")


def raising(error: BaseException) -> Callable[[str], str]:
    def fail(question: str) -> str:
        raise error

    return fail


async def araise(question: str) -> str:
    raise ValueError("two\nlines")


async def acancelled(question: str) -> str:
    async def search() -> str:
        raise asyncio.CancelledError("its own")

    return await asyncio.create_task(search())


async def aexit(question: str) -> str:
    raise SystemExit(3)


def test_what_it_raises_is_told_with_its_last_frames() -> None:
    """[A21] Its own files and lines, none of ours."""
    with pytest.raises(TargetError) as caught:
        ask(deep)
    first, *frames = str(caught.value).splitlines()
    assert first == "KeyError: 'Where?'"
    assert [frame.partition(": ")[2] for frame in frames] == [
        "return deeper(question)",
        'return {"a": "b"}[question]',
    ]
    assert frames[-1].startswith("  test_python_callable.py:")


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("It is ", "It is not ", "It is not free."), "It is not free."),
        (("", "It is not", "It is not free."), "It is not free."),
        (("五", "五天", "五天内"), "五天内"),
        # Tokens.
        (("No", "Not"), "NoNot"),
        (("ha", "ha", "ha"), "hahaha"),
        (("1", "10"), "110"),
        (("It is so. ", "It is so. "), "It is so. It is so. "),
        (("It is", " ", "It is"), "It is It is"),
    ],
)
def test_a_generator_may_yield_all_so_far_each_time(parts: tuple[str, ...], text: str) -> None:
    """As Gradio's do; it was joined with all its repetitions."""
    assert ask(lambda question: iter(parts)).text == text


def test_what_looks_like_a_key_is_in_no_message() -> None:
    """Neither in the text of the error, nor in the line that raised it."""

    def fails(question: str) -> str:
        raise ConnectionError("http://u:s3cret@h:1/?key=s3cret refuses Bearer abcdef, sk-12345678")

    with pytest.raises(TargetError) as caught:
        ask(fails)
    first, frame = str(caught.value).splitlines()
    assert first == "ConnectionError: http://u:***@h:1/?key=*** refuses Bearer *** sk-***"
    assert "s3cret" not in frame
    with pytest.raises(TargetError, match=r"^returned an error: 401 at /s\?api_key=\*\*\*&q=a$"):
        ask(lambda question: {"error": "401 at /s?api_key=s3cret&q=a"})


@pytest.mark.parametrize(
    ("function", "first"),
    [
        (araise, "ValueError: two lines"),
        (acancelled, "CancelledError: its own"),
        (raising(asyncio.CancelledError("its own")), "CancelledError: its own"),
        (aexit, "SystemExit: 3"),
        (raising(SystemExit(3)), "SystemExit: 3"),
        (raising(StopIteration("x")), "StopIteration: x"),
        (raising(SecretiveError()), "SecretiveError"),
        (raising(ConnectionResetError(104, "reset")), "ConnectionResetError: [Errno 104] reset"),
        (raising(RuntimeError("x" * 2000)), f"RuntimeError: {'x' * 499}…"),
        (lambda question: iter([1]), "streams 1 (int), expected texts"),
        (lambda question: None, "returned nothing (None)"),
    ],
)
def test_any_failure_is_an_error_of_the_target(function: Callable[..., Any], first: str) -> None:
    with pytest.raises(TargetError) as caught:
        ask(function)
    assert str(caught.value).splitlines()[0].startswith(first)


def test_we_can_cancel_it() -> None:
    async def hangs(question: str) -> str:
        await asyncio.sleep(60)
        return "late"

    async def stop() -> bool:
        task = asyncio.ensure_future(CallableTarget(hangs).answer(SAMPLE))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return task.cancelled()

    assert asyncio.run(stop())


def test_many_are_asked_at_once() -> None:
    """[A22] One that blocks keeps nobody."""
    import threading

    barrier = threading.Barrier(20, timeout=60.0)

    def blocked(question: str) -> str:
        barrier.wait()
        return "x"

    async def run() -> list[Answer]:
        target = CallableTarget(blocked)
        return await asyncio.gather(*(target.answer(SAMPLE) for _ in range(20)))

    assert len(asyncio.run(run())) == 20


def test_a_class_is_made_once_and_its_instance_called(tmp_path: Path) -> None:
    text = (
        "class App:\n    def __call__(self, question):\n        return question + str(id(self))\n"
    )
    (tmp_path / "app_of_a_class.py").write_text(text, encoding="utf-8")
    context = TargetContext(folders=(tmp_path,))
    target = TARGET_REGISTRY.get("python").make(PythonOptions(use="app_of_a_class:App"), context)
    try:
        answers = [asyncio.run(target.answer(SAMPLE)).text for _ in range(2)]
        assert answers[0] == answers[1]
    finally:
        sys.modules.pop("app_of_a_class")


@pytest.mark.parametrize(
    ("error", "kind"),
    [("OSError", "OSError"), ("SystemExit", "SystemExit"), ("pytest.fail.Exception", "Failed")],
)
def test_a_class_that_cannot_be_made_is_the_targets_error(
    tmp_path: Path, error: str, kind: str
) -> None:
    """[E12] Also what pytest raises: its skip would leave out the scenario, gates and all."""
    body = f"    def __init__(self):\n        raise {error}('no index')\n"
    text = f"import pytest\nclass App:\n{body}"
    (tmp_path / "app_that_raises.py").write_text(text, encoding="utf-8")
    context = TargetContext(folders=(tmp_path,))
    options = PythonOptions(use="app_that_raises:App")
    try:
        with pytest.raises(TargetError) as caught:
            TARGET_REGISTRY.get("python").make(options, context)
        assert str(caught.value) == f"app_that_raises:App: its constructor raised {kind}: no index"
    finally:
        sys.modules.pop("app_that_raises")


def test_the_identity_shows_the_path_and_no_value() -> None:
    """[E9] Another option is another system; its value may be a secret."""
    own = PythonOptions(use="a:b", options={"key": "sk-1"}).identity()
    assert own["use"] == "a:b"
    assert "sk-1" not in repr(own)
    assert own != PythonOptions(use="a:b", options={"key": "sk-2"}).identity()
