"""F12: control rows of our own and of users' files."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fake_judge import asked_by
from judged_scoring import input_of, metric
from scripted_models import ScriptedJudge, nli

from pytest_rageval import controls
from pytest_rageval.clients.base import Vector
from pytest_rageval.clients.errors import InvalidOutputError
from pytest_rageval.controls import (
    ControlRule,
    Language,
    built_in_rows,
    language_of,
    read_rows,
    row_problems,
)
from pytest_rageval.errors import ScenarioError
from pytest_rageval.metrics.base import METRIC_REGISTRY, MetricInfo, Models, missing_fields
from pytest_rageval.metrics.support.metric import SUPPORT_ITSELF
from pytest_rageval.model import Sample

USERS_OWN = {
    "rubric",
    "domain_specific_rubrics",
    "rubrics_score_with_reference",
    "instance_specific_rubrics",
}
"""Rubrics are what users write in them: rows of ours would not fit."""
JUDGED = [name for name in METRIC_REGISTRY.names() if METRIC_REGISTRY.get(name).info.asks]
OF_TABLE = {name for name in JUDGED if METRIC_REGISTRY.get(name).info.of_table}
"""Their prompt is one, and tested once: its rows are those of ``support``."""
WITH_ROWS = sorted(set(JUDGED) - USERS_OWN - OF_TABLE)
LANGUAGES: tuple[Language, ...] = ("en", "zh")

# A set is never edited, or one number would mean two sets. To change rows: add set_2, whose number
# comes first in SETS, and its digests here. A new metric is a new line, in the newest set.
FROZEN: dict[int, dict[str, str]] = {
    1: {
        "faithfulness": "357645b33439",
        "response_groundedness": "5b62692cb2b1",
        "answer_correctness": "6d530b81cc87",
        "factual_correctness": "625789c08375",
        "answer_accuracy": "6d530b81cc87",
        "must_satisfy": "95ddcd92d7e0",
        "answer_relevancy": "abb373e70db3",
        "llm_answer_relevancy": "abb373e70db3",
        "semantic_similarity": "537919c23416",
        "context_precision": "1f2729467a25",
        "context_utilization": "b73fbb98c1bd",
        "context_recall": "1f2729467a25",
        "context_entity_recall": "b4e64e18289e",
        "context_relevance": "bf545fd6b3b7",
        "context_similarity": "b96710a9a5b0",
        "noise_sensitivity": "adbc48f182ed",
        "noise_sensitivity_irrelevant": "43a396225e09",
        "summary_score": "1eeb84f04e36",
        "sql_semantic_equivalence": "a450236ddc04",
        "support": "357645b33439",
    }
}


def _said(sample: Sample) -> dict[str, Any]:
    """Return the fields that a sample has, but for its id."""
    named = [one.name for one in fields(Sample) if one.name not in ("id", "index", "row", "tags")]
    return {name: value for name in named if (value := getattr(sample, name))}


@pytest.mark.parametrize("name", WITH_ROWS)
def test_a_metric_that_a_model_scores_has_six_and_six_rows(name: str) -> None:
    """If it fails for a new metric: give it rows in the newest set, ``metrics.json``."""
    info = METRIC_REGISTRY.get(name).info
    for language in LANGUAGES:
        found = built_in_rows(name, language).rows
        assert [row.expect for row in found] == ["high", "low"] * 6
        assert not any(missing_fields(row.sample, info) for row in found)
        assert len({json.dumps(_said(row.sample), sort_keys=True) for row in found}) == 12
        for high, low in zip(found[0::2], found[1::2], strict=True):
            one, other = _said(high.sample), _said(low.sample)
            assert len([key for key in one if one[key] != other[key]]) == 1


def test_metrics_without_rows_have_an_empty_set() -> None:
    names = (*USERS_OWN, *OF_TABLE, "f1", "my_metric")
    assert not any(built_in_rows(name, "en").rows for name in names)


@pytest.mark.parametrize("number", controls.SETS)
def test_a_set_is_never_edited(number: int) -> None:
    found = {}
    for name in controls._recipes(number):
        said = [
            [row.expect, _said(row.sample)]
            for language in LANGUAGES
            for row in built_in_rows(name, language, number).rows
        ]
        text = json.dumps(said, ensure_ascii=False, sort_keys=True)
        found[name] = hashlib.sha256(text.encode()).hexdigest()[:12]
    assert found == FROZEN[number], "never edit a set of control rows: add a new one"


def test_the_language_is_that_of_most_of_the_data() -> None:
    chinese, english = Sample("a", question="谁浇水？"), Sample("b", question="Who?", answer="Me.")
    assert language_of([chinese, english]) == "zh"
    assert language_of([chinese, english, english, Sample("c")]) == "en"
    assert language_of([]) == language_of([Sample("c", question=" ")]) == "en"
    assert built_in_rows("faithfulness", "zh-CN") == built_in_rows("faithfulness", "zh")
    assert built_in_rows("faithfulness", "de") == built_in_rows("faithfulness", "en")


def test_no_row_repeats_an_example_of_the_prompts() -> None:
    """R5: what a judge copies from a prompt must not fit a row."""
    spec = importlib.util.find_spec("ragas")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("ragas is not installed")
    folder = Path(spec.submodule_search_locations[0]) / "metrics" / "collections"
    prompts = {run for file in folder.rglob("*.py") for run in _runs(file.read_text("utf-8"))}
    for topic in controls._topics(1, "en"):
        assert not prompts & {run for text in topic.values() for run in _runs(text)}


def _runs(text: str) -> Iterator[str]:
    words = re.findall(r"\w+", text.lower())
    return (" ".join(words[at : at + 5]) for at in range(len(words) - 4))


class Honest(ScriptedJudge):
    """A judge that knows what each text of the topics says, and says what follows from it."""

    def __init__(self, language: Language) -> None:
        replies = {
            "StatementGeneratorOutput": lambda p: {"statements": [input_of(p)["answer"]]},
            "ClaimDecompositionOutput": lambda p: {"claims": [input_of(p)["response"]]},
            "NLIStatementOutput": self._verdicts,
            "StatementFaithfulnessOutput": self._verdicts,
            "ClassificationWithReason": self._classified,
            "ContextPrecisionOutput": lambda p: {"reason": "", "verdict": self._holds(p)},
            "ContextRecallOutput": self._recalled,
            "EntitiesList": lambda p: {"entities": sorted(self.known(input_of(p)["text"]))},
            "AnswerRelevanceOutput": self._asked,
            "AnswerAccuracyOutput": lambda p: {"rating": 4 * self._agrees(p)},
            "ContextRelevanceOutput": lambda p: {"rating": 2 * self._answers(p)},
            "ResponseGroundednessOutput": lambda p: {"rating": 2 * self._follows(p)},
            "ExtractedKeyphrases": lambda p: {"keyphrases": ["a"]},
            "QuestionsGenerated": lambda p: {"questions": sorted(self.known(input_of(p)["text"]))},
            "AnswersGenerated": self._answered,
            "SQLEquivalenceOutput": self._equal,
            "rubric_score": self._rated,
        }
        super().__init__(replies)
        self.topics = controls._topics(1, language)
        self.facts: dict[str, set[str]] = {}
        for at, topic in enumerate(self.topics):
            for key, said in SAYS.items():
                self.facts[topic[key]] = {f"{at} {fact}" for fact in said.split()}

    def known(self, *texts: str) -> set[str]:
        found = [said for text in texts for one, said in self.facts.items() if one in text]
        return set().union(*found)

    def _supported(self, claim: str, *by: str) -> int:
        return int(self.known(claim) <= self.known(*by))

    def _verdicts(self, prompt: str) -> Any:
        asked = input_of(prompt)
        claims = asked["statements"]
        return nli(claims, [self._supported(one, asked["context"]) for one in claims])

    def _classified(self, prompt: str) -> Any:
        asked = input_of(prompt)
        answer, truth = asked["answer"][0], asked["ground_truth"][0]
        kinds = {"TP": [], "FP": [answer], "FN": [truth]}
        if self._supported(answer, truth):
            kinds = {"TP": [answer], "FP": [], "FN": []}
        return {
            kind: [{"statement": one, "reason": ""} for one in said] for kind, said in kinds.items()
        }

    def _holds(self, prompt: str) -> int:
        asked = input_of(prompt)
        return self._supported(asked["answer"], asked["context"])

    def _recalled(self, prompt: str) -> Any:
        one = {"statement": input_of(prompt)["answer"], "reason": ""}
        return {"classifications": [{**one, "attributed": self._holds(prompt)}]}

    def _asked(self, prompt: str) -> Any:
        said = self.known(input_of(prompt)["response"])
        question = next(
            topic["question"] for at, topic in enumerate(self.topics) if f"{at} it" in said
        )
        return {"question": question, "noncommittal": 0}

    def _agrees(self, prompt: str) -> int:
        asked = input_of(prompt)
        return self._supported(asked["user_answer"], asked["reference_answer"])

    def _answers(self, prompt: str) -> int:
        asked = input_of(prompt)
        return self._supported(asked["user_input"], asked["context"])

    def _follows(self, prompt: str) -> int:
        asked = input_of(prompt)
        return self._supported(asked["response"], asked["context"])

    def _answered(self, prompt: str) -> Any:
        asked = input_of(prompt)
        known = self.known(asked["summary"])
        return {"answers": [str(int(one in known)) for one in asked["questions"]]}

    def _equal(self, prompt: str) -> Any:
        asked = input_of(prompt)
        equal = self._supported(asked["response"], asked["reference"])
        words = {"response_explanation": "", "reference_explanation": ""}
        return {**words, "equivalent": bool(equal)}

    def _rated(self, prompt: str) -> Any:
        """The criterion, and the question, ask for one fact; the answer must say it."""
        answer = prompt.rpartition("<answer>")[2].partition("</answer>")[0]
        wanted = self.known(prompt.replace(answer, ""))
        highest = 1 if any(topic["criterion"] in prompt for topic in self.topics) else 5
        return {"reason": "said", "score": highest * int(wanted <= self.known(answer))}


SAYS = {
    "question": "it",
    "answer": "it",
    "reference": "it",
    "criterion": "it",
    "wrong": "other",
    "aside": "aside",
    "context": "it aside",
    "summary": "it aside",
    "sql": "sql",
    "same_sql": "sql",
    "other_sql": "other_sql",
}
"""What the texts of a topic say: a question counts as what it asks for."""


class ByTopic:
    """Texts that say the same are alike, others are as near as small models have them: 0.8."""

    def __init__(self, known: Callable[..., set[str]]) -> None:
        self._known = known

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        vector = array("d", [2.0] + [0.0] * 6)
        vector[1 + int(min(self._known(text))[0])] = 1.0
        return vector


@pytest.mark.parametrize("name", WITH_ROWS)
def test_an_honest_judge_passes_with_every_row(name: str) -> None:
    """Each row counts: not one slip is needed."""
    definition = METRIC_REGISTRY.get(name)
    if definition.info.extra == "ragas":
        pytest.importorskip("ragas")
    rule = ControlRule(definition.info.margin, definition.info.range)
    for language in LANGUAGES:
        honest = Honest(language)
        models = Models(honest, ByTopic(honest.known), language="en")
        scores = _scores(name, language, models)
        width = rule.range[1] - rule.range[0]
        assert min(scores["high"]) - max(scores["low"]) >= rule.margin * width
        assert rule.tells_apart(scores["high"], scores["low"])


def _scores(name: str, language: str, models: Models) -> Mapping[str, list[float]]:
    made = metric(name)

    async def ask() -> dict[str, list[float]]:
        found: dict[str, list[float]] = {"high": [], "low": []}
        for row in built_in_rows(name, language).rows:
            score = await made.ascore(row.sample, models)
            assert score.value is not None, score
            found[row.expect].append(score.value)
        return found

    return asyncio.run(ask())


def _verdict(level: str) -> Callable[[str], Any]:
    return lambda prompt: {"verdicts": [{"n": 1, "support": level, "reason": "so it is"}]}


def _example(prompt: str) -> str:
    """Copy what the prompt shows of a reply."""
    found = re.search(r'\{"verdicts".*\}', prompt)
    assert found is not None
    return found[0]


OF_SUPPORT: Mapping[str, Callable[[str], Any]] = {
    "full to all": _verdict("full"),
    "partial to all": _verdict("partial"),
    "none to all": _verdict("none"),
    "the prompt's example": _example,
    "prose": lambda prompt: "The source supports it.",
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("judge", OF_SUPPORT)
def test_a_judge_that_reads_no_source_does_not_pass_the_rows_of_support(
    judge: str, language: Language
) -> None:
    """R5: what it says is the same, whatever stands there."""
    high, low = _of_support(ScriptedJudge({"support": OF_SUPPORT[judge]}), language)
    assert ControlRule(0.3).tells_apart(high, low) is False


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_judge_that_knows_passes_the_rows_of_support(language: Language) -> None:
    """The answer is one statement, the context the only source; its prompt is in its language."""
    honest = Honest(language)

    def say(prompt: str) -> Any:
        asked = asked_by(prompt)
        assert asked is not None
        (statement,) = asked.statements
        is_supported = honest.known(statement) <= honest.known(asked.source)
        return _verdict("full" if is_supported else "none")(prompt)

    judge = ScriptedJudge({"support": say})
    assert _of_support(judge, language) == ([1.0] * 6, [0.0] * 6)
    assert len(judge.prompts) == 12
    assert all(prompt.startswith("请") == (language == "zh") for prompt in judge.prompts)


def _of_support(judge: ScriptedJudge, language: Language) -> tuple[list[Any], list[Any]]:
    """Return the scores of the high and of the low rows; None where no reply can be used."""
    found: dict[str, list[Any]] = {"high": [], "low": []}
    for row in built_in_rows("support", language).rows:
        try:
            score = asyncio.run(SUPPORT_ITSELF.ascore(row.sample, Models(judge)))
        except InvalidOutputError:
            found[row.expect].append(None)
        else:
            found[row.expect].append(score.value)
    return found["high"], found["low"]


def _lines(count: int, expect: str, metric: str = "tone") -> list[dict[str, Any]]:
    return [
        {"metric": metric, "expect": expect, "question": "How?", "answer": f"{expect} {at}"}
        for at in range(count)
    ]


def _file(tmp_path: Path, lines: Sequence[Any], name: str = "controls.jsonl") -> Path:
    text = "".join(json.dumps(one) + "\n" for one in lines)
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def _refused(folder: Path) -> list[str]:
    with pytest.raises(ScenarioError) as caught:
        read_rows("controls.jsonl", folder, "x.rageval.yaml:3")
    return [str(one) for one in caught.value.problems]


def test_rows_of_a_file_are_asked_in_turn(tmp_path: Path) -> None:
    _file(tmp_path, [*_lines(7, "high"), *_lines(6, "low"), *_lines(6, "low", "wit")][:-6])
    found = read_rows("controls.jsonl", tmp_path, "x.rageval.yaml:3")
    assert list(found) == ["tone"]
    assert found["tone"].number == 0
    expected = ["high", "low"] * 6 + ["high"]
    assert [row.expect for row in found["tone"].rows] == expected
    assert found["tone"].rows[1].sample.answer == "low 0"
    assert found["tone"].rows[1].place == "controls.jsonl:8"


def test_a_row_of_a_file_that_lacks_what_its_metric_needs_is_named(tmp_path: Path) -> None:
    _file(tmp_path, [*_lines(6, "high"), *_lines(6, "low")])
    found = read_rows("controls.jsonl", tmp_path, "x.rageval.yaml:3")["tone"].rows
    assert not list(row_problems(found, MetricInfo("tone", frozenset({"answer"}))))
    needy = MetricInfo("tone", frozenset({"answer", "contexts", "references"}))
    problems = list(map(str, row_problems(found, needy)))
    assert len(problems) == 12
    assert problems[0] == (
        "controls.jsonl:1: metric 'tone' needs 'contexts' and 'references'; this row lacks them"
    )


def test_everything_that_is_wrong_in_a_file_is_named_with_its_line(tmp_path: Path) -> None:
    good = {"metric": "tone", "expect": "high", "answer": "a"}
    bad = [{**good, "metric": None}, {**good, "expect": "good"}, {"answer": "a", "metric": "tone"}]
    odd = [{**good, "expect": ["high"]}, {**good, "skip": "later"}, {**good, "skip": False}]
    _file(tmp_path, [good, *bad, [1], {**good, "metric": 7}, *odd])
    metric = "metric: expected the name of a metric of the scenario, "
    expect = "expect: expected high or low, what the metric's score should be, "
    assert _refused(tmp_path) == [
        f"controls.jsonl:2: {metric}there is none",
        f"controls.jsonl:3: {expect}found 'good'",
        f"controls.jsonl:4: {expect}there is none",
        "controls.jsonl:5: expected a JSON object, found a list",
        f"controls.jsonl:6: {metric}found 7",
        f"controls.jsonl:7: {expect}found ['high']",
        "controls.jsonl:8: skip: every control row is asked; take the row away, or its skip",
    ]


def test_a_row_that_is_expected_high_and_low_is_refused(tmp_path: Path) -> None:
    """Unless its fields differ, tags and those of the user's own too."""
    rows = [*_lines(6, "high"), *_lines(6, "low")]
    _file(tmp_path, [*rows, {**rows[0], "expect": "low"}])
    said = "controls.jsonl:13: this row is expected low, and high in controls.jsonl:1"
    assert _refused(tmp_path) == [said]
    for own in ({"policy": "b"}, {"tags": ["b"]}):
        _file(tmp_path, [*rows, {**rows[0], "expect": "low", **own}])
        assert len(read_rows("controls.jsonl", tmp_path, "s.yaml")["tone"].rows) == 13


def test_a_file_with_too_few_rows_is_refused(tmp_path: Path) -> None:
    """With 3 and 3 and one slip, a judge that draws yes or no passes in 7 of 64 runs."""
    _file(tmp_path, [*_lines(6, "high"), *_lines(5, "low")])
    assert _refused(tmp_path) == [
        "controls.jsonl: metric 'tone' has 6 different high and 5 different low; "
        "a metric needs 6 rows or more with "
        "expect: high, and as many with expect: low: with fewer, a judge that guesses passes too "
        "often"
    ]
    _file(tmp_path, [])
    assert _refused(tmp_path)[0].startswith("controls.jsonl: no rows; a metric needs 6 rows")


def test_a_file_that_is_not_there_is_named_where_the_scenario_names_it(tmp_path: Path) -> None:
    _file(tmp_path, [], "control.jsonl")
    message = (
        f"x.rageval.yaml:3: judge.controls.file: no file 'controls.jsonl' in {str(tmp_path)!r}. "
        "Did you mean 'control.jsonl'?"
    )
    assert _refused(tmp_path) == [message]


def test_the_same_row_six_times_is_one_row(tmp_path: Path) -> None:
    """F12: the judge is asked one question, whose reply the cache gives six times."""
    _file(tmp_path, [*_lines(6, "high"), *_lines(1, "low") * 6])
    (problem,) = _refused(tmp_path)
    assert "has 6 different high and 1 different low" in problem
    _file(tmp_path, [*_lines(6, "high"), *_lines(6, "low"), *_lines(1, "low") * 30])
    (found,) = read_rows("controls.jsonl", tmp_path, "s.yaml").values()
    assert len(found.rows) == 12  # or one question, asked 31 times, would allow the slips of all
