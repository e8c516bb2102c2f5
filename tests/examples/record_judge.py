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
from collections.abc import Callable, Mapping
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


def main() -> None:
    """Replace the recordings by new ones."""
    sys.path.insert(0, str(TESTS / "fakes"))
    record("judge", reply_to)
    record("claims", support_reply)


def record(example: str, answer: Callable[[Mapping[str, Any]], str]) -> None:
    """Replace the recording of an example."""
    from fake_openai import FakeOpenAI

    folder = EXAMPLES / example
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    # A cache keeps itself out of git, unless it finds such a file there.
    (cache / ".gitignore").write_text("# This cache is committed.\n", encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAGEVAL_")}
    with FakeOpenAI(PORT, answer=answer), tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        command += [f"--rag-scenario={folder / example}.rageval.yaml", f"--rag-output={output}"]
        found = subprocess.run([*command, f"--rag-cache-dir={cache}"], check=False, env=kept)
        assert found.returncode in (0, 1)  # 1: its gates are red


if __name__ == "__main__":
    main()
