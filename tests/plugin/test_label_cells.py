"""People label the cells of support tables: drawn from a run, labelled, read back, gated."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI

from tests.plugin.conftest import Project, red

pytestmark = pytest.mark.full

SECRET = "the judge's own words"
SCENARIO = """name: bot
dataset: qa.jsonl
judge: {{model: m, base_url: "{url}", controls: "off"}}
metrics: [claim_precision, claim_recall]
{more}
"""
ROWS = [
    {
        "id": f"t/{at}",
        "question": "退货要多久？" if at % 2 else "How long?",
        "answer": f"Five days {at}. Free / always.",
        "reference": f"Five days {at}. Not free {at}. All day {at}.",
    }
    for at in range(8)
]


def level(statement: str, source: str) -> str:
    """Return what a judge says who knows no statement that the source does not hold in full."""
    if statement in source:
        return "full"
    return "partial" if set(statement.split()) & set(source.split()) else "none"


def reply(body: Mapping[str, Any]) -> str:
    prompt = "\n".join(message["content"] for message in body["messages"])
    source = "\n".join(re.findall(r"<source>\n(.*?)\n</source>", prompt, re.DOTALL))
    statements = re.findall(r"<statement n=\"\d+\">\n(.*?)\n</statement>", prompt, re.DOTALL)
    if not statements:
        return json.dumps({"claims": [part for part in re.split(r"(?<=\.) ", source) if part]})
    verdicts = [
        {"n": number, "support": level(statement, source), "reason": SECRET}
        for number, statement in enumerate(statements, 1)
    ]
    return json.dumps({"verdicts": verdicts})


class Bot:
    """A project whose judge fills tables: 16 claims against references, 24 against answers."""

    def __init__(self, project: Project, url: str) -> None:
        self.project, self.url = project, url
        project.rows(ROWS)
        self.write()

    def write(self, more: str = "") -> None:
        self.project.file("bot.rageval.yaml", SCENARIO.format(url=self.url, more=more))

    def run(self, *args: str) -> pytest.RunResult:
        return self.project.pytest("bot.rageval.yaml", *args)

    def drawn(self, n: int) -> list[dict[str, str]]:
        assert self.run(f"--rag-label={n}").ret == 0
        folder = self.project.path / ".rageval" / "bot" / "labels"
        with max(folder.glob("*.csv"), key=lambda sheet: sheet.stat().st_mtime_ns).open(
            encoding="utf-8-sig", newline=""
        ) as stream:
            return list(csv.DictReader(stream))


@pytest.fixture
def bot(project: Project) -> Iterator[Bot]:
    with FakeOpenAI(answer=reply) as server:
        yield Bot(project, server.base_url)


def labelled(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return what a person says who agrees with the judge but takes each part for nothing."""
    said = {"full": "full", "partial": "none", "none": "0"}
    return [
        {**row, "annotator": "ann", "label": said[level(row["answer"], row["contexts"])]}
        for row in rows
    ]


def written(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]), delimiter=";")
        table.writeheader()
        table.writerows(rows)


HUMAN = "human: {file: ann.csv, of: support, delimiter: ';', levels: [none, partial, full]}\n"
GATES = "gates: {support: {agreement: {kappa: 0.4, weighted_kappa: {lower_bound: 0.9}}}}\n"


def test_cells_are_drawn_blind_and_their_labels_judge_the_judge(bot: Bot) -> None:
    """Cells: 8 rows with 2 claims held against the reference, and 3 of it against the answer.

    "Five days N." is full, "Free / always." none; "Not free N." and "All day N." share a word with
    the answer: partial. So all 40 labels are none 24, full 16, of the judge none 8, partial 16,
    full 16: they agree on 24 of 40. By chance (24*8 + 16*16)/1600 = .28: kappa .32/.72 = 4/9.
    """
    assert bot.run().ret == 0
    rows = bot.drawn(200)
    assert len(rows) == 40
    assert {row["metric"] for row in rows} == {"support"}
    assert {row["drawn"] for row in rows} == {"random"}
    assert SECRET not in str(rows)
    assert SECRET not in (
        next((bot.project.path / ".rageval/bot/labels").glob("*.html")).read_text("utf-8")
    )
    assert sorted(row["id"] for row in rows)[:2] == [
        "t/0/claim-1/reference",
        "t/0/claim-2/reference",
    ]
    written(bot.project.path / "ann.csv", labelled(rows))
    bot.write(HUMAN + GATES)
    for more in ((), ("-n", "2")):
        found = red(bot.run(*more))
        found.stdout.fnmatch_lines(
            [
                "support and people: 40 labelled cells, 24 agree, kappa 0.4444 *",
                "gate support.agreement.kappa *passed *0.4444 >= 0.4000 *",
                "gate support.agreement.weighted_kappa.lower_bound FAILED*",
            ]
        )
        agreement = bot.project.results("bot")["agreement"]
        assert agreement["support"]["confusion"] == [[8, 16, 0], [0, 0, 0], [0, 0, 16]]
        assert "corrected" not in bot.project.results("bot")["metrics"]["claim_recall"]
        assert bot.project.results("bot")["metrics"].keys() == {"claim_precision", "claim_recall"}
    summary = (bot.project.folders("bot")[-1] / "summary.md").read_text("utf-8")
    assert "40 labelled cells, 24 agree" in summary
    assert "by the judge" not in summary


def test_another_answer_makes_its_labels_stale_and_they_are_counted(bot: Bot) -> None:
    """Of the 5 cells of a row only that of the claim that stays, against the reference, counts."""
    assert bot.run().ret == 0
    written(bot.project.path / "ann.csv", labelled(bot.drawn(40)))
    changed = {**ROWS[0], "answer": "Five days 0."}
    bot.project.rows([changed, *ROWS[1:]])
    bot.write(HUMAN)
    found = bot.run()
    found.stdout.fnmatch_lines(["support and people: 36 labelled cells, *"])
    agreement = bot.project.results("bot")["agreement"]["support"]
    assert (agreement["n"], agreement["stale"]) == (36, 4)
    assert "4 whose statement or source is another now" in " ".join(found.stdout.str().split())
    # All that is left to draw are cells of which the text changed.
    assert {row["id"].rpartition("/")[2] for row in bot.drawn(10)} == {"answer"}


@pytest.mark.parametrize("shards", [("1/2", "2/2")])
def test_labels_of_cells_judge_merged_shards(bot: Bot, shards: tuple[str, ...]) -> None:
    assert bot.run().ret == 0
    written(bot.project.path / "ann.csv", labelled(bot.drawn(40)))
    bot.write(HUMAN + GATES)
    for shard in shards:
        assert bot.run(f"--rag-shard={shard}", "--rag-output=parts").ret == 0
    found = red(bot.project.pytest("--rag-merge=parts"))
    found.stdout.fnmatch_lines(["support and people: 40 labelled cells, 24 agree, kappa 0.4444 *"])
