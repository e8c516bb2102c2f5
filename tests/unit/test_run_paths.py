"""E15: where runs and saved runs are."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

import pytest

from pytest_rageval.run_paths import (
    RunPaths,
    folder_name,
    is_path,
    plain_folder_name,
    run_folder,
)

ROOT = Path("/project")


def test_runs_are_below_the_root_unless_told_otherwise() -> None:
    """A14: the command line before the scenario's own ``output_dir``."""
    assert RunPaths(ROOT).run_base(None) == ROOT / ".rageval"
    assert RunPaths(ROOT).run_base("out") == ROOT / "out"
    assert RunPaths(ROOT, output=Path("/else")).run_base("out") == Path("/else")


def test_saved_runs_are_beside_the_runs_of_their_scenario() -> None:
    """E15."""
    run_paths = RunPaths(ROOT)
    assert run_paths.baseline_file("main", "qa", None) == ROOT / ".rageval/qa/baselines/main.json"
    assert run_paths.baseline_file("main", "qa", "out") == ROOT / "out/qa/baselines/main.json"


def test_saved_runs_may_have_a_folder_of_their_own() -> None:
    """E15: one that is kept in version control, by scenario."""
    run_paths = RunPaths(ROOT, output=Path("/else"), baselines=ROOT / "kept")
    assert (
        run_paths.baseline_file("main", "客服/问答", "out")
        == ROOT / "kept" / folder_name("客服/问答") / "main.json"
    )


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("main", ".rageval/qa/baselines/main.json"),
        ("release 1.2", ".rageval/qa/baselines/release 1.2.json"),
        ("基线::一", f".rageval/qa/baselines/{folder_name('基线::一')}.json"),
        ("..", f".rageval/qa/baselines/{folder_name('..')}.json"),
        ("kept/main.json", "kept/main.json"),
        ("main.json", "main.json"),
        ("./main", "./main"),
    ],
)
def test_a_name_is_a_file_among_the_saved_runs_and_a_path_is_itself(name: str, file: str) -> None:
    """E15."""
    assert RunPaths(ROOT).baseline_file(name, "qa", None) == ROOT / file


def test_an_absolute_path_is_itself() -> None:
    path = Path("/else/main.json")
    assert RunPaths(ROOT).baseline_file(str(path), "qa", None) == path


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("main", False),
        ("main.v2", False),
        ("基线", False),
        ("main.json", True),
        ("a/main", True),
        ("a\\main", True),
        ("/main", True),
    ],
)
def test_what_is_a_path(name: str, expected: bool) -> None:
    assert is_path(name) is expected


@pytest.mark.parametrize(
    ("saving", "name", "expected"),
    [
        (None, "main", False),
        ("main", "main", True),
        ("main", "other", False),
        ("/project/kept/main.json", "kept/main.json", True),
        ("kept/main.json", "/project/kept/main.json", True),
        ("/else/main.json", "main.json", False),
        ("main.json", "main", False),
    ],
)
def test_a_run_that_is_about_to_be_saved_is_known(
    saving: str | None, name: str, expected: bool
) -> None:
    """E15: its baseline need not be there yet."""
    assert RunPaths(ROOT, saving=saving).saves(name) is expected


def test_messages_name_paths_as_short_as_they_can() -> None:
    assert RunPaths(ROOT).shown(ROOT / "a" / "b.json") == "a/b.json"
    assert RunPaths(ROOT).shown(Path("/else/b.json")) == "/else/b.json"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("support-bot", "support-bot"),
        ('a/b\\c:d*e?f"g<h>i|j', "a_b_c_d_e_f_g_h_i_j"),
        ("tab\there", "tab_here"),
        (" .hidden. ", "hidden"),
        ("", "scenario"),
        ("...", "scenario"),
        ("cafe\u0301", "caf\u00e9"),
        ("x" * 300, "x" * 200),
        # Three bytes each: no half characters.
        ("文" * 100, "文" * 66),
        ("\ud800", "?".replace("?", "_")),
    ],
)
def test_any_name_is_a_folder_on_any_system(name: str, expected: str) -> None:
    """G11: what had to be changed ends in a digest of the name."""
    assert plain_folder_name(name) == expected
    found = folder_name(name)
    is_kept = unicodedata.normalize("NFC", name) == expected
    digest = "" if is_kept else "-[0-9a-f]{6}"
    assert re.fullmatch(re.escape(expected) + digest, found)


@pytest.mark.parametrize("names", [("a/b", "a:b", "a_b"), ("x" * 300, "x" * 301), ("...", "")])
def test_names_that_differ_are_folders_that_differ(names: tuple[str, ...]) -> None:
    """G11."""
    assert len({folder_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    "name",
    ["CON", "nul.txt", "com1", "LPT9", "history.csv", "history.sqlite-wal", "CACHEDIR.TAG"],
)
def test_a_name_that_is_taken_gets_a_folder_of_its_own(name: str) -> None:
    """G11: by Windows, or by a file of ours."""
    assert re.fullmatch(re.escape(name) + "-[0-9a-f]{6}", folder_name(name))


def test_a_saved_run_of_an_earlier_version_is_found(tmp_path: Path) -> None:
    """G11: its scenario had the plain folder then."""
    run_paths = RunPaths(tmp_path)
    fresh = run_paths.baseline_file("main", "a/b", None)
    assert fresh.parent.parent.name == folder_name("a/b")
    earlier = tmp_path / ".rageval" / "a_b" / "baselines" / "main.json"
    earlier.parent.mkdir(parents=True)
    earlier.touch()
    assert run_paths.known_baseline_file("main", "a/b", None) == earlier
    assert run_paths.baseline_file("main", "a/b", None) == fresh  # to write to


def test_runs_lie_at_most_two_folders_deep() -> None:
    """[E20] The history looks no further; a name may hold ``::`` without naming a variant."""
    assert run_folder("bot::dense") == Path("bot/dense")
    assert len(run_folder("a::b::c").parts) == 2
    assert run_folder("a::b::c") != run_folder("a::b__c")


def test_a_baseline_of_a_name_with_colons_is_found_where_it_was(tmp_path: Path) -> None:
    """Earlier versions kept ``a::b`` in one folder, not in the folder b of a."""
    run_paths = RunPaths(tmp_path)
    earlier = tmp_path / ".rageval" / folder_name("a::b") / "baselines" / "main.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")
    assert run_paths.known_baseline_file("main", "a::b", None) == earlier
    fresh = run_paths.baseline_file("main", "a::b", None)
    fresh.parent.mkdir(parents=True)
    fresh.write_text("{}")
    assert run_paths.known_baseline_file("main", "a::b", None) == fresh
