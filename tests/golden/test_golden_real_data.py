"""Real predictions: published and measured figures of OpenQA-eval, and other systems' formats."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from others_data import others_data

from pytest_rageval import evaluate
from pytest_rageval.model import SampleResult, ScenarioResult
from pytest_rageval.text.tokenize import normalize_squad

OPENQA_EVAL = others_data("data/openqa-eval")
OUTPUTS = OPENQA_EVAL / "original" / "model_outputs"
# Percentages of OpenQA-eval's README: EM, F1, share of answers that contain a reference.
OPENQA = {
    "NQ301_text-davinci-003_fewshot-n64": (301, 31.89, 48.97, 47.18),
    "NQ301_text-davinci-003_zeroshot": (301, 12.62, 27.54, 44.19),
    "NQ_ANCE-plus_FiD": (3610, 47.29, 54.84, 50.25),
    "NQ_Contriever_FiD": (3610, 47.87, 55.41, 51.16),
    "NQ_DPR": (3610, 40.91, 47.78, 44.54),
    "NQ_EMDR2": (3610, 51.47, 59.46, 55.35),
    "NQ_EviGen": (3610, 49.83, 56.95, 52.6),
    "NQ_FiD-KD": (3610, 49.56, 57.37, 52.83),
    "NQ_FiD": (3610, 46.48, 53.69, 49.42),
    "NQ_GAR-plus_FiD": (3610, 49.78, 57.43, 52.88),
    "NQ_R2D2": (3610, 52.35, 59.03, 54.99),
    "NQ_Rocketv2_FiD": (3610, 47.7, 55.57, 50.91),
}
CHECKED = ("NQ301_text-davinci-003_zeroshot", "NQ_ANCE-plus_FiD", "NQ_FiD-KD")
OTHERS = [pytest.param(name, marks=pytest.mark.full) for name in OPENQA if name not in CHECKED]
# In these files ``answer`` holds the golden answers and ``prediction`` what the system said.
OPENQA_KEY_MAP = {"answer": "prediction", "references": "answer"}
SQUAD = {"normalizer": "squad", "tokenizer": "word"}


def _evaluate(folder: Path, data: Path, metrics: list[Any], **dataset: Any) -> ScenarioResult:
    scenario = {"name": "s", "dataset": {"path": str(data), **dataset}, "metrics": metrics}
    (folder / "s.yaml").write_text(yaml.safe_dump(scenario), "utf-8")
    return evaluate(folder / "s.yaml")


@pytest.mark.full
@pytest.mark.parametrize("system", [*CHECKED, *OTHERS])
def test_openqa_figures_over_all_rows(
    score: Callable[..., float], tmp_path: Path, system: str
) -> None:
    """D1, D3: EM, F1 and containment by SQuAD's definition, on all rows, to two decimals.

    The figures were measured with a definition that differs from SQuAD's where a normalised text
    is empty: no overlap counts for F1, and an empty reference is contained in nothing.
    """
    data = _with_text_answers(OUTPUTS / f"{system}.jsonl")
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in data), "utf-8")
    metrics = [{"em": SQUAD}, {"f1": SQUAD}, {"acc": SQUAD}]
    result = _evaluate(tmp_path, path, metrics, key_map=OPENQA_KEY_MAP)
    rows, em, f1, contains = OPENQA[system]
    assert result.counts.scored == rows

    def without_empty_texts(metric: str, sample: SampleResult) -> float:
        answer, references = sample.answer or "", sample.references or ()
        kept = [text for text in references if normalize_squad(text)]
        if len(kept) == len(references) and normalize_squad(answer):
            return sample.scores[metric] or 0.0
        if not kept or not normalize_squad(answer):
            return 0.0
        return score(metric, answer, kept, **SQUAD)

    means = [
        result.metrics["em"].mean or 0.0,
        *(
            math.fsum(without_empty_texts(metric, sample) for sample in result.samples) / rows
            for metric in ("f1", "acc")
        ),
    ]
    # Two decimals are given, so half a unit of the second.
    expected = pytest.approx([em, f1, contains], abs=0.005 + 1e-9, rel=0)
    assert [100 * mean for mean in means] == expected
    changed = sum(
        without_empty_texts(metric, sample) != sample.scores[metric]
        for sample in result.samples
        for metric in ("f1", "acc")
    )
    assert changed <= 10, "the account of empty texts must stay an account of a few rows"


def _with_text_answers(path: Path) -> list[dict[str, Any]]:
    """Return the rows; in the few-shot file 16 predictions are lists, measured as one text."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row in rows:
        if isinstance(row["prediction"], list):
            row["prediction"] = ", ".join(row["prediction"])
    return rows


def test_an_answer_that_is_a_list_is_an_invalid_row_of_real_data(tmp_path: Path) -> None:
    """A19: 16 of 301 few-shot predictions are lists: they say so, and the rest is scored."""
    data = OUTPUTS / "NQ301_text-davinci-003_fewshot-n64.jsonl"
    result = _evaluate(tmp_path, data, ["em"], key_map=OPENQA_KEY_MAP)
    assert (result.counts.scored, result.counts.invalid) == (285, 16)
    reasons = {sample.invalid for sample in result.samples if sample.invalid is not None}
    assert reasons == {"answer must be text, found a list"}


def test_the_measured_figures_are_those_of_the_readme() -> None:
    readme = (OPENQA_EVAL / "README.md").read_text("utf-8")
    for system, (rows, em, f1, contains) in OPENQA.items():
        block = readme.split(f'"{system}": {{')[1].split("}")[0]
        figures = {"n": rows, "EM": em, "F1": f1, "contains": contains}
        assert json.loads("{" + block + "}") == figures


def test_without_a_key_map_the_golden_list_is_no_answer(tmp_path: Path) -> None:
    """D7: the trap of these files is refused with a message, not scored."""
    from pytest_rageval import UserError

    data = OUTPUTS / "NQ_DPR.jsonl"
    with pytest.raises(UserError, match="answer must be text, found a list"):
        _evaluate(tmp_path, data, ["em"], limit=10)


def test_the_example_of_ultrarag_has_our_field_names(tmp_path: Path) -> None:
    """A17: ``golden_answers`` are references without a key_map; numbers as ids are text."""
    source = others_data("data/nq-format-samples/original/ultrarag_sample_nq_10.jsonl")
    rows = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    answered = [{**row, "pred_answer": row["golden_answers"][-1]} for row in rows]
    data = tmp_path / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in answered), "utf-8")
    result = _evaluate(tmp_path, data, ["em"])
    assert [sample.sample_id for sample in result.samples] == [str(n) for n in range(10)]
    assert [sample.references for sample in result.samples] == [
        tuple(row["golden_answers"]) for row in rows
    ]
    assert result.metrics["em"].mean == 1.0
    assert result.samples[0].metadata == {"meta_data": {}}


def test_the_example_of_flashrag_has_our_field_names(tmp_path: Path) -> None:
    """A17: FlashRAG's rows, their question taken for the answer to have one."""
    data = others_data("data/nq-format-samples/original/flashrag_nq_test.jsonl")
    lines = data.read_text("utf-8").splitlines()
    result = _evaluate(tmp_path, data, ["em"], key_map={"answer": "question"})
    assert len(result.samples) == len(lines)
    first = result.samples[0]
    assert (first.sample_id, first.references) == ("test_0", ("Wilhelm Conrad Röntgen",))
    assert first.answer == "who got the first nobel prize in physics"


@pytest.mark.full
def test_rouge_is_the_same_to_the_last_bit_with_both_backends(
    score: Callable[..., float],
    clear_rouge_backend: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """D1: the fast package is no other definition: 2,000 real pairs, three measures each."""
    pytest.importorskip("rouge_score_rs")
    from pytest_rageval import extras

    pairs = []
    for name in ("NQ_DPR", "NQ301_text-davinci-003_zeroshot", "NQ_FiD"):
        path = OUTPUTS / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        pairs += [(row["prediction"], row["answer"]) for row in rows][:850]
    pairs = pairs[:2000]
    assert len(pairs) == 2000

    def all_scores() -> list[float]:
        clear_rouge_backend()
        return [
            score(metric, answer, references, tokenizer="word")
            for metric in ("rouge-1", "rouge-2", "rouge-l")
            for answer, references in pairs
        ]

    fast = all_scores()
    installed = extras.installed
    monkeypatch.setattr(
        extras, "installed", lambda module: module != "rouge_score_rs" and installed(module)
    )
    plain = all_scores()
    assert _backend_in_use() == "rouge_score"
    assert [one.hex() for one in fast] == [one.hex() for one in plain]
    assert sum(0 < one < 1 for one in fast) > 500


def _backend_in_use() -> str:
    from pytest_rageval.metrics import rouge

    return type(rouge._scorer("rouge1")).__module__.partition(".")[0]
