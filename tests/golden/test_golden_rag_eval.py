"""A18: cells of contexts are read as the base of rag_eval reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval import evaluate
from pytest_rageval.datasets.cells import parse_contexts
from pytest_rageval.results.layout import sample_dict

# It keeps the inner lists as their Python text; a context is a text, so here they are flattened.
FLATTENED = {"json_nested": ["a", "b"]}


def test_contexts_are_parsed_as_in_the_base_of_rag_eval(reference: Callable[[str], Any]) -> None:
    """A18: a JSON list, a Python literal list, paragraphs, or one text."""
    cases = reference("rag_eval_base.json")["parse_contexts"]
    ours = {case["id"]: list(parse_contexts(case["input"])) for case in cases}
    theirs = {case["id"]: case["parse_contexts"] for case in cases} | FLATTENED
    assert len(cases) == 14
    assert ours == theirs


def test_a_blank_cell_is_missing_where_the_base_reads_nan(
    reference: Callable[[str], Any], tmp_path: Path
) -> None:
    """A19: its table has six rows; a blank answer or reference makes a row invalid, not "nan"."""
    figures = reference("rag_eval_base.json")["normalize_csv"]
    (tmp_path / "rows.csv").write_text(figures["csv"], "utf-8")
    (tmp_path / "s.yaml").write_text("name: s\ndataset: rows.csv\nmetrics: [em]\n")
    result = evaluate(tmp_path / "s.yaml")
    found = {sample.sample_id: sample for sample in result.samples}
    # The fourth row has no sample_id; it is called after its place in the file.
    assert list(found) == ["s1", "s2", "s3", "sample-4", "s5", "007"]
    assert found["s2"].invalid is not None
    assert "answer" in found["s2"].invalid
    assert found["s5"].invalid is not None
    assert "references" in found["s5"].invalid
    assert found["s3"].question is None
    assert found["007"].doc_name is None
    assert "nan" not in json.dumps([sample_dict(sample) for sample in result.samples], default=dict)
    assert found["s1"].contexts == ("c",)
    assert found["s1"].doc_name == "a.pdf"


@pytest.mark.parametrize("id_", ["empty_metrics", "missing_dataset", "bad_mode", "batch0"])
def test_what_the_base_refuses_is_refused(
    reference: Callable[[str], Any], tmp_path: Path, id_: str
) -> None:
    """A23: the errors of the base schema are errors here too."""
    from pytest_rageval import UserError

    assert "error" in reference("rag_eval_base.json")["scenario_schema"][id_]
    (tmp_path / "x.jsonl").write_text('{"answer": "a", "reference": "a"}\n')
    keys: dict[str, Any] = {
        "scenario_name": "s",
        "mode": "offline",
        "dataset": "x.jsonl",
        "judge_model": "j",
        "embedding_model": "e",
        "metrics": ["em"],
        "output_dir": "out",
    }
    evaluate(_written(tmp_path, keys))
    broken: dict[str, dict[str, Any]] = {
        "empty_metrics": {"metrics": []},
        "missing_dataset": {"dataset": None},
        "bad_mode": {"mode": "x"},
        "batch0": {"runtime": {"batch_size": 0}},
    }
    with pytest.raises(UserError):
        evaluate(_written(tmp_path, {**keys, **broken[id_]}))


def _written(folder: Path, keys: dict[str, Any]) -> Path:
    path = folder / "s.yaml"
    path.write_text(json.dumps(keys), "utf-8")
    return path
