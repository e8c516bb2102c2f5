"""Names to objects."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest

from pytest_rageval.datasets.base import READER_REGISTRY
from pytest_rageval.gates.base import GATE_REGISTRY
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.registry import Registry, UnknownNameError
from pytest_rageval.reports.base import REPORT_REGISTRY


@dataclass(frozen=True)
class Thing:
    name: str
    aliases: tuple[str, ...] = ()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with two drop-in modules and one module without any."""
    folder = tmp_path / "rageval_things"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "one.py").write_text(
        "from types import SimpleNamespace as T\n"
        "THINGS = (T(name='alpha', aliases=('a', 'First')), T(name='beta', aliases=()))\n"
    )
    (folder / "two.py").write_text(
        "from types import SimpleNamespace as T\nTHINGS = (T(name='gamma', aliases=('Alpha',)),)\n"
    )
    (folder / "helper.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "rageval_things"
    for name in [name for name in sys.modules if name.partition(".")[0] == "rageval_things"]:
        del sys.modules[name]


@pytest.fixture
def things(package: str) -> Registry[Thing]:
    return Registry("thing", package, "THINGS")


def test_every_module_of_the_folder_is_found(things: Registry[Thing]) -> None:
    """Dropping a file there is all that an addition takes."""
    assert things.names() == ["alpha", "beta", "gamma"]
    assert [thing.name for thing in things] == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize("written", ["alpha", "ALPHA", "a", "A", "first", "First"])
def test_aliases_and_any_case_of_letters_are_understood(
    things: Registry[Thing], written: str
) -> None:
    assert things.get(written).name == "alpha"
    assert things.canonical(written) == "alpha"


def test_an_unknown_name_gets_the_nearest_guess(things: Registry[Thing]) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown thing 'alpah'\. Did you mean 'alpha'"):
        things.get("alpah")
    assert things.canonical("alpah") is None


def test_an_added_entry_is_found_and_its_name_is_then_taken(things: Registry[Thing]) -> None:
    things.add(Thing("delta", ("d",)))
    assert things.get("D").name == "delta"
    with pytest.raises(ValueError, match="'delta' is registered twice"):
        things.add(Thing("delta"))


def test_an_alias_never_takes_the_place_of_a_name(things: Registry[Thing]) -> None:
    """gamma claims the alias "Alpha", which is beta's neighbour's own name."""
    assert things.get("Alpha").name == "alpha"


@pytest.fixture
def listing(package: str, tmp_path: Path) -> Registry[Thing]:
    """The registry of the package with a list of what two of its modules define."""
    listed = "NAMES = {'one': ('alpha', 'beta'), 'two': ('gamma',), 'nothing': ()}"
    (tmp_path / "rageval_things" / "__init__.py").write_text(listed)
    (tmp_path / "rageval_things" / "nothing.py").write_text("raise AssertionError('loaded')")
    return Registry("thing", package, "THINGS")


def _loaded() -> set[str]:
    return {name.partition(".")[2] for name in sys.modules if name.startswith("rageval_things.")}


@pytest.mark.parametrize(
    ("written", "loaded"),
    [("gamma", {"two"}), ("beta", {"one"}), ("A", {"one", "two"}), ("zeta", {"one", "two"})],
)
def test_a_listed_module_is_loaded_for_its_names_alone(
    listing: Registry[Thing], written: str, loaded: set[str]
) -> None:
    """The helper is not listed, and so always loaded; for an alias or an unknown name all are."""
    listing.canonical(written)
    assert _loaded() == {"helper", *loaded}
    assert listing.names() == ["alpha", "beta", "gamma"]


def test_what_is_loaded_step_by_step_is_what_is_loaded_at_once(listing: Registry[Thing]) -> None:
    assert listing.defines("gamma")
    assert not listing.defines("a")  # only names are, and no alias
    assert _loaded() == {"helper", "two"}
    assert listing.get("alpha").name == "alpha"
    assert listing.extended([Thing("delta")]).names() == ["alpha", "beta", "delta", "gamma"]
    with pytest.raises(ValueError, match="'gamma' is registered twice"):
        listing.add(Thing("gamma"))


def test_a_name_taken_by_a_module_that_is_not_listed_is_registered_twice(
    listing: Registry[Thing], tmp_path: Path
) -> None:
    """Each time somebody asks: a name does not go to whoever comes first."""
    (tmp_path / "rageval_things" / "zeta.py").write_text(
        "from types import SimpleNamespace as T\n"
        "THINGS = (T(name='own', aliases=()), T(name='gamma', aliases=()))\n"
    )
    for _ in range(2):
        with pytest.raises(ValueError, match="thing 'gamma' is registered twice"):
            listing.get("gamma")


def test_a_load_that_is_interrupted_is_made_up_for(
    listing: Registry[Thing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Ctrl-C in a notebook: names and aliases are there at the next look-up."""

    def interrupted(name: str) -> object:
        if name.endswith(".two"):
            raise KeyboardInterrupt
        return import_module(name)

    with monkeypatch.context() as patch:
        patch.setattr("pytest_rageval.registry.import_module", interrupted)
        with pytest.raises(KeyboardInterrupt):
            listing.names()
    assert listing.get("a").name == "alpha"
    assert listing.names() == ["alpha", "beta", "gamma"]


def test_an_entry_point_may_look_something_up(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A metric that builds on one of ours."""
    made: Registry[Thing] = Registry("thing", package, "THINGS", group="things")

    class Point:
        name = "delta"

        def load(self) -> Thing:
            return Thing("delta", (made.get("alpha").name + "-based",))

    monkeypatch.setattr("pytest_rageval.registry.entry_points", lambda group: [Point()])
    assert made.names() == ["alpha", "beta", "delta", "gamma"]
    assert made.names() == ["alpha", "beta", "delta", "gamma"]
    assert made.get("Alpha-Based").name == "delta"


def test_a_registry_can_be_copied(listing: Registry[Thing]) -> None:
    """Whoever sends a function elsewhere may send it along."""
    assert copy.deepcopy(listing).names() == ["alpha", "beta", "gamma"]


def test_threads_that_look_up_at_once_lose_nothing(
    listing: Registry[Thing], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are inside of an import, unless the second waits for the first."""
    both = Barrier(2)

    def importing(name: str) -> object:
        if name.endswith((".one", ".two")):
            with suppress(BrokenBarrierError):
                both.wait(timeout=0.1)
        return import_module(name)

    monkeypatch.setattr("pytest_rageval.registry.import_module", importing)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(listing.canonical, ["gamma", "beta"]))
    assert listing.names() == ["alpha", "beta", "gamma"]


@pytest.mark.parametrize(
    ("package", "attribute"),
    [
        ("pytest_rageval.metrics", "METRICS"),
        ("pytest_rageval.datasets.formats", "READERS"),
        ("pytest_rageval.gates", "GATES"),
        ("pytest_rageval.reports", "REPORTS"),
    ],
    ids=["metrics", "formats", "gates", "reports"],
)
def test_the_lists_of_names_are_complete(package: str, attribute: str) -> None:
    """A listed name that is missing would cost time, and the name of another gate be free."""
    listed = import_module(package).NAMES
    known = {module: import_module(f"{package}.{module}") for module in listed}
    defined = {name: getattr(module, attribute, ()) for name, module in known.items()}
    assert listed == {
        name: tuple(sorted(one.name for one in entries)) for name, entries in defined.items()
    }
    # The order in which modules are loaded decides nothing.
    written = [
        {text.lower() for text in (one.name, *one.aliases)}
        for entries in defined.values()
        for one in entries
    ]
    assert sum(map(len, written)) == len(set().union(*written))


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        (
            METRIC_REGISTRY,
            {"em", "acc", "stringem", "coverem", "f1", "rouge-1", "rouge-2", "rouge-l"},
        ),
        (READER_REGISTRY, {"jsonl", "json", "csv", "tsv", "xlsx", "parquet"}),
        (GATE_REGISTRY, {"mean", "pass_rate", "unscored", "by"}),
        (REPORT_REGISTRY, {"results.json", "scores.csv", "invalid.csv", "summary.md"}),
    ],
    ids=["metrics", "formats", "gates", "reports"],
)
def test_the_built_in_names_are_there(registry: Registry[Thing], expected: set[str]) -> None:
    """D1, A18, A10, A12."""
    assert expected <= set(registry.names())


@pytest.mark.parametrize("alias", ["exact_match", "rouge_l", "rougeL", "ROUGE-L", "string_em"])
def test_other_systems_names_of_metrics_are_understood(alias: str) -> None:
    """D1."""
    assert METRIC_REGISTRY.canonical(alias) in {"em", "rouge-l", "stringem"}


class Dist:
    name = "my-dist"


class FakePoint:
    """An entry point that loads to what a test says, or raises it."""

    def __init__(self, name: str, loads: object) -> None:
        self.name = name
        self.value = f"my_dist:{name}"
        self.dist = Dist()
        self._loads = loads

    def load(self) -> object:
        if isinstance(self._loads, BaseException):
            raise self._loads
        return self._loads


@pytest.fixture
def with_points(package: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Registry[Thing]]:
    """Return a function from what entry points load to, by name, to a registry with them."""

    def make(**loads: object) -> Registry[Thing]:
        points = [FakePoint(name, loaded) for name, loaded in loads.items()]
        monkeypatch.setattr("pytest_rageval.registry.entry_points", lambda group: points)
        return Registry("thing", package, "THINGS", group="own.things")

    return make


def test_an_entry_point_gives_one_entry_or_several(
    with_points: Callable[..., Registry[Thing]],
) -> None:
    registry = with_points(one=Thing("one"), more=(Thing("two"), Thing("three")))
    assert registry.get("three").name == "three"
    assert registry.names() == ["alpha", "beta", "gamma", "one", "three", "two"]


@pytest.mark.parametrize(
    ("loads", "words"),
    [
        (ImportError("no module\nof that name"), "ImportError: no module of that name."),
        (SystemExit(3), "SystemExit: 3."),
        (Thing("alpha"), "ValueError: thing 'alpha' is registered twice."),
        ("text", "AttributeError: 'str' object has no attribute 'name'."),
    ],
)
def test_an_entry_point_that_cannot_be_used_is_named_and_spoils_nothing(
    with_points: Callable[..., Registry[Thing]], loads: object, words: str
) -> None:
    registry = with_points(bad=loads, one=Thing("one"))
    assert registry.get("alpha").name == "alpha"
    assert registry.get("one").name == "one"
    with pytest.raises(UnknownNameError) as caught:
        registry.get("bad")
    expected = f"The entry point 'bad = my_dist:bad' of my-dist cannot be used: {words}"
    assert str(caught.value).endswith(expected)


def test_of_an_entry_point_that_gives_one_name_twice_nothing_is_taken(
    with_points: Callable[..., Registry[Thing]],
) -> None:
    """The message says that it cannot be used: no half of it may be."""
    registry = with_points(bad=(Thing("two"), Thing("two")), one=Thing("one"))
    with pytest.raises(UnknownNameError, match="thing 'two' is registered twice"):
        registry.get("two")
    assert registry.names() == ["alpha", "beta", "gamma", "one"]


def test_a_built_in_name_is_found_without_reading_entry_points(
    with_points: Callable[..., Registry[Thing]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes milliseconds to read those of all that is installed."""
    registry = with_points()
    monkeypatch.setattr("pytest_rageval.registry.entry_points", lambda group: 1 / 0)
    assert registry.get("first").name == "alpha"


def test_an_extended_registry_leaves_the_first_one_alone(things: Registry[Thing]) -> None:
    more = things.extended([Thing("delta", ("d",))])
    assert more.get("D").name == "delta"
    assert more.get("first").name == "alpha"
    assert things.canonical("delta") is None
    assert things.canonical("d") is None
    with pytest.raises(ValueError, match="'alpha' is registered twice"):
        things.extended([Thing("alpha")])


def test_an_extended_registry_knows_entry_points_too(
    with_points: Callable[..., Registry[Thing]],
) -> None:
    registry = with_points(one=Thing("one"), bad=ImportError("no"))
    more = registry.extended([Thing("delta")])
    assert more.names() == ["alpha", "beta", "delta", "gamma", "one"]
    with pytest.raises(UnknownNameError, match="'bad = my_dist:bad'"):
        more.get("bad")


def test_an_entry_point_may_be_a_bare_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """B10: the metric is called as the entry point is."""
    point = FakePoint("kindness", lambda sample, *, most=1: 1.0)
    monkeypatch.setattr("pytest_rageval.registry.entry_points", lambda group: [point])
    registry = Registry(
        "metric",
        "pytest_rageval.metrics",
        "METRICS",
        METRIC_REGISTRY._group,
        METRIC_REGISTRY._adopt,
    )
    found = registry.get("kindness")
    assert (found.name, found.source) == ("kindness", "my_dist:kindness")
    assert list(found.options.known()) == ["most"]
