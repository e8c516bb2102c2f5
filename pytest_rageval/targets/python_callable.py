"""A function as the system under test: ``target: my_app.rag:answer``, sync or async."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sized
from pathlib import Path
from typing import Any

from pydantic import Field

from pytest_rageval.clients.threads import Raised, in_thread, is_our_stop
from pytest_rageval.errors import error_line, shorten
from pytest_rageval.import_path import (
    ImportPathError,
    check_of_imports,
    import_object,
    split_path,
)
from pytest_rageval.model import NOTHING, Sample
from pytest_rageval.redaction import Redactor, named_secrets
from pytest_rageval.targets.base import (
    Answer,
    Target,
    TargetContext,
    TargetDefinition,
    TargetError,
    TargetOptions,
    answer_of,
    describe_exception,
    named_fields,
)
from pytest_rageval.targets.streams import grow
from pytest_rageval.targets.templates import arguments_of
from pytest_rageval.text.json_value import digests


class PythonOptions(TargetOptions):
    """The options of ``type: python``."""

    use: str = Field(description="import path of the function: package.module:function")
    options: dict[str, Any] = Field({}, description="keyword arguments of every call")

    @property
    def shown(self) -> str:
        return self.use

    def identity(self) -> Mapping[str, Any]:
        """Return the path, and digests of the options; the code itself does not count."""
        return {"use": self.use, **digests(self.options)}


class CallableTarget:
    """Calls a function once for each sample: an async one in the loop, any other in a thread.

    ``options`` go to every call by name; errors do not show those whose names sound like secrets.
    ``identity`` tells the function from others, and ``takes_history`` says whether it is handed the
    messages before the question; ``doubt`` is said of one that is handed nothing of a row.
    ``check`` is called after each answer, and may refuse it.
    Raises TargetError for what is no function, or has parameters that no sample can fill.
    """

    def __init__(
        self,
        function: object,
        options: Mapping[str, Any] = NOTHING,
        identity: Mapping[str, Any] = NOTHING,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        if not callable(function):
            kind = type(function).__name__
            raise TargetError(f"is {shorten(repr(function))} ({kind}), expected a function")
        self._function = function
        self._arguments, self.takes_history, self.doubt = arguments_of(function, options)
        self.identity = identity
        self._check = check
        self._redact = Redactor(named_secrets(dict(options)))
        self._is_async = _is_async(function)

    async def answer(self, sample: Sample) -> Answer:
        """Return what the function returns for the sample; raises TargetError if it fails."""
        given, named = self._arguments(sample)
        try:
            if self._is_async:
                value = self._function(*given, **named)
            else:  # it runs in the thread to the last part of a stream; it may return an awaitable
                value = await in_thread(lambda: _joined(self._function(*given, **named)))
            answer = answer_of(await _whole(value))
            self._check()
            return answer
        except (TargetError, ImportPathError) as error:
            raise TargetError(self._redact(str(error))) from error.__cause__
        except Raised as raised:
            raise self._error(raised.error) from raised.error
        except BaseException as error:  # user code; also SystemExit, pytest.skip
            if is_our_stop(error):
                raise
            raise self._error(error) from error

    def _error(self, error: BaseException) -> TargetError:
        return TargetError(self._redact(describe_exception(error)))

    async def aclose(self) -> None:
        """Nothing was opened."""


def _is_async(function: Callable[..., object]) -> bool:
    call = getattr(function, "__call__", function)  # noqa: B004  (an object with an async __call__)
    return any(
        inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one)
        for one in (inspect.unwrap(function), function, call)
    )


async def _whole(value: object) -> object:
    """Return the result of an awaitable, the whole text of a stream, any other value as it is."""
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterable) and _is_stream(value):
        return _whole_of([text_part(part) async for part in value])
    return await in_thread(lambda: _joined(value)) if _is_stream(value) else value


def _joined(value: object) -> object:
    """Return the text that a generator of texts streams; anything else as it is."""
    if isinstance(value, Iterable) and _is_stream(value):
        return _whole_of(list(map(text_part, value)))
    return value


def _is_stream(value: object) -> bool:
    """Return whether a value gives its parts one by one, and is no list or object of an answer."""
    is_iterator = hasattr(value, "__next__") or hasattr(value, "__anext__")
    has_parts = isinstance(value, Iterable | AsyncIterable) and not isinstance(value, Sized)
    return has_parts and (is_iterator or named_fields(value) is None)


def _whole_of(parts: list[str]) -> str:
    """Return the text of parts: the last of them where each has all so far, as Gradio's do.

    Two may begin alike by chance: only three different ones, or a first of several words, count.
    """
    said = [part for part in parts if part.strip()]
    is_clear = len(set(said)) > 2 or (len(set(said)) > 1 and " " in said[0].strip())
    return said[-1] if is_clear and grow(said) else "".join(parts)


def text_part(part: object) -> str:
    """Return a part of a stream; raises TargetError for what is no text."""
    if not isinstance(part, str):
        raise TargetError(f"streams {shorten(repr(part))} ({type(part).__name__}), expected texts")
    return part


def _instance(found: Callable[[], object]) -> object:
    try:
        return found()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # user code; also SystemExit, pytest.skip
        raise TargetError(f"its constructor raised {error_line(error)}") from error


def module_file(name: str, root: Path) -> str | None:
    """Return the file of an imported module relative to ``root``; None if outside, or without one.

    An installed module counts as outside, even in an environment below ``root``: its path differs
    from one environment to the next.
    """
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:
        return None
    path, root = Path(file).resolve(), root.resolve()
    is_own = path.is_relative_to(root) and not path.is_relative_to(Path(sys.prefix).resolve())
    return path.relative_to(root).as_posix() if is_own else None


def _make(options: PythonOptions, context: TargetContext) -> Target:
    try:
        found: Any = import_object(options.use, context.folders, context.import_mode)
        if inspect.isclass(found):
            found = _instance(found)  # an app whose instances are called
        file = module_file(split_path(options.use)[0], context.root)
        check = check_of_imports(options.use, context.folders, context.import_mode)
        return CallableTarget(found, options.options, {"file": file}, check)
    except ImportPathError as error:
        raise TargetError(str(error)) from error
    except TargetError as error:
        raise TargetError(f"{options.use}: {error}") from error


TARGETS = (TargetDefinition("python", _make, PythonOptions, ("callable", "function")),)
