"""Imports objects by path, ``pkg.mod:attr``, and finds their modules as pytest finds test modules.

pytest puts the folder of a test file on ``sys.path`` (``--import-mode=prepend``, the default, or
``append``) or leaves ``sys.path`` alone (``importlib``, with the ini value ``pythonpath``). The
folder of a scenario and the rootdir are treated the same way, once a scenario names an object by
its path.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import importlib
import pkgutil
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate
from os.path import isfile
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from pytest_rageval.errors import RagevalError, listed, shorten

if TYPE_CHECKING:
    from pytest_rageval.run_paths import ImportMode

# One thread at a time changes sys.path and imports. A module may import others, hence the RLock.
_LOCK: Final = threading.RLock()
_LISTED = 10
_GUESSES = 3
_PYTHON: Final = Path(str(importlib.__file__)).parent.parent
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_NOT_IMPORTED: Final = re.compile(r"^__name__ == |\bTYPE_CHECKING$")
_FOREIGN_FRAMES = ("<frozen importlib", str(importlib.__file__), __file__)


class ImportPathError(RagevalError):
    """An import path that names no object; the message says how far it led, and near names."""


def import_object(path: str, folders: Sequence[Path] = (), mode: ImportMode = "prepend") -> object:
    """Return the object that ``path``, ``pkg.mod:attr`` or ``pkg.mod:attr.sub``, names.

    ``folders`` (the scenario's, then the rootdir) are added to ``sys.path`` as ``mode`` says; for a
    package, the folder that contains it. Raises ImportPathError when ``path`` is malformed, or the
    module does not exist, raises, or lacks the attribute. Unless ``mode`` is ``importlib``, also
    when the module, or one that it imports from its own folder, has been loaded from another place
    than the first folder that has it.
    """
    module_name, attributes = split_path(path)
    folders = [folder.absolute() for folder in folders]
    with _LOCK:
        _extend_sys_path([_base(folder) for folder in folders], mode)
        found: object = _module(module_name, folders, mode)
    for at, attribute in enumerate(attributes):
        shown = ":".join([module_name, *([".".join(attributes[:at])] if at else [])])
        found = _attribute(found, attribute, shown)
    return found


def check_of_imports(path: str, folders: Sequence[Path], mode: ImportMode) -> Callable[[], None]:
    """Return a check to call after each call of the function of ``path``, which may import then.

    The check raises ImportPathError where such a module is another folder's, as ``import_object``
    does for what is imported at once. It looks only if modules were loaded since the last time.
    """
    name = split_path(path)[0]
    passed = 0

    def check() -> None:
        nonlocal passed
        count = len(sys.modules)
        if mode != "importlib" and count != passed and name in sys.modules:
            _check_imports(name, [folder.absolute() for folder in folders])
        passed = count

    return check


def path_of(found: object) -> str:
    """Return the import path of a function or class, of the class of anything else."""
    holder = found if hasattr(found, "__qualname__") else type(found)
    return f"{holder.__module__}:{getattr(holder, '__qualname__', '')}"


def code_digest(file: str | Path) -> str:
    """Return the SHA-256 of a file of code, whatever its line ends; "" where it cannot be read."""
    try:
        raw = Path(file).read_bytes()
    except OSError:  # of a module in an archive
        return ""
    return hashlib.sha256(raw.replace(b"\r\n", b"\n")).hexdigest()


def find_file(name: str, folders: Sequence[Path], mode: ImportMode = "prepend") -> Path | None:
    """Return the file of the module that ``import_object`` would find, or None; imports nothing."""
    loaded = getattr(sys.modules.get(name), "__file__", None)
    if loaded is not None:
        return Path(loaded)
    own = [_base(folder.absolute()) for folder in folders] if mode != "importlib" else []
    return _file_in((*own, *map(Path, sys.path)), name)


def functions_in(file: Path) -> list[str]:
    """Return the names of a Python file's public functions and classes; [] if it cannot be read."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [
        definition.name
        for definition in _tree(file).body
        if isinstance(definition, kinds) and not definition.name.startswith("_")
    ]


def module_in(folder: Path, name: str) -> str:
    """Return the name by which a module of ``folder`` is imported: ``evals.name`` in a package."""
    folder = folder.absolute()
    return ".".join([*folder.relative_to(_base(folder)).parts, name])


def split_path(path: str) -> tuple[str, list[str]]:
    """Return the module and the attributes of ``pkg.mod:attr.sub``.

    Nothing is imported. Raises ImportPathError, with a guess if possible.

    >>> split_path("pkg.mod:attr.sub")
    ('pkg.mod', ['attr', 'sub'])
    """
    module, colon, attribute = path.partition(":")
    names = [*module.split("."), *attribute.split(".")]
    if colon and all(name.isidentifier() for name in names) and not module.endswith(".py"):
        return module, attribute.split(".")
    meant = _meant(path)
    hint = f" Did you mean {meant!r}?" if meant else ""
    raise ImportPathError(f"expected 'pkg.mod:attr', found {shorten(path)!r}.{hint}")


def _meant(path: str) -> str | None:
    """Return the import path that a file's path or a dotted name most likely means."""
    module, colon, attribute = path.partition(":")
    if not colon:
        module, _, attribute = path.rpartition(".")
    module = module.removesuffix(".py").removeprefix("./").replace("\\", "/").replace("/", ".")
    meant = f"{module}:{attribute}"
    names = [*module.split("."), *attribute.split(".")]
    return meant if all(name.isidentifier() for name in names) else None


def _base(folder: Path) -> Path:
    """Return ``folder``; for a package, the folder from which it is imported."""
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def _extend_sys_path(folders: Sequence[Path], mode: ImportMode) -> None:
    """Add missing folders to the beginning or end of ``sys.path``, in this order, or not at all."""
    missing = [text for text in dict.fromkeys(map(str, folders)) if text not in sys.path]
    if mode == "prepend":
        sys.path[:0] = missing
    elif mode == "append":
        sys.path.extend(missing)


def _module(name: str, folders: Sequence[Path], mode: ImportMode) -> ModuleType:
    importlib.invalidate_caches()  # the file may be newer than the cached listing of its folder
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if _frames(error):  # the module itself imports something that does not exist
            raise ImportPathError(_raised("importing", name, error)) from error
        raise ImportPathError(_not_found(error.name or name, folders, mode)) from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also sys.exit and pytest.skip
        raise ImportPathError(_raised("importing", name, error)) from error
    if mode != "importlib":
        _check_origin(name, folders)
        _check_imports(name, folders)
    return module


def _frames(error: BaseException) -> list[traceback.FrameSummary]:
    """Return the frames of the error that are neither Python's import system nor ours."""
    return [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not any(part in frame.filename for part in _FOREIGN_FRAMES)
    ]


def _raised(doing: str, name: str, error: BaseException) -> str:
    """Return the message for a module or attribute that raised an error."""
    text = " ".join(str(error).split())
    frames = _frames(error)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    if isinstance(error, SyntaxError) and error.filename:
        text, where = error.msg, f" ({error.filename}:{error.lineno})"
    return f"{doing} {name!r} raised {type(error).__name__}: {shorten(text, 300)}{where}"


def _not_found(name: str, folders: Sequence[Path], mode: ImportMode) -> str:
    """Return the message for a missing module: where it was looked for, and near names."""
    parent = sys.modules.get(name.rpartition(".")[0])
    if parent is not None:
        return f"no module named {name!r}{_in_parent(parent, name)}"
    holder = next((folder for folder in folders if name in _modules_in([folder])), None)
    if holder is not None and mode == "importlib":
        return (
            f"no module named {name!r} on sys.path. {holder} has one, but "
            "--import-mode=importlib does not change sys.path: add that folder to the ini value "
            "'pythonpath'"
        )
    if holder is not None and holder != _base(holder):
        package = ".".join(holder.relative_to(_base(holder)).parts)
        hint = f"{holder} is a package; did you mean '{package}.{name}'?"
        return f"no module named {name!r}. {hint}"
    bases = list(dict.fromkeys(_base(folder) for folder in folders))
    looked = ", ".join([*map(str, bases), "sys.path"])
    near = _did_you_mean(name, _modules_in([*bases, *_own_paths(bases)]))
    return f"no module named {name!r} in {looked}.{near}"


def _in_parent(parent: ModuleType, name: str) -> str:
    if not hasattr(parent, "__path__"):
        return f": {parent.__name__!r} is not a package, but {_shown(parent)}"
    known = [f"{parent.__name__}.{inner}" for inner in _modules_in(map(Path, parent.__path__))]
    return f".{_did_you_mean(name, known)}{_known('modules', known)}"


def _own_paths(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield the entries of ``sys.path`` below the folders, mostly from the ini ``pythonpath``."""
    for text in sys.path:
        if any(Path(text).is_relative_to(folder) for folder in folders):
            yield Path(text)


def _modules_in(folders: Iterable[Path]) -> list[str]:
    return sorted({module.name for module in pkgutil.iter_modules(map(str, folders))})


def _check_origin(name: str, folders: Sequence[Path]) -> None:
    """Raise ImportPathError if another folder's module of the same name was imported instead."""
    top = name.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    candidate = _file_in(map(_base, folders), top)
    if candidate and not (file and Path(file).is_file() and candidate.samefile(file)):
        raise ImportPathError(
            f"{candidate} cannot be imported: {top!r} is already "
            f"{file or 'part of Python'}; rename one of them"
        )


def _check_imports(name: str, folders: Sequence[Path]) -> None:
    """Raise ImportPathError if a module ``name`` imports from its folder was another folder's.

    Modules beside it are followed to what they import. Python's modules, installed ones and
    ``conftest`` are left alone, and so is one from the first of the ``folders`` that has it: a run
    of this scenario alone would import that one, too.
    """
    file = Path(getattr(sys.modules[name], "__file__", None) or "")
    if not file.is_file() or _is_installed(file):
        return
    home = file.parents[name.count(".") + (file.name == "__init__.py")]
    files = [file]
    for importing in files:  # which grows
        for line, imported in _imports_in(importing):
            own = _file_in([home], imported)
            if own is None or own in files or imported == "conftest":
                continue
            loaded = Path(getattr(sys.modules.get(imported), "__file__", None) or "")
            meant = [own, _file_in(map(_base, folders), imported) or own]
            if loaded.is_file() and not (_is_installed(loaded) or any(map(loaded.samefile, meant))):
                raise ImportPathError(
                    f"{importing}:{line} imports {imported!r}, which is already {loaded}, not "
                    f"{own}; rename one of them, or run the two folders apart"
                )
            if own.parent == home:
                files.append(own)


def _is_installed(file: Path) -> bool:
    """Return whether a module is one of Python, or of an installed package."""
    return file.is_relative_to(_PYTHON) or not _INSTALLED.isdisjoint(file.parts)


@cache
def _imports_in(file: Path) -> list[tuple[int, str]]:
    """Return the lines and names of what a file imports, of ``a.b`` also ``a``.

    Left out are relative imports, and what it imports only as a script or for a type checker.
    """
    found = []
    for node in _executed(_tree(file)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        every = (accumulate(name.split("."), "{}.{}".format) for name in names)
        found += [(node.lineno, part) for parts in every for part in parts]
    return found


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    rest = [tree]
    for node in rest:  # which grows
        yield node
        is_left_out = isinstance(node, ast.If) and _NOT_IMPORTED.search(ast.unparse(node.test))
        rest += node.orelse if is_left_out else ast.iter_child_nodes(node)  # type: ignore[attr-defined]


def _tree(file: Path) -> ast.Module:
    """Return the syntax tree of a Python file; an empty one if it cannot be read as one."""
    try:
        return ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ast.Module([], [])


def _file_in(folders: Iterable[Path], name: str) -> Path | None:
    """Return the file of a module in the first of the folders that has it, or None."""
    below = name.replace(".", "/")
    candidates = (
        folder / f"{below}{ending}" for folder in folders for ending in ("/__init__.py", ".py")
    )
    # Path.is_file raises for a name that is too long.
    return next((file for file in candidates if isfile(file)), None)  # noqa: PTH113


def _attribute(holder: object, name: str, shown: str) -> object:
    try:
        return getattr(holder, name)
    except AttributeError:
        known = _public_names(holder)
        message = f"{shown!r} ({_shown(holder)}) has no attribute {name!r}."
        near = _did_you_mean(name, known) + _known("names", known)
        raise ImportPathError(message + near) from None
    except Exception as error:
        raise ImportPathError(_raised("getting", f"{shown}:{name}", error)) from error


def _shown(holder: object) -> str:
    """Return the file of a module, or the type of another object."""
    return getattr(holder, "__file__", None) or f"of type {type(holder).__name__}"


def _public_names(holder: object) -> list[str]:
    """Return the public names that ``holder`` defines itself, without its imports."""
    own = getattr(holder, "__name__", None)
    return (
        sorted(
            name
            for name, value in vars(holder).items()
            if not name.startswith("_")
            and not isinstance(value, ModuleType)
            and getattr(value, "__module__", own) in (own, getattr(holder, "__module__", own))
        )
        if hasattr(holder, "__dict__")
        else []
    )


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    by_lower = {choice.lower(): choice for choice in known}
    near = difflib.get_close_matches(name[:100].lower(), by_lower, n=_GUESSES, cutoff=0.6)
    guesses = " or ".join(repr(by_lower[choice]) for choice in near)
    return f" Did you mean {guesses}?" if guesses else ""


def _known(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    return f" Its {what}: {listed(names, _LISTED)}"
