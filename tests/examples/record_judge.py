"""Records the replies that examples are replayed from: ``python record_judge.py``.

They were written by hand, as a careful judge might reply, and go through a stand-in server, so that
the cache is what a real judge would leave. To be run again when a prompt, the rows, a scenario or
the form of the cache has changed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_rageval.controls import built_in_rows

TESTS = Path(__file__).parents[1]
EXAMPLES = TESTS.parent / "examples"
PORT = 8099  # that of the scenarios: it is part of the cache's keys

REPLIES = {
    "opening-hours": (5, "All days and hours are there and agree with the context."),
    "ticket-price": (3, "Both prices are right, but it does not say who gets in free."),
    "photos": (4, "Where photos are allowed is right; the postcards were not asked for."),
    "parking": (0, "It only says that it does not know, though the context names a car park."),
    "背包": (5, "要求寄存的尺寸和免费寄存都与参考资料一致。"),
    "语音导览": (3, "有中文导览是对的，但价格应为3欧元，不是5欧元。"),
    "轮椅": (2, "大部分展区确实有电梯，但灯塔只有楼梯，所以“所有展区”是错的。"),
    "退票": (5, "期限与参考资料一致，表述准确。"),
}


CONTROLS = {
    "high": (5, "回答了所问的问题，与参考资料一致。"),
    "low": (0, "答非所问，说的是另一件事。"),
}
"""The replies to the rows that test the judge, in Chinese as half of the data are."""


def reply_to(body: Mapping[str, Any]) -> str:
    """Return the reply to the prompt about one of the rows, which is found by its texts."""
    prompt = body["messages"][-1]["content"]
    for row in built_in_rows("llm_answer_relevancy", "zh").rows:
        question, answer = row.sample.question, row.sample.answer
        if question and answer and question in prompt and answer in prompt:
            return _reply(*CONTROLS[row.expect])
    rows = map(json.loads, (EXAMPLES / "judge" / "museum.jsonl").read_text("utf-8").splitlines())
    [sample] = [row["id"] for row in rows if row["answer"] in prompt]
    return _reply(*REPLIES[sample])


def _reply(score: int, reason: str) -> str:
    return json.dumps({"reason": reason, "score": score}, ensure_ascii=False)


UNSUPPORTED = {
    ("A life jacket for a dog costs 3 euros", "Dogs are welcome"): "no price is named",
    ("A life jacket for a dog costs 3 euros", "Dogs may come"): "no life jacket is named",
    ("Each quarter of an hour costs 5 euros", "19:00"): "it says when boats must be back, no price",
    ("Dogs may not come along in pedal boats", "A life jacket"): "pedal boats are not named",
    ("dogs in pedal boats: no", "A life jacket"): "pedal boats are not named",
    ("Who prefers it gets a voucher", ""): "no voucher is named",
    ("or a voucher for a whole hour", ""): "no voucher is named",
    ("周末需要提前一天预订", "提前两天"): "矛盾：来源说须提前两天",
    ("周末需要提前一天预订", "平日无需"): "来源只说平日",
    ("周末需要提前两天预订", "提前一天"): "矛盾：来源说提前一天",
    ("提前两天预订", "提前一天"): "矛盾：来源说提前一天",
    ("周末需要提前两天预订", "平日无需"): "来源只说平日",
}
"""Why a source, of which a part is given, does not support a statement, of which a part is given.

A pair that is not here: see ``SAID``.
"""

SAID = (
    ("12 euros an hour", "12 euros an hour"),
    ("50 euros", "50 euros"),
    ("quarter of an hour", "For each quarter"),
    ("quarter of an hour", "Each quarter of an hour costs"),
    ("in rowing boats", "rowing boats"),
    ("in pedal boats", "pedal boats"),
    ("time that is left", "time that is left"),
    ("满十四岁", "十四岁"),
    ("提前两天", "提前两天"),
)
"""Parts of statements, each with a part of the sources that say it."""


def support_reply(body: Mapping[str, Any]) -> str:
    """Return the reply to a prompt of a support table: a claim for each sentence, or verdicts."""
    from fake_judge import asked_by

    prompt = body["messages"][-1]["content"]
    asked = asked_by(prompt)
    assert asked is not None
    if asked.kind == "claims":
        claims = re.findall(r"[^.。]+[.。]", asked.source)
        return json.dumps({"claims": [claim.strip() for claim in claims]}, ensure_ascii=False)
    for row in built_in_rows("support", "en").rows:
        if row.sample.answer in asked.statements and row.sample.contexts == (asked.source,):
            return _verdicts(["" if row.expect == "high" else "the source names another one"])
    return _verdicts([_why_not(statement, asked.source) for statement in asked.statements])


def _verdicts(reasons: list[str]) -> str:
    found = [
        {"n": number, "support": "none" if reason else "full", "reason": reason}
        for number, reason in enumerate(reasons, 1)
    ]
    return json.dumps({"verdicts": found}, ensure_ascii=False)


def _why_not(statement: str, source: str) -> str:
    """Return why a source does not support a statement, "" where it does."""
    for (said, part), reason in UNSUPPORTED.items():
        if said in statement and part in source:
            return reason
    if any(said in statement and part in source for said, part in SAID):
        return ""
    return "来源没有提到" if re.search("[\u4e00-\u9fff]", statement) else "it does not say so"


FROM_DOCUMENTS = [
    "--rag-init=examples/from_documents",
    "--rag-from=examples/from_documents/docs",
    "--rag-questions=16",
    "--rag-judge-model=stand-in",
    "--rag-set=judge.base_url=http://127.0.0.1:8099/v1",
]
"""The command that makes the questions of the example, from the folder above the examples."""

MADE = {
    # One is common knowledge: see ALONE. Four have a fault each, of those that models make.
    ("single", "哈尔维克天文台志愿者须知"): (
        "报名成为哈尔维克天文台的志愿者，须年满多少岁？",
        "十六岁",
        "任何年满十六岁的协会会员都可以报名。",
    ),
    ("single", "请假与换班"): (
        "哈尔维克天文台的志愿者如果不能到场，须至少提前几天找到替班的人？",
        "三天",
        "不能到场的志愿者至少要提前三天找人替班。",  # in other words than the document
    ),
    ("comparison", "交通补贴"): (
        "在哈尔维克天文台当志愿者，参加培训要交多少钱，每次值班又能领取多少交通补贴？",
        "培训不收费用；每次值班六欧元",
        "志愿者每次值班可以领取六欧元的交通补贴。",
        "培训每年十月举行一次，不收费用。",
    ),
    ("comparison", "手电筒"): (
        "在哈尔维克天文台的圆顶内可以使用哪种手电筒，每个开放夜又有几人负责圆顶？",
        "红光手电筒；两人",
        "圆顶内只能使用红光手电筒。",
        "每个开放夜由四名志愿者值班：两人负责圆顶，一人负责讲解，一人在停车场接待。",
    ),
    ("unanswerable", "值班"): ("哈尔维克天文台的值班组长由谁任命？",),
    ("unanswerable", "培训"): ("哈尔维克天文台的志愿者每季至少要值班几次？",),
    ("single", "Telescope loans"): (
        "Who may borrow telescopes from the Halvik Observatory society?",
        "Members of the society",
        "Members of the Halvik Observatory society may borrow telescopes and take them home.",
    ),
    ("single", "What can be borrowed"): (
        "According to the passage, how many telescopes are there for loan at Halvik Observatory?",
        "Eleven",
        "There are eleven telescopes for loan.",
    ),
    ("single", "How long, and for how much"): (
        "How long does a loan of a telescope from the Halvik Observatory society last, if it is "
        "not extended?",
        "Three weeks",
        "A loan lasts three weeks and can be extended once, by two weeks, unless somebody else is "
        "waiting.",
    ),
    ("paraphrase", "Late and damaged telescopes"): (
        "Will I have to pay for a scuff on the outside of my Halvik Observatory loaner?",
        "No, scratches on the tube do not matter.",
        "Scratches on the tube do not matter.",
    ),
    ("single", "Fetching and returning"): (
        "When are telescopes handed out at Halvik Observatory?",
        "On Mondays between 18:00 and 19:30",
        "Telescopes are handed out in the workshop behind the lecture room, on Mondays between "
        "18:00 and 19:30.",
    ),
    ("paraphrase", "Visiting Halvik Observatory"): (
        "Do I need to be an expert to come along to Halvik Observatory?",
        "No, whoever is interested in the sky is welcome.",
        "Whoever is interested in the sky is welcome.",
    ),
    ("paraphrase", "Opening nights"): (
        "Can I drop by Halvik Observatory for some stargazing in July?",
        "No, from May to August the dome stays closed.",
        "From May to August the nights at Halvik are too bright, and the dome stays closed.",
    ),
    ("single", "Tickets"): (
        "How much does a family ticket of Halvik Observatory cost?",
        "19 euros",
        "A family ticket for two adults and up to three children costs 19 euros.",
    ),
    ("comparison", "When the sky is cloudy"): (
        "What is the website of Halvik Observatory used for?",
        "For announcing whether the dome opens, for buying tickets, and for reserving telescopes",
        "Whether the dome can open is decided at 17:00 and announced on the website.",
        "They have to be reserved on the website by the Friday before.",
    ),
    ("single", "How to get there"): (
        "How many people can ride in the electric cart of Halvik Observatory?",
        "Up to three",
        "The electric cart takes up to three people who cannot walk that far.",
    ),
}
"""By type and heading: question, answer, and a quote from each passage."""

PARTLY = {"What is the website": "the sources say nothing of buying tickets"}
"""Beginnings of questions whose answer says more than the passages, and what that is."""

ALONE = {"Who may borrow": "The members of the society."}
"""Beginnings of questions that can be answered without any document, and the answer."""

ANSWERED = {"哈尔维克天文台的志愿者每季": "文本中说每人每季至少值班五次。"}
"""Beginnings of questions that a passage answers after all, and the reason."""


def questions_reply(body: Mapping[str, Any]) -> str:
    """Return the reply to a prompt that makes or checks questions."""
    prompt = body["messages"][-1]["content"]
    name = body["response_format"]["json_schema"]["name"]
    if name == "question_alone":
        known = _of_beginning(ALONE, prompt) or ""
        return json.dumps({"clear": True, "answer": known}, ensure_ascii=False)
    if name.startswith("question_"):
        heading = re.findall(r"<headings>\n.*?([^>\n]+)\n</headings>", prompt)[0].strip()
        return _made(*MADE[name.removeprefix("question_"), heading])
    return _checked(prompt)


def _made(question: str, answer: str = "", *quotes: str) -> str:
    made: dict[str, Any] = {"question": question}
    if answer:
        quoted = {"quotes": quotes} if len(quotes) > 1 else {"quote": quotes[0]}
        made |= {"answer": answer, **quoted}
    return json.dumps(made, ensure_ascii=False)


def _checked(prompt: str) -> str:
    """Return whether passages support an answer, or answer a question; control rows as they are."""
    is_support = '"verdicts"' in prompt
    rows = [
        row
        for language in ("en", "zh")
        for row in built_in_rows("support" if is_support else "context_relevance", language).rows
        if all(text in prompt for text in (row.sample.question, *row.sample.contexts))
        and (not is_support or row.sample.answer in prompt)
    ]
    is_high = is_support or _of_beginning(ANSWERED, prompt) is not None
    if rows:
        [is_high] = {row.expect == "high" for row in rows}
    if not is_support:
        return _reply(int(is_high), _of_beginning(ANSWERED, prompt) or "as the texts say")
    partly = _of_beginning(PARTLY, prompt)
    level = "partial" if partly else "full" if is_high else "none"
    reason = partly or ("" if is_high else "the source does not say so")
    return json.dumps({"verdicts": [{"n": 1, "support": level, "reason": reason}]})


def _of_beginning(found: Mapping[str, str], prompt: str) -> str | None:
    return next((text for start, text in found.items() if start in prompt), None)


def main() -> None:
    """Replace the recordings by new ones."""
    sys.path.insert(0, str(TESTS / "fakes"))
    record("judge", reply_to)
    record("claims", support_reply)
    record_questions()


def record_questions() -> None:
    """Make the questions of ``from_documents`` anew, and replace their recording."""
    folder = EXAMPLES / "from_documents"
    for name in ("questions.jsonl", "rejected.jsonl", "questions.rageval.yaml"):
        (folder / name).unlink(missing_ok=True)
    _recorded("from_documents", questions_reply, FROM_DOCUMENTS, (0,))


def record(example: str, answer: Callable[[Mapping[str, Any]], str]) -> None:
    """Replace the recording of an example."""
    scenario = f"--rag-scenario=examples/{example}/{example}.rageval.yaml"
    # 1: its gates are red
    _recorded(example, answer, [scenario], (0, 1))


def _recorded(
    example: str,
    answer: Callable[[Mapping[str, Any]], str],
    args: Sequence[str],
    expected: Sequence[int],
) -> None:
    """Run pytest with a new cache in the example's folder; its status is an expected one."""
    from fake_openai import FakeOpenAI

    cache = EXAMPLES / example / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    # A cache keeps itself out of git, unless it finds such a file there.
    (cache / ".gitignore").write_text("# This cache is committed.\n", encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAGEVAL_")}
    with FakeOpenAI(PORT, answer=answer), tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *args]
        command += [f"--rag-output={output}", f"--rag-cache-dir={cache}"]
        found = subprocess.run(command, check=False, env=kept, cwd=EXAMPLES.parent)
        assert found.returncode in expected


if __name__ == "__main__":
    main()
