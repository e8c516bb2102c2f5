"""N9: the whole loop of docs/how-to/trust-your-judge.md by its commands, from an empty folder."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from tests.plugin.conftest import Project

# It takes a closing question for something that the source does not say. People do not.
JUDGE = """
def grounded(sample):
    return float("right" in sample.answer and not sample.answer.endswith("Anything else?"))
"""
SCENARIO = """name: support-bot
dataset: answers.jsonl
metrics: [{use: "judge:grounded", needs: [answer]}]
"""
GATES = """compare: main
gates:
  grounded:
    mean: {min: 0.5, corrected: true}
  no_regression: {metrics: [grounded], max_drop: 0.02, corrected: true}
"""


class Bot:
    """A bot of 100 answers, of which every fifth is wrong, and a person who labels some."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.answers = [
            f"The answer {at} is {'right' if at % 5 else 'wrong'}." for at in range(100)
        ]
        self.files: list[str] = []
        project.file("judge.py", JUDGE)
        self.write()

    def write(self, gates: str = "") -> None:
        """Write the answers, and the scenario with the labels that there are."""
        rows = [
            {"id": f"q{at}", "question": f"What is {at}?", "answer": answer}
            for at, answer in enumerate(self.answers)
        ]
        self.project.rows(rows, "answers.jsonl")
        files = ", ".join(self.files)
        human = f"human: {{file: [{files}], of: grounded, levels: [0, 1]}}\n" if files else ""
        self.project.file("support-bot.rageval.yaml", SCENARIO + human + gates)

    def run(self, *args: str) -> pytest.RunResult:
        return self.project.pytest("support-bot.rageval.yaml", *args)

    def gates(self) -> dict[str, tuple[str, str]]:
        """Return outcome and message of each corrected gate."""
        found = self.project.results("support-bot")["gates"]
        return {one["name"]: (one["outcome"], one["message"]) for one in found}

    def label(self, n: int, name: str) -> list[dict[str, str]]:
        """Draw, label the whole sheet, and keep it with its draws, as the page says."""
        assert self.run("--rag-label", str(n)).ret == pytest.ExitCode.OK
        made = self.project.path / ".rageval" / "support-bot" / "labels"
        with max(made.glob("*.csv"), key=lambda sheet: sheet.stat().st_mtime_ns).open(
            encoding="utf-8-sig", newline=""
        ) as stream:
            rows = list(csv.DictReader(stream))
        for row in rows:
            row |= {"annotator": "anna", "label": "1" if "right" in row["answer"] else "0"}
        labels = self.project.path / "labels"
        labels.mkdir(exist_ok=True)
        _write(labels / name, rows)
        shutil.copy(made / "draws.json", labels)
        self.files.append(f"labels/{name}")
        return rows


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.mark.full
@pytest.mark.parametrize("is_worse", [False, True])
def test_labels_decide_a_regression(project: Project, is_worse: bool) -> None:
    """The judge sees a fall of .3 either way: once people do not, and once they see it, too."""
    bot = Bot(project)
    assert bot.run().ret == pytest.ExitCode.OK
    assert len(bot.label(30, "anna.csv")) == 30
    bot.write()
    assert bot.run("--rag-save=main").ret == pytest.ExitCode.OK

    for at in range(40):
        closing = " This is wrong." if is_worse else " Anything else?"
        answer = bot.answers[at] + closing
        bot.answers[at] = answer.replace("right", "false") if is_worse else answer
    bot.write(GATES)
    assert bot.run().ret == pytest.ExitCode.TESTS_FAILED
    assert (
        "40 of 100 answers differ from those of main: draw both" in bot.gates()["no_regression"][1]
    )
    rows = bot.label(20, "second.csv")
    before = [row for row in rows if row["answer"] != bot.answers[int(row["id"][1:])]]
    assert 0 < len(before) < len(rows)  # both answers to a question, whichever has no label yet
    bot.write(GATES)
    found = bot.run()
    outcome, message = bot.gates()["no_regression"]
    assert "cannot be decided" not in message
    if is_worse:
        assert found.ret == pytest.ExitCode.TESTS_FAILED
        assert (outcome, message[:24]) == ("failed", "grounded: a fall beyond ")
    else:
        assert found.ret == pytest.ExitCode.OK, found.stdout.str()
        assert (outcome, bot.gates()["grounded.mean"][0]) == ("passed", "passed")
        assert "by people +0.0000 against main" in message
        assert "by the judge alone -0.3200" in message


@pytest.mark.full
def test_answers_that_change_again_take_labels_again(project: Project) -> None:
    """N9: of those that were drawn, only the answers that stayed have their labels still.

    They are not like the others: without ten labels of these, nothing is decided. Then the saved
    answers come back, and all that people said of them counts.
    """
    bot = Bot(project)
    first = list(bot.answers)
    bot.run()
    bot.label(30, "anna.csv")
    bot.write()
    bot.run("--rag-save=main")
    for changed, name in ((range(40), "second.csv"), (range(20, 40), "third.csv")):
        for at in changed:
            bot.answers[at] += " Anything else?"
        bot.write(GATES)
        bot.run()
        for gate in ("grounded.mean", "no_regression"):
            outcome, message = bot.gates()[gate]
            assert outcome == "failed"
            assert " of them with 'pytest --rag-label " in message
        bot.label(20, name)
        bot.write(GATES)
        assert bot.run().ret == pytest.ExitCode.OK
    bot.answers = first
    bot.write(GATES)
    assert bot.run().ret == pytest.ExitCode.OK
    assert "0 changed answers labelled" in bot.gates()["no_regression"][1]
    assert project.results("support-bot")["metrics"]["grounded"]["corrected"]["labels"] > 30
