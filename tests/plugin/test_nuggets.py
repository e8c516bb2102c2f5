"""G7: nuggets from the scenario to terminal, causes and baselines, judged by a server's words."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from fake_openai import FakeOpenAI, prompt_of

from tests.plugin.conftest import Project, Run

CONTEXTS = ["Items go back within 30 days, in the original packaging."]
ROWS: list[dict[str, Any]] = [
    {"id": "both", "question": "q1", "answer": "30 days, original packaging", "contexts": CONTEXTS},
    {"id": "written", "question": "q2", "answer": "30 days", "contexts": CONTEXTS},
    {"id": "found", "question": "q3", "answer": "soon", "contexts": ["Ask us."]},
    {
        "id": "退货",
        "question": "怎样退货？",
        "answer": "三十天",
        "contexts": ["三十天，保留原包装"],
    },
    {"id": "none", "question": "q5", "answer": "hello", "contexts": CONTEXTS},
]
NUGGETS = {"退货": ["三十天", {"text": "原包装", "importance": "okay"}], "none": None}
MOST = ["30 days", "original packaging"]
SCENARIO = """
    name: qa
    dataset: qa.jsonl
    judge: {model: fake, base_url: %s, controls: off}
    metrics: [nugget_recall, {nugget_recall: {in: contexts}}, all_score]
    gates: {nugget_recall: {mean: 0.7}}
    diagnose: true
"""


def verdicts(body: Mapping[str, Any]) -> str:
    """Return full for each statement whose text is in the source."""
    prompt = prompt_of(body)
    source = "\n".join(re.findall(r"<source>\n(.*?)\n</source>", prompt, re.DOTALL))
    texts = re.findall(r'<statement n="\d+">\n(.*?)\n</statement>', prompt)
    levels = [("full", "") if text in source else ("none", "not there") for text in texts]
    listed = enumerate(levels, 1)
    return json.dumps(
        {"verdicts": [{"n": n, "support": level, "reason": why} for n, (level, why) in listed]}
    )


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    """Return a judge that knows words alone."""
    with FakeOpenAI(answer=verdicts) as running:
        yield running


def written(project: Project, server: FakeOpenAI, more: str = "", **answers: str) -> None:
    project.scenario(SCENARIO % server.base_url + more)
    rows = [{**row, "nuggets": NUGGETS.get(row["id"], MOST)} for row in ROWS]
    project.rows([{**row, "answer": answers.get(row["id"], row["answer"])} for row in rows])


@pytest.mark.full
def test_what_is_missing_is_named_with_its_cause(
    project: Project, workers: Run, plain: Run, server: FakeOpenAI
) -> None:
    """With two workers, and from the cache of that run."""
    written(project, server)
    for runs in (workers, plain):
        runs().stdout.fnmatch_lines(
            [
                "  nugget_recall 0.6250 is below 0.7000",
                '*why: nugget_recall 0.0000 < 0.7000: 2 of 2 vital nuggets missing: "30 days", '
                '"original packaging"',
                '*retrieval: the answer lacks nuggets: 2 that no context has ("30 days")',
                '*why: nugget_recall 0.5000 < 0.7000: 1 of 2 vital nuggets missing: "original '
                'packaging"',
                "nugget_recall *0.6250 * 4/4*",
                "nugget_recall.contexts *0.7500 * 4/4*",
                "all_score *0.5000 * 4/4*",
                "of 1 low answer 1 retrieval",
                "nugget_recall: answers have 2.5 words in the mean (of Chinese, characters)*",
            ],
        )
        results = project.results()
        scores = {one["id"]: one["scores"]["nugget_recall"] for one in results["samples"]}
        assert scores == {"both": 1.0, "written": 0.5, "found": 0.0, "退货": 1.0, "none": None}
    assert len(server.chats) == 8


@pytest.mark.full
def test_another_answer_asks_no_more_of_the_contexts_and_another_list_is_not_compared(
    project: Project, plain: Run, server: FakeOpenAI
) -> None:
    written(project, server)
    plain("--rag-save-failed=main")
    server.forget()
    written(project, server, "    compare: main\n", written="original packaging")
    plain().stdout.fnmatch_lines(["*nugget_recall *0.6250*"])
    (call,) = server.chats
    assert "<source>\noriginal packaging\n</source>" in prompt_of(call.body)
    project.rows([{**row, "nuggets": ["30 days"]} for row in ROWS])
    plain().stdout.fnmatch_lines(
        ["*baseline 'main' *: 4 of 5 shared samples have other nuggets (first: 'both')*"]
    )
