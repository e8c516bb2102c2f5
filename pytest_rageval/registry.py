"""Names to objects: built-in drop-in modules, entry points of other distributions, aliases.

A folder of drop-in modules (metrics, dataset formats, gates, reports) is scanned at the first
look-up: each module that defines the registry's attribute adds what that attribute lists. To add
one, drop a file there; nothing else is touched.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, Protocol, TypeVar

from pytest_rageval.errors import unknown_name


class Named(Protocol):
    """What a registry holds: an object with a name and other names that mean the same."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...


T = TypeVar("T", bound=Named)


class UnknownNameError(LookupError):
    """A name that no entry of a registry answers to; the message lists the known ones."""


class Registry(Generic[T]):
    """The objects of one ``kind``, found in a package's modules and in an entry-point group.

    ``attribute`` is the module-level tuple that a drop-in module fills. ``group``, where given, is
    the entry-point group whose entries each load to one object or to a tuple of them.
    """

    def __init__(self, kind: str, package: str, attribute: str, group: str | None = None) -> None:
        self.kind = kind
        self._package = package
        self._attribute = attribute
        self._group = group or ""
        self._entries: dict[str, T] | None = None
        self._is_complete = group is None
        self._aliases: dict[str, str] = {}

    def get(self, name: str) -> T:
        """Return the object called ``name`` (or one of its aliases, in any case of letters).

        Raises UnknownNameError with the nearest guess.
        """
        canonical = self.canonical(name)
        if canonical is None:
            raise UnknownNameError(unknown_name(self.kind, name, self.names()))
        return self._built_in()[canonical]

    def canonical(self, name: str) -> str | None:
        """Return the registered name that ``name`` stands for, or None."""
        # The entry points of all that is installed take milliseconds to read: they are asked last.
        return self._find(name, self._built_in()) or self._find(name, self._load())

    def names(self) -> list[str]:
        """Return every registered name, sorted."""
        return sorted(self._load())

    def __iter__(self) -> Iterator[T]:
        entries = self._load()
        return iter([entries[name] for name in sorted(entries)])

    def add(self, entry: T) -> None:
        """Register ``entry``; a name that is taken already is an error of the one who adds it."""
        self._insert(self._load(), entry)

    def _find(self, name: str, entries: dict[str, T]) -> str | None:
        return name if name in entries else self._aliases.get(name.lower())

    def _built_in(self) -> dict[str, T]:
        """Return what is registered so far, the drop-in modules at least."""
        if self._entries is None:
            entries: dict[str, T] = {}
            for entry in self._drop_ins():
                self._insert(entries, entry)
            self._entries = entries
        return self._entries

    def _load(self) -> dict[str, T]:
        """Return everything, that of other distributions included."""
        entries = self._built_in()
        if not self._is_complete:
            self._is_complete = True
            for entry in self._entry_points():
                self._insert(entries, entry)
        return entries

    def _drop_ins(self) -> Iterable[T]:
        package = import_module(self._package)
        for module in sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name):
            yield from getattr(import_module(f"{self._package}.{module.name}"), self._attribute, ())

    def _entry_points(self) -> Iterable[T]:
        for point in sorted(entry_points(group=self._group), key=lambda found: found.name):
            loaded = point.load()
            yield from loaded if isinstance(loaded, tuple) else (loaded,)

    def _insert(self, entries: dict[str, T], entry: T) -> None:
        if entry.name in entries:
            raise ValueError(f"{self.kind} {entry.name!r} is registered twice")
        entries[entry.name] = entry
        for alias in (entry.name, *entry.aliases):
            self._aliases.setdefault(alias.lower(), entry.name)
