"""W2, F10, W8: what the messages propose for odd data, obeyed to the letter, inflates no figure.

Each data set is run, and the first proposal of the message is followed as it is written, until it
runs or nothing is proposed. The true figure is given with each: None where only the user can say
which column is which, so that it must not run.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from others_data import others_data

from pytest_rageval import UserError, evaluate

_MOST = 6


@dataclass
class Odd:
    """A data set, a metric, and the true mean of the metric."""

    rows: Sequence[Mapping[str, Any]]
    true: float | None
    metric: str = "em"
    key_map: Mapping[str, str] = field(default_factory=dict)
    suffix: str = "jsonl"
    encoding: str = "utf-8"
    under: str | None = None
    beside: str | None = None


def _qa(question: str, answer: str, gold: str, **more: Any) -> list[dict[str, Any]]:
    """Two rows of which one is right: em 0.5."""
    return [
        {question: "2 + 2?", answer: "4", gold: "4", **more},
        {question: "2 + 3?", answer: "6", gold: "5", **more},
    ]


def _search(found: str, gold: str, **more: Any) -> list[dict[str, Any]]:
    """Two searches of which one has the judged document: hit_rate@1 0.5."""
    return [
        {"question": "a?", "answer": "x", found: ["d1"], gold: ["d1"], **more},
        {"question": "b?", "answer": "y", found: ["d2"], gold: ["d9"], **more},
    ]


def _passages(found: str, gold: str, **more: Any) -> list[dict[str, Any]]:
    """The same two searches, with texts in place of ids."""
    texts = dict.fromkeys((found, gold), "The passage {} is about what a refund costs.")
    return [
        {**row, **{name: [text.format(row[name][0])] for name, text in texts.items()}}
        for row in _search(found, gold, **more)
    ]


GOLD_ONLY = [{"question": "2 + 2?", "golden_answers": ["4"]}]
HIT = "hit_rate@1"

ODD = {
    # Answers and references under the names of other tools: em 0.5 each.
    "deepeval": Odd(_qa("input", "actual_output", "expected_output"), 0.5),
    "camel case": Odd(_qa("userInput", "modelAnswer", "referenceResponse"), 0.5),
    "spaces": Odd(_qa("User Query", "Generated Answer", "Expected Answer"), 0.5, suffix="csv"),
    "chinese": Odd(_qa("用户问题", "prediction", "标准答案"), 0.5, suffix="csv"),
    "pred and truth": Odd(_qa("prompt", "pred", "truth"), 0.5),
    "ideal": Odd(_qa("input", "output", "ideal"), 0.5),
    "misspelt": Odd(_qa("question", "anwser", "refernces"), 0.5),
    "misspelt reference": Odd(_qa("question", "answer", "referense"), 0.5),
    "tsv with titles": Odd(_qa("Prompt", "RAG answer", "Gold answer"), 0.5, suffix="tsv"),
    "more of a kind": Odd(
        _qa("input", "actual_output", "expected_output", prediction="4", truth="4"), None
    ),
    "odd characters": Odd(_qa("question", "Answer:", "reference #1: answer"), None),
    "a colon": Odd(_qa("question", "Answer:", "reference answer"), 0.5),
    "answer beside a prediction": Odd(_qa("question", "prediction", "answer"), None),
    # Only gold: no column may become the answer.
    "gold alone": Odd(GOLD_ONLY, None),
    "gold alone, acc": Odd(GOLD_ONLY, None, metric="acc"),
    "answers": Odd([{"question": "q", "answers": ["4"], "reference": "4"}], None),
    "ideal answer": Odd([{"question": "q", "ideal_answer": "4", "reference": "4"}], None),
    "true answer": Odd([{"question": "q", "true_answer": "4", "references": ["4"]}], None),
    "human answer": Odd([{"question": "q", "human_answer": "4", "references": ["4"]}], None),
    "expected answer": Odd([{"question": "q", "expected_answer": "4", "label": "4"}], None),
    "gold answers twice": Odd(
        [{"question": "q", "gold_answer": "4", "ground_truth_answer": "4"}], None
    ),
    "one column called answer": Odd([{"question": "q", "answer": "4"}], None),
    # A map that names no column, and one that took what a field would be found under.
    "mapped to nothing": Odd(
        [{"q": "q", "gold_answers": ["4"], "references": ["4"]}],
        None,
        key_map={"answer": "answers"},
    ),
    "a mapped column misspelt": Odd(
        _qa("question", "reply_text", "reference"), 0.5, key_map={"answer": "reply_txt"}
    ),
    "answer taken for references": Odd(
        _qa("question", "prediction", "answer"), 0.5, key_map={"references": "answer"}
    ),
    "answer taken, nothing left": Odd(
        [{"question": "q", "answer": "4"}], None, key_map={"references": "answer"}
    ),
    "one column for both": Odd(
        [{"question": "q", "answer": "4"}],
        None,
        key_map={"references": "answer", "answer": "answer"},
    ),
    "a path through a list": Odd(
        [{"out": {"answers": [{"t": "4"}]}, "references": ["4"]}],
        None,
        key_map={"answer": "out.answers.t"},
    ),
    # Searches: nDCG 1.0 came of one column that was proposed for both.
    "ids of both": Odd(_search("retrieved_doc_ids", "relevant_doc_ids"), 0.5, metric=HIT),
    "ids in camel case": Odd(_search("retrievedIds", "expectedUrls"), 0.5, metric=HIT),
    "gold ids alone": Odd([{"question": "q", "relevant_doc_ids": ["d1"]}], None, metric=HIT),
    "gold ids, misspelt": Odd([{"question": "q", "reference_id": ["d1"]}], None, metric="ndcg"),
    "one column of ids": Odd([{"question": "q", "doc_ids": ["d1"]}], None, metric="ndcg"),
    "one column of ids for both": Odd(
        [{"ids": ["d1"]}], None, metric="ndcg", key_map={"retrieved_ids": "ids", "qrels": "ids"}
    ),
    # Passages: hit_rate of contexts.
    "passages of both": Odd(
        _passages("retrieval_context", "golden_chunks", reference="x"), 0.5, metric=HIT
    ),
    "deepeval's gold context": Odd(
        _passages("retrieval_context", "context", expected_output="x"), None, metric=HIT
    ),
    "a gold context alone": Odd([{"question": "q", "context": ["c"]}], None, metric=HIT),
    "context in golden data": Odd(
        [{"question": "q", "answers": ["4"], "context": "c", "evidence": "c"}], None, metric=HIT
    ),
    # Files.
    "german": Odd(
        [{"frage": "a", "answer": "Größe", "reference": "Größe"},
         {"frage": "b", "answer": "Größe", "reference": "Höhe"}],
        0.5,
        suffix="csv",
        encoding="cp1252",
    ),
    "chinese bytes": Odd(
        [{"问题": "a", "answer": "北京的首都", "reference": "北京的首都"},
         {"问题": "b", "answer": "北京的首都", "reference": "上海"}],
        0.5,
        suffix="csv",
        encoding="gb18030",
    ),
    "rows under a key, beside ks": Odd(
        _qa("question", "answer", "reference"), 0.5, suffix="json", under="examples"
    ),
    "rows under a key, beside others": Odd(
        _qa("question", "answer", "reference"), 0.5, suffix="json", under="examples", beside="runs"
    ),
}  # fmt: skip


def _text(odd: Odd) -> str:
    if odd.suffix in ("csv", "tsv"):
        text = io.StringIO()
        delimiter = "\t" if odd.suffix == "tsv" else ","
        table = csv.DictWriter(text, list(odd.rows[0]), delimiter=delimiter)
        table.writeheader()
        table.writerows(odd.rows)
        return text.getvalue()
    if odd.suffix == "json":
        others = {odd.beside: [{"seconds": 3}]} if odd.beside else {}
        return json.dumps({"ks": [1, 5], odd.under: odd.rows, **others} if odd.under else odd.rows)
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in odd.rows)


def _obeyed(message: str, dataset: dict[str, Any]) -> dict[str, Any] | None:
    """Return the data set as a message says that it should be; None where it proposes nothing."""
    if found := re.search(r"write (dataset: \{.*\}\})", message):
        return dict(yaml.safe_load(found[1])["dataset"])
    if found := re.search(r"write (key_map: \{.*?\}) \(in 'dataset'", message):
        return {**dataset, **yaml.safe_load(found[1])}
    if found := re.search(r"column '(.*?)' for '(.*?)'\. Did you mean '(.*?)'\?", message):
        return {**dataset, "key_map": {**dataset["key_map"], found[2]: found[3]}}
    if found := re.search(r"set dataset\.encoding: (\S+?)( if that is right)?\)", message):
        return {**dataset, "encoding": found[1]}
    if found := re.search(r"write (rows_at: \S+) ", message):
        return {**dataset, **yaml.safe_load(found[1])}
    return None


def _figure(odd: Odd, folder: Path) -> float | None:
    """Return the mean that obeying ends with; None where it ends without one."""
    name = f"rows.{odd.suffix}"
    (folder / name).write_bytes(_text(odd).encode(odd.encoding))
    dataset: dict[str, Any] = {"path": name}
    if odd.key_map:
        dataset["key_map"] = dict(odd.key_map)
    short = not odd.key_map and odd.encoding == "utf-8"
    for _ in range(_MOST):
        written = name if short and dataset == {"path": name} else dataset
        scenario = {"name": "odd", "metrics": [odd.metric], "dataset": written}
        try:
            (summary,) = evaluate(scenario, folder=folder).metrics.values()
        except UserError as error:
            following = _obeyed(str(error), dataset)
        else:
            return summary.mean
        if following is None:
            return None
        dataset = following
    raise AssertionError(f"the hints lead in a circle: {dataset}")


@pytest.mark.full
@pytest.mark.parametrize("name", ODD)
def test_who_obeys_the_hints_gets_no_inflated_figure(name: str, tmp_path: Path) -> None:
    """W2, F10, W8."""
    assert _figure(ODD[name], tmp_path) == pytest.approx(ODD[name].true)


@pytest.mark.parametrize("name", ["clapnq/dev", "cmrc2018/dev_800", "nq-oracle/first_500"])
@pytest.mark.parametrize("metric", ["em", "hit_rate", "ndcg"])
def test_real_questions_with_gold_alone_get_no_figure(
    name: str, metric: str, tmp_path: Path
) -> None:
    """W2, F10: a system has yet to answer them."""
    assert _figure(Odd(_real(name), None, metric), tmp_path) is None


@pytest.mark.parametrize("name", ["evouna-nq/judged", "openqa-eval/judged_nq301"])
def test_real_answers_under_other_names_keep_their_figure(name: str, tmp_path: Path) -> None:
    """W2."""
    rows = _real(name)
    true = _figure(Odd(rows, None), tmp_path)
    others = {"answer": "Model Answer", "references": "goldAnswer", "question": "prompt"}
    renamed = [{others.get(key, key): value for key, value in row.items()} for row in rows]
    assert true is not None
    assert _figure(Odd(renamed, None), tmp_path) == true


def _real(name: str) -> list[dict[str, Any]]:
    path = others_data(f"data/{name}.jsonl")
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()[:40]]
