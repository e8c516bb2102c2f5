"""B6: a judge's reply is read as a person would read it, or refused where a person would ask."""

from __future__ import annotations

from contextlib import suppress

import pytest
from within_a_minute import within_a_minute

from pytest_rageval.text.reply import (
    UnreadableReplyError,
    find_objects,
    read_reason,
    read_score,
    read_verdict,
    strip_thinking,
)
from pytest_rageval.text.reply_text import objects_in


def _why_no_score(reply: str, low: float = 0, high: float = 5) -> str:
    with pytest.raises(UnreadableReplyError) as caught:
        read_score(reply, low, high)
    return str(caught.value)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        # the number alone, dressed up
        ("4.0", 4.0),
        ("4", 4.0),
        ("0", 0.0),
        ("5", 5.0),
        (".5", 0.5),
        ("4.", 4.0),
        ("1e0", 1.0),
        ("2,5", 2.5),
        ("4½", 4.5),
        ("3 and a half", 3.5),
        ("**4.0**", 4.0),
        ("`4`", 4.0),
        ('"4"', 4.0),
        ("[[4]]", 4.0),
        ("> 4", 4.0),
        ("```\n4.0\n```", 4.0),
        ("\n\n 3.5 \n", 3.5),
        ("four", 4.0),
        ("４．０", 4.0),
        # with its unit or scale
        ("4/5", 4.0),
        ("(4/5)", 4.0),
        ("4.0 / 5.0", 4.0),
        ("4 out of 5", 4.0),
        ("four out of five", 4.0),
        ("4 points", 4.0),
        ("4/5 stars", 4.0),
        ("4分", 4.0),
        ("四分", 4.0),
        ("四点五分", 4.5),
        ("三分半", 3.5),
        ("4颗星", 4.0),
        ("5分制4分", 4.0),
        ("3分（满分5分）", 3.0),
        # labelled
        ("Score: 4", 4.0),
        ("SCORE: 4.", 4.0),
        ("Score = 4.0/5.0", 4.0),
        ("Score - 4", 4.0),
        ("Score → 4", 4.0),
        ("Score:４", 4.0),
        ("Score: +3", 3.0),
        ('Score: "4"', 4.0),
        ("Score: four", 4.0),
        ("Score (0-5): 4", 4.0),
        ("Score: 4 (out of 5)", 4.0),
        ("**Score**: 4/5\n**Reason**: 3 of 5 facts", 4.0),
        ("# Score\n4", 4.0),
        ("- Reason: good\n- Score: 4", 4.0),
        ("<reason>5 facts</reason><score>4</score>", 4.0),
        ("Rating: [[4]]", 4.0),
        ("Grade: 4 (very good)", 4.0),
        ("得分: 4.0", 4.0),
        ("得分：四", 4.0),
        ("评分：４分", 4.0),
        ("评分：“4分”", 4.0),
        ("评分（0-5）：3", 3.0),
        ("分数为4分。", 4.0),
        ("得分4", 4.0),
        ("スコア: 4", 4.0),
        # in a sentence
        ("4.0 because it is good", 4.0),
        ("4 - a good answer", 4.0),
        ("4. The answer is good.", 4.0),
        ("I would give this answer a score of 4.", 4.0),
        ("I rate the answer 4.", 4.0),
        ("I'd say 3.5/5 given the gaps.", 3.5),
        ("The answer scores 4.", 4.0),
        ("My rating for this answer would be 3", 3.0),
        ("Based on the rubric, this deserves a 2.", 2.0),
        ("It's a 4.", 4.0),
        ("Level: 4", 4.0),
        ("Out of 5, I'd give it 3.", 3.0),
        ("我给这个回答打4分。", 4.0),
        ("这个回答十分详细，给4分", 4.0),
        ("The answer is right but short.\n\n3", 3.0),
        ("Relevance: 4\nThe answer is good.", 4.0),
    ],
)
def test_a_score_in_any_dress(reply: str, score: float) -> None:
    assert read_score(reply, 0, 5) == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ('{"reason": "covers 2/5 of it", "score": 3}', 3.0),
        ('Here it is:\n```json\n{"score": 3, "reason": "x"}\n```\nDone in 5 minutes.', 3.0),
        ("{'score': 3, 'reason': 'it's 5 lines',}", 3.0),
        ("{score: 3, reason: too short}", 3.0),
        ('{"reason": "He said "4" of 5", "score": 3}', 3.0),
        ("｛“score”：3｝", 3.0),
        ('{"score": "3/5"}', 3.0),
        ('{"score": "3 - partly"}', 3.0),
        ('{"evaluation": {"reason": "r", "score": 3}}', 3.0),
        ('[{"score": 3}]', 3.0),
        ('{"final_score": 3, "relevance": 5, "fluency": 1}', 3.0),
        ('{"finalScore": 3, "score": 5}', 3.0),
        ('{"answer_relevancy": 3}', 3.0),
        ('{"score": 3, "confidence": 0.9}', 3.0),
        ('{"reason": "It would be 5/5 with the dates that were asked for.", "relevance": 3}', 3.0),
        ('{"score": 3, "max_score": 5}', 3.0),
        ('{"得分": 3, "理由": "好"}', 3.0),
        ('{"reason": "cut off at the end", "score": 3', 3.0),
        ('{"reason": "it quotes </think> 5", "score": 3}', 3.0),
    ],
)
def test_a_score_in_json_and_almost_json(reply: str, score: float) -> None:
    assert read_score(reply, 0, 5) == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        # thoughts
        ("<think>maybe 2? or 5. Score: 1</think>\n3", 3.0),
        ("Score: 1 was my first thought</think>3", 3.0),
        ("<THINKING>\n5\n</THINKING>\nScore: 3", 3.0),
        ('<think>x</think>{"score": 5} no, wait</think>{"score": 3}', 3.0),
        # the scale
        ("on a scale of 0-5, I give 3", 3.0),
        ("The score, on a scale from 0 to 5, is 3.", 3.0),
        ("On a five-point scale: score 3", 3.0),
        ("0 = bad, 5 = perfect. Score: 3", 3.0),
        ("Here 0 means bad and 5 means perfect; I give a 3.", 3.0),
        ("满分5分，得3分", 3.0),
        ("总分5分，得分3分", 3.0),
        # deductions
        ("I deduct 2 points for the date, so 3/5.", 3.0),
        ("扣2分，得3分", 3.0),
        # criteria, of which the last word wins
        ("Relevance: 4\nFluency: 5\nCompleteness: 1\nOverall: 3", 3.0),
        ("1. Relevance: 4\n2. Detail: 2\n3. Overall: 3", 3.0),
        ("Relevance score: 4/5\nFluency score: 5/5\nFinal score: 3/5", 3.0),
        ("Accuracy: 4\nDetail: 2\nTotal: 6\nAverage: 3", 3.0),
        ("Total: 12\nFinal score: 3", 3.0),
        ("| Relevance | 4 |\n|---|---|\n| Overall | 3 |", 3.0),
        ("准确性：4\n完整性：2\n综合得分为3分", 3.0),
        (r"Score: 4, hmm. Thus \boxed{3}", 3.0),
        # scores that were not given
        ("Score: 3. A score of 5 would need sources.", 3.0),
        ("It does not deserve a 5. I give it a 3.", 3.0),
        ("If it had cited its sources, I would give 5. I give 3.", 3.0),
        ("给3分。如果补充来源，可以给5分。", 3.0),
        ("Score: 3. The final sentence would get a 5.", 3.0),
        # words of the answer
        ('The answer says "Score: 5", but I give it a 3.', 3.0),
        ("回答写着“得分：5分”，我给3分", 3.0),
        # other numbers
        ("The context has 5 documents and 12 sentences.\n\nScore: 3", 3.0),
        ("[1] supports it. Score: 3", 3.0),
        ("1. The answer is relevant.\n2. It is short.\n\nScore: 3", 3.0),
        ("4/5 of the facts are there, the main one is not.\nScore: 3", 3.0),
        ("3分，因为回答了四个问题中的两个", 3.0),
        ("3\nIt names 4 of 5 documents.", 3.0),
        ("Score: 3\nScore: 3.0", 3.0),
        ("Rating scale: 0 = poor, 5 = great\nRating: 3", 3.0),
        ("0: no answer\n5: a perfect answer\n\nI give it a 3.", 3.0),
        ("Scoring criteria: 5 aspects\nScore: 3", 3.0),
    ],
)
def test_numbers_that_are_not_the_score_are_passed_over(reply: str, score: float) -> None:
    assert read_score(reply, 0, 5) == score


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "N/A",
        "nan",
        "inf",
        "Score:",
        "Score: good",
        "80%",
        "Score: 1,000",
        "The answer covers 4/5 of the facts.",
        "The answer lists 4 points.",
        "The answer gives 3 as the number of moons.",
        "It gives 3 reasons.",
        "It deserves at least 3 more facts.",
        "It is not a 5.",
        "request llm failed (1) timeout",
        "GPT-4 and v2.4",
        "Documents: 3\nThe answer is correct.",
        "1. first\n2. second",
        "on a scale of 0-5",
        "满分5分",
        "一部分，三分钟，十分详细",
        "<think>I give it a 4",
        "<think>4</think>",
    ],
)
def test_where_no_score_is_stated_none_is_read(reply: str) -> None:
    assert _why_no_score(reply) == "it states no score from 0 to 5"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("Score: 7", "its score 7 is outside of 0 to 5"),
        ("Score: -1", "its score -1 is outside of 0 to 5"),
        ("-1\nnegative", "its score -1 is outside of 0 to 5"),
        ('{"score": 5.5}', "its score 5.5 is outside of 0 to 5"),
        ("Score: 1e400", "its score inf is outside of 0 to 5"),
        ("6/5", "its score 6 is outside of 0 to 5"),
        ("Score: 8/10", "its score 8/10 is on another scale than 0 to 5"),
        ("3/4", "its score 3/4 is on another scale than 0 to 5"),
        ("Score: 3-4", "its score 3-4 is a range; one number is wanted"),
        ("3 or 4", "its score 3-4 is a range; one number is wanted"),
        ("3到4分", "its score 3-4 is a range; one number is wanted"),
        ("Scores: 4, 3", "its score 4-3 is a range; one number is wanted"),
        ("Score: 4\nScore: 3", "it states several scores: 3, 4"),
        ("I rate it 4 for relevance and 2 for tone.", "it states several scores: 2, 4"),
        ("Relevance: 4\nTone: 2", "it states several scores: 2, 4"),
        ('{"score": 5} or {"score": 3}', "it states several scores: 3, 5"),
        ('{"reason": "x", "score": 0, "score": 1}', "it states several scores: 0, 1"),
        ("{reason: 'x', 'score': 0, 'score': 1,}", "it states several scores: 0, 1"),
        ('Score: 2\n{"score": 3}', "it states several scores: 2, 3"),
        ("Score: N/A", "it says that there is no score (N/A)"),
        ('{"score": null}', "it says that there is no score (N/A)"),
        ('{"score": NaN}', "it says that there is no score (N/A)"),
        ("I cannot judge: the context has 3 documents.", "it declines to judge"),
        ("无法评分，没有参考资料", "it declines to judge"),
    ],
)
def test_the_message_says_what_was_found_instead(reply: str, why: str) -> None:
    assert _why_no_score(reply) == why


@pytest.mark.parametrize(
    ("reply", "low", "high", "score"),
    [
        ("Score: 85/100", 0, 100, 85.0),
        ("85%", 0, 100, 85.0),
        ("8/10", 0, 10, 8.0),
        ("得十分。", 0, 10, 10.0),
        ("Score: 0.8", 0, 1, 0.8),
        ("1/1", 0, 1, 1.0),
        ("Score: -0.5", -1, 1, -0.5),
        ("Score (1-3): 2", 1, 3, 2.0),
        ("-0", 0, 1, 0.0),
    ],
)
def test_other_scales(reply: str, low: float, high: float, score: float) -> None:
    assert read_score(reply, low, high) == score
    assert str(read_score(reply, low, high)) != "-0.0"


@pytest.mark.parametrize(
    "reply",
    [
        "Yes",
        "yes.",
        "Yes, the candidate is correct.",
        "CORRECT.",
        "**Correct**",
        "Verdict: correct",
        "Judgement: **Yes**",
        "[[CORRECT]]",
        r"\boxed{yes}",
        "<verdict>yes</verdict>",
        "是",
        "是的。",
        "正确",
        "【正确】",
        "答案是正确的",
        "结论：正确",
        "是否正确：是",
        "回答正确。",
        "没有任何错误",
        "1",
        '{"verdict": 1}',
        '{"verdict": "yes", "reason": "there is no doubt"}',
        '{"is_correct": true, "reason": "the answer is wrong in nothing"}',
        "```json\n{'verdict': 'CORRECT',}\n```",
        "<think>no, that is wrong</think>Yes",
        "Verdict: no\nFinal verdict: yes",
        'My verdict is "correct".',
        "The answer is correct.",
        "The answer given is not incorrect.",
        "The candidate isn't wrong.",
        "The response correctly answers the question.",
        "The candidate is partially correct.",
        "部分正确",
    ],
)
def test_a_yes_in_any_dress(reply: str) -> None:
    assert read_verdict(reply) is True


@pytest.mark.parametrize(
    "reply",
    [
        "No",
        "no.",
        "No, the candidate is not correct.",
        "No the answer is off",
        "INCORRECT",
        "Incorrect answer.",
        "Verdict: incorrect",
        "Verdict: not correct",
        "Answer: no.",
        "不正确",
        "答案是错误的",
        "错误。",
        "否",
        "不是的",
        "结论：不正确",
        "回答不完全正确",
        "完全不正确",
        "0",
        '{"verdict": 0}',
        '{"correct": false, "reason": "yes and no"}',
        "The answer is not correct.",
        "The answer isn't correct.",
        "The candidate is not entirely correct.",
        "The candidate does not provide a correct answer to the question.",
        "The response does not correctly answer the question.",
        "The answer incorrectly states the year.",
        'The answer says "Verdict: correct", but it is wrong.',
    ],
)
def test_a_no_in_any_dress(reply: str) -> None:
    assert read_verdict(reply) is False


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no verdict"),
        ("4", "no verdict"),
        ("N/A", "no verdict"),
        ("maybe", "no verdict"),
        ("yes or no?", "no verdict"),
        ("No one knows.", "no verdict"),
        ("<think>yes", "no verdict"),
        ('{"verdict": 5}', "no verdict"),
        ('{"verdict": null}', "no verdict"),
        ("The correct answer is Paris.", "no verdict"),
        ("Correct answer: Paris", "no verdict"),
        ("正确答案是北京", "no verdict"),
        ("The question is whether the answer is correct.", "no verdict"),
        ("如果答案正确", "no verdict"),
        ("Yes\nNo", "both verdicts"),
        ("Verdict: yes\nVerdict: no", "both verdicts"),
        ('[{"verdict": 1}, {"verdict": 0}]', "both verdicts"),
        ("The answer is correct but the reasoning in it is wrong.", "both verdicts"),
        ("I cannot determine if the candidate is correct.", "declines"),
        ("无法判断", "declines"),
    ],
)
def test_where_no_verdict_is_stated_none_is_read(reply: str, why: str) -> None:
    with pytest.raises(UnreadableReplyError, match=why):
        read_verdict(reply)


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("<think>a\nb</think>\nc", "c"),
        ("<thinking>a</thinking>c", "c"),
        ("a</think>c", "c"),
        ("c<think>a", "c"),
        ("<think>a", ""),
        ("<think>a <think> b</think>c", "c"),
        ("<think>a<think>b</think>a</think>c", "c"),
        ("a < b, no thoughts", "a < b, no thoughts"),
        ('{"reason": "it says <think>"}', '{"reason": "it says <think>"}'),
    ],
)
def test_thoughts_are_stripped_whole(text: str, rest: str) -> None:
    assert strip_thinking(text) == rest


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ('{"a": [1, {"b": null}]}', [{"a": [1, {"b": None}]}]),
        ('Well: {"a": 1} and {"b": 2}, {"a": 1}', [{"a": 1}, {"b": 2}]),
        ('{"a": 1}\n```json\n[{"b": 2}]\n```', [{"b": 2}, {"a": 1}]),
        (
            "{'it's': 'a \"b\"', 'ok': True, 'no': None,}",
            [{"it's": 'a "b"', "ok": True, "no": None}],
        ),
        ("{verdict: 1, reason: as it says}", [{"verdict": 1, "reason": "as it says"}]),
        ('{"a": 1 "b": 2}', [{"a": 1, "b": 2}]),
        ('{"a": NaN, "b": "line\nbreak"}', [{"a": None, "b": "line\nbreak"}]),
        ('{"a": "tab\\t and \\"quotes\\"",}', [{"a": 'tab\t and "quotes"'}]),
        ('<think>{"a": 0}</think>{"a": 1}', [{"a": 1}]),
        ('{"open": {"a": 1}', [{"a": 1}]),
        ("{see below} {“a”：1}".replace("：", ":"), [{"a": 1}]),
        ("As [1] and [2] say: {}", [{}]),
    ],
)
def test_objects_are_found_wherever_they_stand(reply: str, found: object) -> None:
    """Those in fences before others, each once."""
    assert find_objects(reply) == found


@pytest.mark.parametrize("reply", ["", "no json", '{"a": ', "{4}", "[see above]", "<think>{}"])
def test_what_is_no_object_is_none(reply: str) -> None:
    assert find_objects(reply) == []


def test_json_says_where_it_stands() -> None:
    text = 'a {"b": 1} c [2]'
    assert [text[found.start : found.end] for found in objects_in(text)] == ['{"b": 1}']


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("4.0\nshort but right", "short but right"),
        ("4.0\\nshort", "short"),
        ("Score: 4\nReason: short\nbut right", "short\nbut right"),
        ("**Reason:** short\n**Final score: 4/5**", "short"),
        ("得分：4分\n理由：很好", "很好"),
        ('{"score": 4, "reason": " short "}', "short"),
        ('{"score": 4, "feedback": "short"}', "short"),
        ('It is short.\n```json\n{"score": 4}\n```', "It is short."),
        ("<think>hmm</think>4\nshort", "short"),
        ("It has 3 facts.\n4", "It has 3 facts."),
        ("4", ""),
        ('{"score": 4}', ""),
        ("", ""),
    ],
)
def test_the_reason_is_what_stands_beside_the_score(reply: str, reason: str) -> None:
    assert read_reason(reply) == reason


_PIECES = (
    *("9", "{", "[", "{'a':", "['x',", "{}", "[1]", "<think>", '"', "|", "_ ", " ", "\n"),
    *("score ", "score: ", "得分", "not ", "1. a\n", "4/5 ", "it is ", "x: 4\n", "a: "),
)


@pytest.mark.parametrize("piece", _PIECES)
def test_a_hostile_reply_takes_no_long_time(piece: str) -> None:
    """Patterns that are quadratic take minutes for it."""
    reply = "x" + piece * (100_000 // len(piece)) + "x"
    for read in (lambda text: read_score(text, 0, 5), read_verdict, find_objects, read_reason):
        with within_a_minute(), suppress(UnreadableReplyError):
            read(reply)


@pytest.mark.parametrize(
    "reply",
    [
        "I would say 5. Or 0.",
        "I would say 5, or maybe 0.",
        "Score: 4. Or 3.",
        "4. Perhaps a 3.",
        "我给4分。或者3分",
        "4分，也许3分",
    ],
)
def test_a_second_thought_is_a_second_score(reply: str) -> None:
    """[R8] The first one was taken as if the other had not been said."""
    with pytest.raises(UnreadableReplyError):
        read_score(reply, 0, 5)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        ("5分满分，得4分", 4.0),
        ("5分为满分，我给3分", 3.0),
        ("（5分满分）4分", 4.0),
        ("得5分满分", 5.0),
        ("I would say 4. Or, put differently, it is fine.", 4.0),
        ("Score: 4. Or 4/5.", 4.0),
        ("I would say 4, or 80%.", 4.0),
    ],
)
def test_what_names_the_scale_or_the_same_score_is_no_second_one(reply: str, score: float) -> None:
    """[R8]"""
    assert read_score(reply, 0, 5) == score


@pytest.mark.parametrize("depth", [65, 500, 3000])
@pytest.mark.parametrize("quote", ['"', "'"])
def test_json_nested_too_deep_makes_a_reply_unusable(depth: int, quote: str) -> None:
    """X3: no object inside it is taken for what the judge said."""
    deep = '{"score": 1, "more": ' + '{"score": 1, "a": ' * depth + "1" + "}" * depth + "}"
    deep = deep.replace('"', quote)
    for read in (lambda text: read_score(text, 0.0, 1.0), read_verdict, find_objects):
        with pytest.raises(UnreadableReplyError, match="its JSON is nested more than 64 deep"):
            read(deep)
