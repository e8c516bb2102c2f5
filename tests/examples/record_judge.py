"""Records the replies that ``examples/judge`` is replayed from: ``python record_judge.py``.

They were written by hand, as a careful judge might reply, and go through a stand-in server, so that
the cache is what a real judge would leave. To be run again when the prompt, the rows, the scenario
or the form of the cache has changed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_rageval.controls import built_in_rows

TESTS = Path(__file__).parents[1]
EXAMPLE = TESTS.parent / "examples" / "judge"
PORT = 8099  # that of the scenario: it is part of the cache's keys

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
    rows = map(json.loads, (EXAMPLE / "museum.jsonl").read_text("utf-8").splitlines())
    [sample] = [row["id"] for row in rows if row["answer"] in prompt]
    return _reply(*REPLIES[sample])


def _reply(score: int, reason: str) -> str:
    return json.dumps({"reason": reason, "score": score}, ensure_ascii=False)


def main() -> None:
    """Replace the recording by a new one."""
    sys.path.insert(0, str(TESTS / "fakes"))
    from fake_openai import FakeOpenAI

    cache = EXAMPLE / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir()
    # A cache keeps itself out of git, unless it finds such a file there.
    (cache / ".gitignore").write_text("# This cache is committed.\n", encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("RAGEVAL_")}
    with FakeOpenAI(PORT, answer=reply_to), tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
        command += [f"--rag-scenario={EXAMPLE / 'judge.rageval.yaml'}", f"--rag-output={folder}"]
        subprocess.run([*command, f"--rag-cache-dir={cache}"], check=True, env=kept)


if __name__ == "__main__":
    main()
