"""Finds objects by name: in the modules of a folder, and in entry points of other distributions.

A folder (metrics, dataset formats, gates, reports) is scanned at the first look-up: each module
that defines the registry's attribute adds the objects listed in it. To add one, add a file.

A package may list in ``NAMES`` what its modules define: a module of that list is loaded once one of
its names is looked up, or a name that is not listed; a module listed with no names is never loaded.
Most runs are then spared most modules.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from threading import Lock, get_ident
from types import ModuleType
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from pytest_rageval.errors import error_line, unknown_name


class Named(Protocol):
    """An entry of a registry: an object with a name and its aliases."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=Named)

Adopt: TypeAlias = Callable[[Any, EntryPoint], Iterable[T]]
"""(the object that an entry point loads, the entry point) -> the entries made of it."""


# Not held while a module is imported: the import may wait for another thread. Not an attribute of a
# registry, which could then be neither deep-copied nor pickled.
_TAKING: Final = Lock()


class UnknownNameError(LookupError):
    """A name that a registry does not know; the message has the nearest, and says where all are."""


class Registry(Generic[T]):
    """The objects of one ``kind``, found in a package's modules and in an entry-point group.

    ``attribute`` names the tuple that a drop-in module defines. ``group`` is an optional group of
    entry points; each one loads one object or a tuple of them, and ``adopt`` makes entries of other
    objects. ``page`` is the page of the documentation that lists all, where they are too many for a
    message. A broken entry point is named in the messages for unknown names, and has no other
    effect.
    """

    def __init__(
        self,
        kind: str,
        package: str,
        attribute: str,
        group: str | None = None,
        adopt: Adopt[T] | None = None,
        page: str = "",
    ) -> None:
        self.kind = kind
        self._page = page
        self._package = package
        self._attribute = attribute
        self._group = group or ""
        self._entries: dict[str, T] = {}
        self._waiting: set[str] | None = None  # the drop-in modules that are not taken
        self._adopt = adopt or _as_it_is
        self._is_complete = group is None
        self._points: set[EntryPoint] = set()  # those that are loaded
        self._loading: set[int] = set()  # the threads that load some
        self._aliases: dict[str, str] = {}
        self._broken: dict[str, str] = {}

    def get(self, name: str) -> T:
        """Return the object with this name or alias, whatever its case.

        Raises UnknownNameError with the nearest guess.
        """
        canonical = self.canonical(name)
        if canonical is None:
            message = unknown_name(self.kind, name, self.names(), self._page)
            raise UnknownNameError(" ".join([message, *self._broken.values()]))
        return self._entries[canonical]

    def canonical(self, name: str) -> str | None:
        """Return the registered name for a name or alias, or None."""
        # Reading the entry points of all distributions takes milliseconds, so they come last.
        known = self._find(name, self._built_in(name)) or self._find(name, self._built_in())
        return known or self._find(name, self._load())

    def defines(self, name: str) -> bool:
        """Return whether a module, or what is loaded, has this very name; aliases do not count."""
        return name in self._built_in(name)

    def loaded(self, name: str) -> str | None:
        """Return the registered name for a name or alias of what is loaded so far, or None."""
        return self._find(name, self._entries)

    def names(self) -> list[str]:
        """Return every registered name, sorted."""
        return sorted(self._load())

    def __iter__(self) -> Iterator[T]:
        entries = self._load()
        return iter([entries[name] for name in sorted(entries)])

    def add(self, entry: T) -> None:
        """Register ``entry``; ValueError for a name that is already taken."""
        self._load()
        self._insert((entry,))

    def extended(self, entries: Iterable[T]) -> Registry[T]:
        """Return a copy with these entries added; ValueError for a name that is already taken."""
        self._built_in()
        made = copy(self)
        made._extend(entries)  # noqa: SLF001  (another of this class)
        return made

    def _extend(self, entries: Iterable[T]) -> None:
        """Replace the dictionaries by copies, and add ``entries``."""
        self._entries, self._aliases = dict(self._entries), dict(self._aliases)
        self._broken, self._points = dict(self._broken), set(self._points)
        self._waiting, self._loading = set(self._waiting or ()), set()
        self._insert(tuple(entries))

    def _find(self, name: str, entries: dict[str, T]) -> str | None:
        return name if name in entries else self._aliases.get(name.lower())

    def _built_in(self, name: str | None = None) -> dict[str, T]:
        """Return the entries so far, with the drop-in of this name, or with all drop-ins."""
        package = import_module(self._package)
        listed: Mapping[str, Collection[str]] = getattr(package, "NAMES", {})
        for module in self._not_taken(package.__path__):
            names = listed.get(module)  # None: only its import tells what it defines
            if names is None or name in names or (name is None and names):
                self._take(module, import_module(f"{self._package}.{module}"))
        return self._entries

    def _not_taken(self, path: Iterable[str]) -> list[str]:
        with _TAKING:
            if self._waiting is None:
                self._waiting = {module.name for module in pkgutil.iter_modules(path)}
            return sorted(self._waiting)

    def _take(self, name: str, module: ModuleType) -> None:
        """Register what a module defines, unless another thread has."""
        with _TAKING:
            if self._waiting is not None and name in self._waiting:
                self._insert(getattr(module, self._attribute, ()))
                self._waiting.remove(name)

    def _load(self) -> dict[str, T]:
        """Return all entries, including entries from other distributions."""
        entries, thread = self._built_in(), get_ident()
        # An entry point may look something up while it is loaded.
        if not self._is_complete and thread not in self._loading:
            self._loading.add(thread)
            try:
                for point in sorted(entry_points(group=self._group), key=lambda point: point.name):
                    self._load_entry_point(point)
                self._is_complete = True
            finally:
                self._loading.discard(thread)
        return entries

    def _load_entry_point(self, point: EntryPoint) -> None:
        """Register what an entry point gives, unless that was done before."""
        try:
            found = () if point in self._points else tuple(self._adopt(point.load(), point))
            with _TAKING:
                if point not in self._points:
                    self._points.add(point)
                    self._insert(found)
        except (Exception, SystemExit) as error:  # noqa: BLE001  (anyone's code, which most scenarios do not use)
            owner = f" of {point.dist.name}" if point.dist is not None else ""
            self._broken[point.name] = (
                f"The entry point '{point.name} = {point.value}'{owner} cannot be used: "
                f"{error_line(error)}."
            )

    def _insert(self, entries: Collection[T]) -> None:
        """Register all of them, or none; ValueError for a name that is already taken."""
        taken = set(self._entries)
        for entry in entries:
            if entry.name in taken:
                raise ValueError(f"{self.kind} {entry.name!r} is registered twice")
            taken.add(entry.name)
        for entry in entries:
            self._entries[entry.name] = entry
            for alias in (entry.name, *entry.aliases):
                self._aliases.setdefault(alias.lower(), entry.name)


def _as_it_is(loaded: Any, _: EntryPoint) -> Iterable[Any]:
    return loaded if isinstance(loaded, tuple) else (loaded,)
