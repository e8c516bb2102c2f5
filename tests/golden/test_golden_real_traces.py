"""A30: files that tracing tools really wrote are read as what was asked, found and answered.

They are outside of the repository: ``shared/data/real-exports``.
"""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from others_data import others_data

from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.model import Case, InvalidRow, Sample
from pytest_rageval.scenario.data_specs import DatasetSpec

EXPORTS: Final = others_data("data/real-exports")

CONTEXTS, IDS, MODEL, TOKENS = "contexts", "retrieved_ids", "model", "tokens"
ALL: Final = frozenset({CONTEXTS, IDS, MODEL, TOKENS})
NO_TOKENS: Final = ALL - {TOKENS}
ROOTS: Final[frozenset[str]] = frozenset()

FILES: Final[dict[str, tuple[int, frozenset[str]]]] = {
    **{
        f"phoenix/hand-a{end}": (12, ALL)
        for end in (".csv", ".jsonl", ".parquet", "-client-spans.json", "-rest-spans.json")
    },
    "phoenix/hand-a-rest-otlpv1.json": (12, ALL),
    "phoenix/hand-a-roots.csv": (12, ROOTS),
    **{
        f"phoenix/{tool}-a{end}": (12, has)
        for tool, has in (("lc", ALL), ("li", NO_TOKENS))
        for end in (".csv", ".jsonl", ".parquet", "-client-spans.json", "-rest-spans.json")
    },
    **{
        f"phoenix/{tool}-a-few{end}": (count, has)
        for tool, count, has in (("lc", 3, ALL), ("li", 4, NO_TOKENS))
        for end in (".csv", ".json", ".jsonl", "-client-spans.json", "-rest-spans.json")
    },
    "phoenix/lc-a-few-rest-otlpv1.json": (3, ALL),
    "phoenix/li-a-few-rest-otlpv1.json": (4, NO_TOKENS),
    "phoenix/lc-a-rest-otlpv1.json": (12, ALL),
    "phoenix/li-a-rest-otlpv1.json": (12, NO_TOKENS),
    **{
        f"otel/{tool}-a-{end}": (4, ALL)
        for tool in ("hand", "ollm")
        for end in ("console.json", "console.jsonl", "otlp-collector.jsonl", "otlp-protobuf.json")
    },
    **{
        f"mlflow/{kind}-a{end}": (count, ALL)
        for kind, count in (("manual", 6), ("langchain", 3))
        for end in (".csv", ".json", ".jsonl", "-to_dict.json", "-to_json.jsonl")
    },
    "mlflow/eval-a.csv": (12, ROOTS),
    "mlflow/eval-a.json": (12, ROOTS),
    **{
        f"langfuse-langsmith/langsmith-a-{end}": (4, ALL)
        for end in ("runs.csv", "runs.json", "runs.jsonl", "sent-parts.json")
    },
    "langfuse-langsmith/langsmith-a-root-runs.csv": (4, frozenset({CONTEXTS})),
    "trulens/records-otel-a.csv": (8, ROOTS),
    "trulens/records-otel-a.jsonl": (8, ROOTS),
}
"""How many traces a file has, and what of each trace."""


def _json(name: str) -> Any:
    return json.loads((EXPORTS / name).read_text("utf-8"))


def _cases(name: str) -> list[Case]:
    path = EXPORTS / name
    return [*load_dataset(DatasetSpec(path=path.name), path.parent, "s.yaml:2").cases]


@pytest.fixture(scope="module")
def truth() -> dict[str, dict[str, Any]]:
    """Return what is right, by question; ``retrieved`` as one file says it word for word."""
    found = {row["question"]: row for row in _json("content.json")["rows"]}
    for span in _json("phoenix/hand-a-rest-spans.json")["data"]:
        if span["span_kind"] == "RETRIEVER":
            attributes = span["attributes"]
            found[attributes["input.value"]]["retrieved"] = tuple(
                (attributes[f"retrieval.documents.{at}.document.{part}"])
                for at in (0, 1)
                for part in ("id", "content")
            )
    return found


@pytest.mark.full
@pytest.mark.parametrize("name", FILES)
def test_a_real_export_is_read_rightly(name: str, truth: dict[str, dict[str, Any]]) -> None:
    count, has = FILES[name]
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    cases = _cases(name)
    failed = [case for case in cases if isinstance(case, InvalidRow)]
    assert len(cases) == count
    assert len({case.question for case in cases}) == count
    # The model of one trace of Phoenix's did not answer.
    assert len(failed) == ("hand" in name and "phoenix" in name)
    assert all("the model did not answer" in case.reason for case in failed)
    for case in cases:
        if isinstance(case, Sample):
            _check(case, truth[case.question or ""], has)


def _check(case: Sample, right: dict[str, Any], has: frozenset[str]) -> None:
    assert case.answer == right["answer"]
    retrieved = right["retrieved"]
    assert case.contexts == (retrieved[1::2] if CONTEXTS in has else None)
    assert case.retrieved_ids == (retrieved[0::2] if IDS in has else None)
    assert case.metadata.get("model") == ("harbour-lm-1" if MODEL in has else None)
    tokens = [case.metadata.get(f"{kind}_tokens") for kind in ("prompt", "completion")]
    if TOKENS in has:
        # The made-up model counts four letters as a token.
        assert 37 <= tokens[0] <= 85, tokens
        assert tokens[1] == max(1, len(right["answer"]) // 4)
    else:
        assert tokens == [None, None]
    assert 0 < case.metadata["latency_ms"] < 2000
    assert case.references is None or set(case.references) <= set(right["references"])


@pytest.mark.parametrize("name", ["lc-a-few-rest-traces.json", "li-a-few-rest-traces.json"])
def test_a_list_of_traces_without_texts_is_refused_with_what_to_export(name: str) -> None:
    with pytest.raises(Exception, match="export the spans with their attributes"):
        _cases(f"phoenix/{name}")


def test_scores_and_expected_answers_of_mlflow_are_columns() -> None:
    cases = _cases("mlflow/eval-a.csv")
    assert all(isinstance(case, Sample) and case.references for case in cases)
    scores = [case.metadata["score_holds_reference"] for case in cases]
    assert scores.count(True) == 8  # as the file's own column says


def test_other_files_of_these_tools_are_no_traces() -> None:
    """Data sets, experiments, annotations and results have ids of traces, too."""
    others = [
        path
        for path in sorted(EXPORTS.glob("*/*"))
        if f"{path.parent.name}/{path.name}" not in FILES and "rest-traces" not in path.name
    ]
    assert others
    for path in others:
        try:
            columns = load_dataset(DatasetSpec(path=path.name), path.parent, "s.yaml:2").columns
        except Exception:  # noqa: BLE001  (some are no data)
            continue
        assert "trace_name" not in columns, path
