"""What a name or pattern of --rag-scenario means."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.plugin.names import matching


def test_a_pattern_means_the_files_that_match_sorted_and_no_folder(tmp_path: Path) -> None:
    """[U3] Hidden folders, where runs are kept, are left out."""
    for name in ("b.yaml", "eval/a.yaml", "eval/deep/c.yaml", ".rageval/s.yaml", "d.yaml/x.yml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert matching("**/*.yaml", tmp_path) == ["b.yaml", "eval/a.yaml", "eval/deep/c.yaml"]
    assert matching(f"{tmp_path}/eval/*.yaml", Path("/")) == [f"{tmp_path}/eval/a.yaml"]
    assert matching("eval/*.json", tmp_path) == []


def test_a_name_means_itself_also_where_it_looks_like_a_pattern(tmp_path: Path) -> None:
    """[U3] ``bot[1].yaml`` as a pattern means bot1.yaml."""
    (tmp_path / "bot1.yaml").touch()
    assert matching("bot[1].yaml", tmp_path) == ["bot1.yaml"]
    (tmp_path / "bot[1].yaml").touch()
    assert matching("bot[1].yaml", tmp_path) == ["bot[1].yaml"]
    assert matching("none.yaml", tmp_path) == ["none.yaml"]
