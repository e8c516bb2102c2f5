"""Embedding models in this process, with stand-ins for the packages."""

from __future__ import annotations

import asyncio
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from pytest_rageval.clients.base import Usage
from pytest_rageval.clients.clients import Clients, check_embedding
from pytest_rageval.clients.errors import LocalModelError
from pytest_rageval.clients.providers.local_embeddings import LocalEmbeddings
from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.clients.threads import Raised, SerialThread
from pytest_rageval.engine.planning import bind_metrics as source_digest_module
from pytest_rageval.engine.planning.bind_metrics import source_digest
from pytest_rageval.errors import MissingExtraError

ROWS = tomllib.loads(Path(__file__).with_name("local_embeddings.toml").read_text("utf-8"))

Within = Callable[..., Any]


class SentenceTransformer:
    made: ClassVar[list[tuple[str, dict[str, Any]]]] = []

    def __init__(self, name: str, **keys: Any) -> None:
        self.made.append((name, keys))

    def encode(self, texts: list[str], *, batch_size: int, show_progress_bar: bool) -> Any:
        assert (batch_size, show_progress_bar) == (64, False)
        return np.array([[len(text), 0.5] for text in texts], dtype="f4")


class TextEmbedding:
    def __init__(self, *, model_name: str, **keys: Any) -> None:
        self.name = model_name

    def embed(self, texts: list[str], *, batch_size: int) -> Iterator[Any]:
        for text in texts:
            yield np.array([len(text), 0.5], dtype="f4")


def rows(texts: list[str], scale: float = 1.0) -> list[list[float]]:
    threads.append(threading.current_thread().name)
    return [[len(text) * scale, 0.5] for text in texts]


async def async_rows(texts: list[str], scale: float = 1.0) -> list[list[float]]:
    await asyncio.sleep(0)
    return rows(texts, scale)


def wrapped_rows(texts: list[str]) -> Any:
    """Return a coroutine, as a function that a decorator has wrapped does."""
    return async_rows(texts)


class AsyncEncoder:
    async def __call__(self, texts: list[str]) -> list[list[float]]:
        return await async_rows(texts)


async_encoder = AsyncEncoder()


def broken(texts: list[str]) -> Any:
    raise RuntimeError("out of memory")


def refused(texts: list[str], api_key: str) -> Any:
    url = "https://me:pw12345@h.test/v1?api_key=QQ3c9a12b7d45e86"
    raise RuntimeError(f"401 for {url} with Bearer sk-abcdEFGH1234567890abcdEFGH, key {api_key}")


def refused_late(texts: list[str], api_key: str) -> Any:
    raise RuntimeError(f"{'a' * 270} {api_key}")


def too_few(texts: list[str]) -> Any:
    return [[1.0]] * (len(texts) - 1)


def uneven(texts: list[str]) -> Any:
    return [[1.0] * (n + 1) for n in range(len(texts))]


def not_finite(texts: list[str]) -> Any:
    return [[float("nan")] for _ in texts]


def no_rows(texts: list[str]) -> Any:
    return None


def ends(texts: list[str]) -> Any:
    sys.exit("no model here")


async def async_ends(texts: list[str]) -> Any:
    sys.exit("no model here")


def wrapped_ends(texts: list[str]) -> Any:
    return async_ends(texts)


async def async_cancels(texts: list[str]) -> Any:
    raise asyncio.CancelledError


def interrupts(texts: list[str]) -> Any:
    raise KeyboardInterrupt


def cancels(texts: list[str]) -> Any:
    raise asyncio.CancelledError("not by us")


threads: list[str] = []


@pytest.fixture(autouse=True)
def _packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put this module, and stand-ins for the two packages, where they can be imported."""
    threads.clear()
    SentenceTransformer.made.clear()
    for name, attribute in (
        ("sentence_transformers", SentenceTransformer),
        ("fastembed", TextEmbedding),
    ):
        module = ModuleType(name)
        setattr(module, attribute.__name__, attribute)
        monkeypatch.setitem(sys.modules, name, module)
    own = ModuleType("my_embeddings")
    functions = (rows, async_rows, wrapped_rows, broken, too_few, uneven, not_finite, no_rows)
    for function in (
        *functions,
        refused,
        refused_late,
        ends,
        async_ends,
        wrapped_ends,
        interrupts,
        cancels,
        async_cancels,
    ):
        setattr(own, function.__name__, function)
    own.async_encoder = async_encoder  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "my_embeddings", own)
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: True)


def embed(within: Within, *texts: str, **fields: Any) -> Any:
    async def work(clients: Clients) -> Any:
        settings = ClientSettings(role="embedding", **fields)
        vectors = await clients.embedding(settings).embed(texts)
        return [list(vector) for vector in vectors], clients.usage

    return within(work, RunSettings())


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("sentence-transformers", "all-MiniLM"),
        ("sbert", "all-MiniLM"),
        ("fastembed", "bge-small"),
        ("python", "my_embeddings:rows"),
        ("python", "my_embeddings:async_rows"),
        ("python", "my_embeddings:wrapped_rows"),
        ("python", "my_embeddings:async_encoder"),
    ],
)
def test_each_provider_returns_a_vector_for_each_text(
    provider: str, model: str, within: Within
) -> None:
    """Two texts of 8 and 12 characters are about 5 tokens."""
    vectors, usage = embed(within, "x" * 8, "y" * 12, provider=provider, model=model)
    assert vectors == [[8.0, 0.5], [12.0, 0.5]]
    assert usage == Usage(5, calls=1)


def test_a_model_is_loaded_once_with_its_options(within: Within) -> None:
    async def work(clients: Clients) -> None:
        client = clients.embedding(
            ClientSettings("m", provider="sbert", extra_body={"device": "cpu"})
        )
        await asyncio.gather(client.embed(["a"]), client.embed(["b"]))
        await client.embed(["c"])

    within(work, RunSettings())
    assert SentenceTransformer.made == [("m", {"device": "cpu"})]


def test_a_function_runs_in_a_thread_and_gets_its_options(within: Within) -> None:
    vectors, _ = embed(
        within, "abcd", provider="python", model="my_embeddings:rows", extra_body={"scale": 2.0}
    )
    assert vectors == [[8.0, 0.5]]
    assert threads == ["rageval-python"]


@pytest.mark.parametrize(
    ("function", "words"),
    ROWS["whatever_a_function_does_wrong_is_the_models_error"],
)
def test_whatever_a_function_does_wrong_is_the_models_error(
    function: str, words: str, within: Within
) -> None:
    with pytest.raises(LocalModelError) as caught:
        embed(within, "a", "b", provider="python", model=f"my_embeddings:{function}")
    assert str(caught.value).startswith(f"embedding 'my_embeddings:{function}': ")
    assert words in str(caught.value)


def test_what_a_function_raises_is_told_without_keys(within: Within) -> None:
    """[R5] By their look, and by the names of its options."""
    with pytest.raises(LocalModelError) as caught:
        embed(
            within, "a", provider="python", model="my_embeddings:refused",
            extra_body={"api_key": "0f3c9a12b7d45e86"},
        )  # fmt: skip
    said = "401 for https://me:***@h.test/v1?api_key=*** with Bearer *** key ***"
    assert str(caught.value) == f"embedding 'my_embeddings:refused': RuntimeError: {said}"
    with pytest.raises(LocalModelError, match=r"a \*\*\*$"):  # hidden before it is cut
        embed(
            within, "a", provider="python", model="my_embeddings:refused_late",
            extra_body={"api_key": "0f3c9a12b7d45e86" * 3},
        )  # fmt: skip


def test_a_module_beside_the_scenario_is_found(
    within: Within, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_own.py").write_text("def rows(texts): return [[1.0, 0.0] for _ in texts]")
    vectors, _ = embed(within, "a", provider="python", model="my_own:rows", folders=(tmp_path,))
    assert [list(vector) for vector in vectors] == [[1.0, 0.0]]


def test_the_digest_of_a_functions_file_is_known_without_importing_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is that of the code which is loaded: a file that was edited since is other code."""
    monkeypatch.setattr(sys, "path", [str(tmp_path / "elsewhere")])
    monkeypatch.setattr(source_digest_module, "_SEEN", {})
    folders = (tmp_path / "pkg", tmp_path)
    for name, text in {
        "pkg/__init__.py": "",
        "pkg/vectors.py": "raise ImportError\n",
        "other.py": "a = 1\r\n",
        "elsewhere/mine.py": "a = 1\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())

    def digest(path: str, mode: Any = "prepend") -> str:
        return source_digest(path, folders, mode)

    assert digest("pkg.vectors:encode") == sha256(b"raise ImportError\n").hexdigest()
    assert digest("pkg:encode") == sha256(b"").hexdigest()
    # As it is checked out on Windows, too.
    assert digest("other:encode") == digest("mine:encode") == sha256(b"a = 1\n").hexdigest()
    assert digest("other:encode", "importlib") == digest("no_such_1:f") == digest("sys:f") == ""
    (tmp_path / "other.py").write_text("a = 2\n")
    edited = digest("other:encode")
    assert edited == sha256(b"a = 2\n").hexdigest()
    module = ModuleType("other")
    module.__file__ = str(tmp_path / "other.py")
    monkeypatch.setitem(sys.modules, "other", module)
    (tmp_path / "other.py").write_text("a = 3\n")
    assert digest("other:encode") == edited


def test_a_module_that_is_nowhere_is_told_with_near_names(
    within: Within, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_own.py").write_text("")
    with pytest.raises(LocalModelError, match="no module named 'my_on'.* Did you mean 'my_own'"):
        embed(within, "a", provider="python", model="my_on:rows", folders=(tmp_path,))


def test_a_module_that_ends_python_is_the_models_error(
    within: Within, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_exit.py").write_text("import sys\nsys.exit('no licence')\n")
    with pytest.raises(LocalModelError, match="SystemExit: no licence"):
        embed(within, "a", provider="python", model="my_exit:rows", folders=(tmp_path,))


def test_a_package_that_is_not_installed_is_told_with_its_pip_command(
    within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_rageval.extras.installed", lambda module: False)
    settings = ClientSettings("m", provider="fastembed")
    assert check_embedding(settings, RunSettings()) == [
        'provider: fastembed needs the package fastembed: pip install "pytest-rageval[fastembed]"'
    ]
    assert check_embedding(settings, RunSettings(cache_mode="replay")) == []
    with pytest.raises(MissingExtraError, match=r"pip install"):
        embed(within, "a", provider="fastembed", model="m")


@pytest.mark.parametrize("name", ["my_embeddings", "my embeddings:f", "a.b:", ":f", "a:1"])
def test_a_name_that_is_no_function_is_known_without_importing_it(name: str) -> None:
    (problem,) = check_embedding(ClientSettings(name, provider="python"), RunSettings())
    assert problem.startswith(
        f"model: the provider python names a function: expected 'pkg.mod:attr', found {name!r}"
    )


def test_the_loop_goes_on_while_a_model_works() -> None:
    async def main() -> None:
        thread, goes_on = SerialThread("slow"), threading.Event()
        job = asyncio.create_task(thread.run(lambda: goes_on.wait(60)))
        await asyncio.sleep(0.01)
        assert not job.done()
        goes_on.set()
        assert await job
        thread.close()

    asyncio.run(main())


def test_a_cancelled_call_never_begins_and_errors_come_back() -> None:
    ran = []

    def fail() -> None:
        raise StopIteration

    async def main() -> None:
        thread, goes_on = SerialThread("busy"), threading.Event()
        first = asyncio.create_task(thread.run(lambda: goes_on.wait(60)))
        second = asyncio.create_task(thread.run(lambda: ran.append(1)))
        await asyncio.sleep(0.01)
        second.cancel()
        goes_on.set()
        assert await first
        with pytest.raises(RuntimeError, match="StopIteration"):
            await thread.run(fail)
        thread.close()
        thread.close()

    asyncio.run(main())
    assert ran == []


@pytest.mark.parametrize(
    "error", [SystemExit("over"), KeyboardInterrupt(), asyncio.CancelledError()]
)
def test_what_would_end_the_loop_comes_back_as_an_exception(error: BaseException) -> None:
    """The loop serves the whole run, and ends with a task that has a SystemExit."""

    def fail() -> None:
        raise error

    async def main() -> BaseException:
        thread = SerialThread("ending")
        try:
            with pytest.raises(Raised) as caught:
                async with asyncio.timeout(60):
                    await thread.run(fail)
        finally:
            thread.close()
        return caught.value.error

    assert asyncio.run(main()) is error


def test_a_cancelled_question_is_no_error_of_the_model() -> None:
    """Ctrl-C and -x."""
    began = asyncio.Event()

    async def waits(texts: list[str]) -> Any:
        began.set()
        await asyncio.sleep(600)

    async def main() -> None:
        backend = LocalEmbeddings(ClientSettings("m", role="embedding"), lambda _: waits)
        task = asyncio.create_task(backend.embed(["a"]))
        await began.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await backend.aclose()

    asyncio.run(main())
