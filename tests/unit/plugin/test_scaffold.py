"""[E14] --rag-init and --rag-schema: the files that are written, and what is printed."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from pytest_rageval import evaluate
from pytest_rageval.plugin.scaffold import print_schema, schema_text, write_scaffold

pytestmark = pytest.mark.full

NAMES = {"quickstart.rageval.yaml", "quickstart.jsonl", "rageval.schema.json", "pytest.ini"}


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def test_it_writes_a_scenario_with_rows_and_a_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """[E14] Three rows, comments for who sees a scenario for the first time; all files are named.

    The folder is made where there is none. The scenario is green.
    """
    folder = tmp_path / "evals" / "bot"
    assert write_scaffold(folder) == 0
    assert names(folder) == NAMES
    rows = (folder / "quickstart.jsonl").read_text("utf-8").splitlines()
    assert len([json.loads(row) for row in rows]) == 3
    lines = (folder / "quickstart.rageval.yaml").read_text("utf-8").splitlines()
    assert sum(line.lstrip().startswith("#") for line in lines) >= 5
    said = capsys.readouterr().out
    assert all(f"wrote {folder / name}" in said for name in NAMES)
    assert f"run it:  pytest {folder / 'quickstart.rageval.yaml'}" in said
    result = evaluate(folder / "quickstart.rageval.yaml")
    assert {gate.outcome for gate in result.gates} == {"passed"}


def test_it_names_files_as_they_are_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """[E22] From the folder of the command, quoted for the shell."""
    monkeypatch.chdir(tmp_path)
    write_scaffold(tmp_path / "my evals")
    said = capsys.readouterr().out
    assert "wrote my evals/quickstart.jsonl\n" in said
    assert "run it:  pytest 'my evals/quickstart.rageval.yaml'\n" in said


@pytest.mark.parametrize("name", ["quickstart.rageval.yaml", "quickstart.jsonl"])
def test_it_overwrites_nothing(tmp_path: Path, name: str) -> None:
    """[E14, E12] Nothing else is written either."""
    (tmp_path / name).write_text("mine", "utf-8")
    with pytest.raises(pytest.UsageError, match=f"--rag-init: .* already has {name}"):
        write_scaffold(tmp_path)
    assert names(tmp_path) == {name}
    assert (tmp_path / name).read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[tool.pytest.ini_options]\n"),
        ("tox.ini", "[pytest]\n"),
        ("setup.cfg", "[tool:pytest]\n"),
        ("pytest.ini", "[pytest]\n"),
    ],
)
def test_a_configuration_is_left_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    """[E14] No second one, and not a byte of it changed; what may be added to it is said."""
    (tmp_path / name).write_text(text, "utf-8")
    assert write_scaffold(tmp_path) == 0
    assert (tmp_path / name).read_text("utf-8") == text
    assert names(tmp_path) == NAMES - {"pytest.ini"} | {name}
    said = capsys.readouterr().out
    assert f"{name} already exists" in said
    assert "    addopts = -p no:langsmith_plugin" in said


def test_a_folder_that_cannot_be_made_is_wrong_use(tmp_path: Path) -> None:
    """[E12] A file is in the way."""
    (tmp_path / "taken").write_text("a file", "utf-8")
    with pytest.raises(pytest.UsageError, match="--rag-init: "):
        write_scaffold(tmp_path / "taken" / "here")


def test_any_terminal_can_show_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[E14] One that knows ASCII only, of a folder with a Chinese name; the schema stays JSON."""
    for write in (print_schema, lambda: write_scaffold(tmp_path / "评测")):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", out)
        assert write() == 0
        out.seek(0)
        text = out.read()
        if write is print_schema:
            assert "properties" in json.loads(text)
        else:
            assert r"\u8bc4\u6d4b" in text
    assert names(tmp_path / "评测") == NAMES


def test_the_schema_is_of_the_keys_of_a_scenario() -> None:
    """[E14] Draft 2020-12; also keys of other systems, none of them required; no dead link."""
    schema = json.loads(schema_text())
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)
    assert schema["required"] == []
    assert set(schema["properties"]) >= {
        "name", "scenario_name", "description", "dataset", "metrics", "metric_weights",
        "doc_weights", "thresholds", "gates", "tolerate", "bands", "output_dir", "save_path",
        "skip", "xfail", "corpus", "top_k", "match", "compare", "qrels_path", "run_path",
        "missing_queries", "ir_metrics", "ks",
    }  # fmt: skip
    named = set(re.findall(r'"\$ref": "([^"]+)"', schema_text()))
    assert named
    assert named <= {f"#/$defs/{name}" for name in schema["$defs"]}
