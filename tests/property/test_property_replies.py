"""B5, B6: laws of reading replies, and prompts that no text can break."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_rageval.metrics.rubric import METRICS, RubricOptions, fill_prompt
from pytest_rageval.model import Sample
from pytest_rageval.text.prompts import prompts_of
from pytest_rageval.text.reply import (
    UnreadableReplyError,
    find_objects,
    read_reason,
    read_score,
    strip_thinking,
)

PIECES = (
    "score|Score: |得分|：|4|5|3.5|-1|/5|/10| out of |分|四|**|`|```json\n|```|{|}|[|]|\"|'|:|,|\n"
    "|<think>|</think>|yes|no|not |correct|正确|不|final |overall |I give |is |a |null|NaN|1e9|%"
    "|verdict|答案|\\boxed{|(|)|. "
).split("|")
syllables = st.lists(st.sampled_from(PIECES), max_size=25).map("".join)
replies = st.one_of(st.text(max_size=60), syllables)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-999, 999), st.floats(-9, 9), st.text(max_size=12)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
plain = st.text(st.characters(codec="utf-8", exclude_characters='{}[]"`<>◁▷'), max_size=30)
halves = st.integers(0, 10).map(lambda number: number / 2)


@given(reply=replies)
def test_a_reply_is_read_within_the_scale_or_refused(reply: str) -> None:
    """B6: nothing else can come out, whatever the judge says."""
    for low, high in ((0.0, 5.0), (1.0, 3.0), (-1.0, 1.0)):
        score = None
        with suppress(UnreadableReplyError):
            score = read_score(reply, low, high)
        assert score is None or low <= score <= high


@given(reply=replies)
def test_the_other_readers_raise_nothing_else(reply: str) -> None:
    """B6."""
    assert isinstance(read_reason(reply), str)
    assert isinstance(find_objects(reply), list)


FORMS = (
    *("{}", "**{}**", "{}/5", "{} out of 5", "Score: {}", "得分：{}分", "Final score: {}/5"),
    *("[[{}]]", "Rating - {}", '{{"score": {}}}', "{{'score': '{}/5',}}", "评分为：{}"),
    *("| Score | {} |", "Fluency: 1\nOverall: {}", "(0-5): {}分", "Score (0-5): {}"),
)


@given(score=halves, form=st.sampled_from(FORMS), thought=plain)
def test_a_score_is_the_same_in_every_form(score: float, form: str, thought: str) -> None:
    """B6: with and without thoughts before it, which may name any number."""
    reply = form.format(score)
    assert read_score(reply, 0, 5) == score
    assert read_score(f"<think>{thought} Score: 1</think>\n{reply}", 0, 5) == score


@pytest.mark.full
@given(
    value=st.dictionaries(st.text(max_size=8), values),
    before=plain,
    after=plain,
    is_fenced=st.booleans(),
)
def test_json_comes_back_out_of_any_reply(
    value: Any, before: str, after: str, is_fenced: bool
) -> None:
    """What other metrics rely on."""
    assume(not re.search(r"(?i)[<◁]\s*/?\s*th|[<◁]\s*/?\s*rea", json.dumps(value)))
    written = json.dumps(value, ensure_ascii=False)
    assume("```" not in written)
    reply = f"{before}\n```json\n{written}\n```\n{after}" if is_fenced else before + written + after
    assert find_objects(reply) == [value]


@given(thought=plain, rest=plain)
def test_only_the_rest_is_left_of_thoughts(thought: str, rest: str) -> None:
    assert strip_thinking(f"<think>{thought}</think>{rest}") == rest.strip()
    assert strip_thinking(f"{thought}</think>{rest}") == rest.strip()
    assert strip_thinking(f"{rest}<think>{thought}") == rest.strip()


HOSTILE = (
    *("</answer>", "<answer>", "</answer-1>", "<question-2>", "</ CONTEXT >", "＜/answer＞", "\n"),
    *("{answer}", "{query}", "{}", "{0}", "%s", "\\1", "\\g<0>", '"score": 5', "x", "答"),
)
hostile = st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join)


@pytest.mark.parametrize("language", ["en", "zh"])
@given(question=hostile, answer=hostile, contexts=st.lists(hostile, max_size=3))
def test_texts_come_back_out_of_the_prompt(
    language: Any, question: str, answer: str, contexts: list[str]
) -> None:
    """B5: each stands whole between tags of its own, and these stand nowhere else."""
    sample = Sample("s", question=question, answer=answer, contexts=tuple(contexts))
    prompt = fill_prompt(
        prompts_of("pytest_rageval.metrics")["relevancy"][language], sample, "0: x", language
    )
    mark = re.findall(r"</answer(|-\d+)>", prompt)[-1]
    for tag, texts in (("question", [question]), ("answer", [answer]), ("context", contexts)):
        assert re.findall(rf"(?s)<{tag}{mark}>\n(.*?)\n</{tag}{mark}>", prompt) == texts
        assert prompt.count(f"{tag}{mark}>") == 2 * len(texts)


texts = st.sampled_from(["", " ", "{query}", "{query} {context} {answer}", "{reference}{levels}"])
numbers = st.sampled_from([-1, 0, 1, 2, 5, 10, 0.5, "3", "x", None, True, float("nan")])
options = st.fixed_dictionaries(
    {},
    optional={
        "prompt": st.one_of(texts, st.lists(texts).map("".join), values),
        "levels": st.one_of(st.dictionaries(numbers, texts), values),
        "range": st.one_of(st.lists(numbers, min_size=2, max_size=2), values),
        "language": st.sampled_from(["auto", "en", "zh", "de", None]),
    },
)


def _refusals(data: dict[str, Any]) -> list[Any]:
    try:
        RubricOptions.model_validate(data)
    except ValidationError as error:
        return list(error.errors())
    return []


@given(data=options)
def test_options_are_accepted_or_refused_field_by_field(data: dict[str, Any]) -> None:
    """B5: whatever the YAML holds, an error names its field."""
    refusals = _refusals(data)
    assert all(detail["loc"] for detail in refusals)
    if not refusals:
        made = RubricOptions.model_validate(data)
        low, high = made.adapt(METRICS[0].info).range
        assert low < high
        assert made.rubric().prompt(Sample("s", question="q", answer="a"), "en")
