"""What others build on neither comes nor goes unseen: ``docs/reference/promises.md`` is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from public_names import COMMAND, LIST, SUBMODULES, public_names

import pytest_rageval

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "reference" / "promises.md"
BEFORE = LIST.with_name("0.1.0") / LIST.name
# The history is a CSV file now, and carried over; the other three are a mapping of the JSON Schema
# that has another title, with the same keys.
GONE = {
    *("file history.sqlite: metrics", "file history.sqlite: runs"),
    *("key threshold.max", "key threshold.min", "key threshold.value"),
}


def lines(path: Path) -> set[str]:
    return set(path.read_text("utf-8").splitlines())


@pytest.fixture(scope="module")
def present() -> set[str]:
    return set(public_names())


@pytest.mark.full
def test_no_public_name_goes_without_a_warning_for_a_version(present: set[str]) -> None:
    gone = lines(LIST) - present
    assert gone == set(), f"{PAGE.name} says how a name may go; then: {COMMAND}"


def test_a_new_public_name_is_on_the_list(present: set[str]) -> None:
    assert present - lines(LIST) == set(), f"it is a promise ({PAGE.name}); then: {COMMAND}"


def test_what_0_1_0_had_is_there(present: set[str]) -> None:
    assert lines(BEFORE) - present == GONE


def test_page_names_every_kind_on_the_list() -> None:
    """A kind is one word, or two as ``metric option``."""
    two = "metric option|document format|judge provider|embedding provider"
    kinds = {re.match(rf"({two}|\w+) ", line)[1] for line in lines(LIST)}  # type: ignore[index]
    cells = re.findall(r"^\| ((?:`[\w ]+`(?:, )?)+) \|", PAGE.read_text("utf-8"), re.MULTILINE)
    said = {name for cell in cells for name in re.findall(r"`([\w ]+)`", cell)}
    assert kinds <= said


def test_pages_name_everything_that_can_be_imported() -> None:
    python = (DOCS / "reference" / "python.md").read_text("utf-8")
    exported = set(pytest_rageval.__all__) - {"__version__"}
    assert exported <= set(re.findall(r"\w+", python))
    page = PAGE.read_text("utf-8")
    for module, names in SUBMODULES.items():
        assert f"`pytest_rageval.{module}`" in page
        assert [name for name in names if f"`{name}`" not in page] == []


def test_page_of_exit_status_has_every_number_of_pytest() -> None:
    """Older versions of pytest have fewer."""
    page = (DOCS / "reference" / "exit-status.md").read_text("utf-8")
    found = {int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    assert set(map(int, pytest.ExitCode)) <= found
    assert found == set(range(7))


def test_one_version_is_named_everywhere() -> None:
    """The newest of the changes is the package's; pages and the citation name no other."""
    root, version = DOCS.parent, pytest_rageval.__version__
    changes = (root / "CHANGELOG.md").read_text("utf-8")
    assert re.findall(r"^## \[(\d.*?)\]", changes, re.MULTILINE)[0] == version
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text("utf-8")
    pages = "".join(page.read_text("utf-8") for page in (DOCS / "how-to").glob("*.md"))
    assert set(re.findall(r"(?:@v|rev: v|rageval-|\]==)(\d+\.\d+\.\d+)", pages)) == {version}
