"""``--rag-nuggets``: with made questions, and for rows that have references."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from making import Making
from scripted_nuggets import is_listing, listing, nugget, of_answers
from scripted_questions import RETURNS, prompt_in

from pytest_rageval.datasets.reviews import review_digest
from pytest_rageval.model import Sample
from tests.plugin.conftest import Project, green, red, wrong_use

ROWS: list[dict[str, Any]] = [
    {"id": "a", "question": "How long may items go back?", "references": ["Items: 30 days."]},
    {"id": "b", "question": "Who pays the postage?", "references": ["The customer pays postage."]},
    {"id": "c", "question": "Who sings?", "references": ["Nobody."], "answerable": False},
]
TEXT = f"""{RETURNS}
## Gift cards

Gift cards never expire and cannot be paid out in cash. A lost card is blocked by telephone, and \
its value goes to a new one.

## Opening hours

The workshop in Linz is open from Monday to Friday between nine and five. On the days before a \
holiday it closes two hours earlier.
"""
SINGLE = "--rag-set=questions.types={single: 1}"
NO_CONTROLS = "--rag-set=judge.controls=off"


class Nuggets(Making):
    """A project with rows and a document, and the commands that make lists of nuggets."""

    file = "rows-nuggets.jsonl"

    def __init__(self, project: Project, server: FakeOpenAI) -> None:
        super().__init__(project, server)
        self.write(ROWS)
        project.file("docs/returns.md", TEXT)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Write the data."""
        self.project.file("rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    @property
    def command(self) -> list[str]:
        """The command for the rows."""
        return ["--rag-init", "--rag-from=rows.jsonl", "--rag-nuggets", *self.models]

    def make(self, *more: str) -> pytest.RunResult:
        """Make lists for the rows."""
        return self.project.pytest(*self.command, *more)

    def questions(self, count: int, *more: str) -> pytest.RunResult:
        """Make questions of the document."""
        from_docs = ["--rag-init", "--rag-from=docs", f"--rag-questions={count}", SINGLE]
        return self.project.pytest(*from_docs, *self.models, *more)

    def names(self) -> set[str]:
        """Return what was written."""
        given = {"rows.jsonl", "docs"}
        return {path.name for path in self.path.iterdir()} - given - {".rageval", ".pytest_cache"}


@pytest.fixture
def nuggets(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Nuggets]:
    """Return a project whose model lists each answer as a nugget."""
    monkeypatch.setenv("MAKING_KEY", "sk-live-0123456789abcdef")
    with FakeOpenAI(answer=listing()) as server:
        yield Nuggets(project, server)


def calls_in(result: pytest.RunResult) -> tuple[int, int, int]:
    """Return how many calls a dry run says: likely, at least, at most."""
    found = re.search(r"m: about (\d+) calls?(?: \((\d+) to (\d+))?", result.stdout.str())
    assert found is not None
    likely = int(found[1])
    return likely, int(found[2] or likely), int(found[3] or likely)


def test_rows_with_references_get_lists_and_a_scenario_that_joins_them(nuggets: Nuggets) -> None:
    result = green(nuggets.make())
    first, second, third = nuggets.rows()
    assert first["nuggets"] == [nugget("Items: 30 days.")]
    assert second["nuggets"] == [nugget("The customer pays postage.")]
    assert third == {"id": "c"}
    assert nuggets.names() == {"rows-nuggets.jsonl", "rows.rageval.yaml", "rows_target.py"}
    result.stdout.fnmatch_lines(
        [
            "3 rows: 2 lists to make",
            "  1 row without references, or that cannot be answered",
            "2 lists of nuggets, with 2 nuggets",
            "read the lists, then add nugget_recall to the metrics of rows.rageval.yaml*",
        ]
    )


@pytest.mark.full
def test_the_scenario_reads_the_lists_and_asks_the_target(nuggets: Nuggets) -> None:
    nuggets.make()
    nuggets.project.file("rows_target.py", 'def answer(question):\n    return "30 days"\n')
    path = nuggets.path / "rows.rageval.yaml"
    text = path.read_text("utf-8").replace("metrics: [", "metrics: [nugget_recall, ", 1)
    text = text.replace("metric_weights: {", "metric_weights: {nugget_recall: 1, ", 1)
    judge = f"{{model: m, base_url: '{nuggets.server.base_url}', api_key_env: MAKING_KEY}}"
    path.write_text(f"{text}\njudge: {judge}\n", "utf-8")
    nuggets.project.pytest("rows.rageval.yaml", NO_CONTROLS)
    samples = nuggets.project.results("rows")["samples"]
    assert [one["scores"]["nugget_recall"] for one in samples] == [1.0, 1.0, None]
    assert nuggets.project.results("rows")["scenario"].get("made") is None
    assert [one["answer"] for one in samples] == ["30 days"] * 3


@pytest.mark.full
def test_a_run_says_that_a_list_is_of_other_texts(nuggets: Nuggets) -> None:
    nuggets.questions(2, "--rag-nuggets")
    nuggets.project.file(
        "questions_target.py", 'def answer(question):\n    return {"answer": "x", "contexts": []}\n'
    )
    path = nuggets.path / "questions.rageval.yaml"
    judge = f"{{model: m, base_url: '{nuggets.server.base_url}', api_key_env: MAKING_KEY}}"
    text = path.read_text("utf-8").replace("metrics: [", "metrics: [nugget_recall, ", 1)
    path.write_text(f"{text}\njudge: {judge}\n", "utf-8")
    old = "*1 row changed since their nuggets were listed*"
    result = nuggets.project.pytest("questions.rageval.yaml", NO_CONTROLS)
    result.stdout.no_fnmatch_line(old)
    assert nuggets.project.results("questions")["metrics"]["nugget_recall"]["mean"] == 1.0
    rows = nuggets.rows("questions.jsonl")
    rows[0]["references"] = ["Another answer."]
    nuggets.project.file("questions.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    result = nuggets.project.pytest("questions.rageval.yaml", NO_CONTROLS)
    result.stdout.fnmatch_lines([old])


@pytest.mark.full
def test_the_scenario_says_that_the_lists_are_not_read_yet(nuggets: Nuggets) -> None:
    nuggets.make()
    result = nuggets.project.pytest("rows.rageval.yaml")
    result.stdout.fnmatch_lines(["*column 'nuggets' is not read: write 'metrics: *nugget_recall*"])


@pytest.mark.full
def test_the_scenario_may_be_in_another_folder_than_the_data(nuggets: Nuggets) -> None:
    nuggets.project.file("data/own.jsonl", json.dumps(ROWS[0]) + "\n")
    named = ["--rag-init=evals", "--rag-from=data/own.jsonl", "--rag-nuggets"]
    assert nuggets.project.pytest(*named, *nuggets.models).ret == 0
    assert nuggets.rows("data/own-nuggets.jsonl")[0]["nuggets"]
    text = (nuggets.path / "evals" / "own.rageval.yaml").read_text("utf-8")
    assert "answers: {path: ../data/own-nuggets.jsonl, key: id}" in text
    result = nuggets.project.pytest("evals/own.rageval.yaml")
    result.stdout.fnmatch_lines(["*write in own_target.py how your system is asked*"])


@pytest.mark.full
def test_only_rows_that_lack_a_list_are_asked_for(nuggets: Nuggets) -> None:
    nuggets.make()
    own = nuggets.rows()
    own[0]["nuggets"] = ["by hand"]
    nuggets.project.file("rows-nuggets.jsonl", "".join(json.dumps(row) + "\n" for row in own))
    more = {"id": "d", "question": "How long is the warranty?", "references": ["Two years."]}
    changed = ROWS[1] | {"references": ["Acme pays."]}
    nuggets.write([ROWS[0], changed, ROWS[2], more])
    before = len(nuggets.asked())
    result = green(nuggets.make("--rag-cache=off", NO_CONTROLS))
    assert len(nuggets.asked()) == before + 2
    assert nuggets.rows()[:3] == own
    assert nuggets.rows()[3]["nuggets"] == [nugget("Two years.")]
    result.stdout.fnmatch_lines(["4 rows: 1 list to make", "  changed since*: b; look whether*"])
    asked = len(nuggets.asked())
    result = nuggets.make("--rag-cache=off")
    result.stdout.fnmatch_lines(["nothing is left to make"])
    assert len(nuggets.asked()) == asked


def test_a_scenario_that_is_there_stays_and_the_line_for_it_is_said(nuggets: Nuggets) -> None:
    scenario = "name: mine\ndataset: rows.jsonl\nmetrics: [em]\ntarget: app:answer\n"
    nuggets.project.file("rows.rageval.yaml", scenario)
    result = green(nuggets.make())
    assert (nuggets.path / "rows.rageval.yaml").read_text("utf-8") == scenario
    result.stdout.fnmatch_lines(
        ["write in rows.rageval.yaml:  answers: {path: rows-nuggets.jsonl, key: id}"]
    )
    other = scenario.replace("[em]", "[em, nugget_recall]") + "answers: recorded.jsonl\n"
    nuggets.project.file("rows.rageval.yaml", other)
    result = nuggets.make()
    result.stdout.fnmatch_lines(["*joins recorded.jsonl already*"])
    result.stdout.no_fnmatch_line("*add nugget_recall*")


@pytest.mark.full
def test_what_people_say_of_rows_counts(nuggets: Nuggets) -> None:
    nuggets.project.file(
        "rows.rageval.yaml",
        "name: rows\ndataset: {path: rows.jsonl, reviews: [review.csv]}\nmetrics: [em]\n"
        "target: app:answer\nanswers: {path: rows-nuggets.jsonl, key: id}\n",
    )
    nuggets.project.file("app.py", "def answer(question):\n    return question\n")
    digests = {
        row["id"]: review_digest(
            Sample(row["id"], question=row["question"], references=tuple(row["references"]))
        )
        for row in ROWS
    }
    nuggets.project.file(
        "review.csv",
        "id,question,reference,verdict,reviewer,digest\n"
        f"a,How long?,A month.,edit,Ann,{digests['a']}\n"
        f"b,Who pays the postage?,The customer pays postage.,reject,Ann,{digests['b']}\n",
    )
    assert nuggets.make().ret == 0
    lists = {row["id"]: row.get("nuggets") for row in nuggets.rows()}
    assert lists == {"a": [nugget("A month.")], "b": None, "c": None}
    nuggets.project.pytest("rows.rageval.yaml")
    samples = nuggets.project.results("rows")["samples"]
    assert [one["id"] for one in samples] == ["a", "c"]
    assert not any(one.get("invalid") for one in samples)


@pytest.mark.full
def test_what_is_dropped_and_lacks_a_list_is_said(nuggets: Nuggets) -> None:
    def nuggets_of(prompt: str) -> Any:
        listed = of_answers(prompt)
        is_first = listed[0]["text"] == "Items: 30 days."
        return [*listed, nugget("In gold.", "okay"), nugget("in gold")] if is_first else listed

    nuggets.server.options.answer = listing(
        nuggets_of, unsupported=["In gold.", "in gold", "The customer pays postage."]
    )
    result = green(nuggets.make())
    assert [len(row.get("nuggets", ())) for row in nuggets.rows()] == [1, 0, 0]
    result.stdout.fnmatch_lines(
        [
            "1 list of nuggets, with 1 nugget",
            "  2 nuggets dropped: not supported in full",
            "  1 nugget dropped: another one says the same",
            "  1 row without nuggets: *",
        ]
    )


@pytest.mark.full
def test_a_judge_that_finds_everything_right_makes_no_list(nuggets: Nuggets) -> None:
    def agree(body: Any) -> str:
        prompt = prompt_in(body)
        count = prompt.count("</statement>")
        verdicts = [{"n": at + 1, "support": "full", "reason": ""} for at in range(count)]
        return listing()(body) if is_listing(prompt) else json.dumps({"verdicts": verdicts})

    nuggets.server.options.answer = agree
    result = red(nuggets.make())
    assert nuggets.names() == set()
    assert not any(map(is_listing, nuggets.asked()))
    result.stdout.fnmatch_lines(["NOT DONE: judge 'm' does not tell*"])


@pytest.mark.full
def test_a_call_that_fails_writes_nothing_and_the_same_command_goes_on(nuggets: Nuggets) -> None:
    more = ["--rag-concurrency=1", NO_CONTROLS]
    nuggets.server.then("ok", "500")  # one of the four calls
    result = red(nuggets.make(*more))
    assert nuggets.names() == set()
    result.stdout.fnmatch_lines(["NOT DONE: 1 of 2 lists could not be made:", "nothing is *"])
    answered = len(nuggets.asked()) - 1
    assert nuggets.make(*more).ret == 0
    assert len(nuggets.asked()) == answered + 1 + (4 - answered)


@pytest.mark.full
def test_without_a_list_no_question_is_written_either(nuggets: Nuggets) -> None:
    nuggets.questions(2, NO_CONTROLS)
    for name in nuggets.names():
        (nuggets.path / name).unlink()
    nuggets.server.then("ok", "500")
    result = red(nuggets.questions(2, "--rag-nuggets", "--rag-concurrency=1", NO_CONTROLS))
    assert nuggets.names() == set()
    result.stdout.fnmatch_lines(["NOT DONE: 1 of 2 lists could not be made:", "nothing is *"])
    assert nuggets.questions(2, "--rag-nuggets", NO_CONTROLS).ret == 0
    assert all(row["nuggets"] for row in nuggets.rows("questions.jsonl"))


@pytest.mark.full
def test_a_dry_run_says_the_calls_and_asks_nobody(nuggets: Nuggets) -> None:
    result = green(nuggets.make("--rag-dry-run", NO_CONTROLS, "--rag-set=judge.price.input=1"))
    assert nuggets.asked() == []
    assert nuggets.names() == set()
    # Of two rows two calls each; the second is made where the reply to the first can be read.
    assert calls_in(result) == (4, 2, 4)
    result.stdout.fnmatch_lines(["DRY RUN: nothing was asked*"])
    nuggets.make(NO_CONTROLS)
    (nuggets.path / "rows-nuggets.jsonl").unlink()
    result = nuggets.make("--rag-dry-run", NO_CONTROLS)
    result.stdout.fnmatch_lines(["judge     m: 0 calls, 4 answers in the cache*"])


@pytest.mark.full
def test_made_questions_get_lists_that_their_passages_support(nuggets: Nuggets) -> None:
    result = green(nuggets.questions(3, "--rag-nuggets"))
    rows = nuggets.rows("questions.jsonl")
    assert [row["nuggets"] for row in rows] == [[nugget(row["references"][0])] for row in rows]
    result.stdout.fnmatch_lines(["3 lists of nuggets, with 3 nuggets"])
    text = (nuggets.path / "questions.rageval.yaml").read_text("utf-8")
    assert "# Also: nugget_recall" in text
    assert "nugget_recall" not in re.sub(r"#.*", "", text)


@pytest.mark.full
def test_an_unanswerable_question_gets_no_list(nuggets: Nuggets) -> None:
    unanswerable = "--rag-set=questions.types={unanswerable: 1}"
    nuggets.questions(2, "--rag-nuggets", unanswerable)
    assert ["nuggets" in row for row in nuggets.rows("questions.jsonl")] == [False, False]
    assert not any(map(is_listing, nuggets.asked()))


@pytest.mark.full
def test_questions_of_before_keep_none_and_the_way_to_lists_works(nuggets: Nuggets) -> None:
    nuggets.questions(2)
    before = nuggets.rows("questions.jsonl")
    result = nuggets.questions(4, "--rag-nuggets")
    rows = nuggets.rows("questions.jsonl")
    assert rows[:2] == before
    assert [bool(row.get("nuggets")) for row in rows] == [False, False, True, True]
    found = re.search(r"2 questions without nuggets.*later: pytest (.*)", result.stdout.str())
    assert found is not None
    args = found[1].replace("--rag-judge-model=NAME", "").split()
    green(nuggets.project.pytest(*args, *nuggets.models))
    lists = nuggets.rows("questions-nuggets.jsonl")
    assert [bool(row.get("nuggets")) for row in lists] == [True, True, False, False]
    assert [row["id"] for row in lists] == [row["id"] for row in rows]


@pytest.mark.full
def test_a_dry_run_counts_the_lists_of_questions(nuggets: Nuggets) -> None:
    shares = "--rag-set=questions.types={single: 1}"
    without = calls_in(nuggets.questions(3, "--rag-dry-run", NO_CONTROLS, shares))
    with_lists = calls_in(
        nuggets.questions(3, "--rag-dry-run", NO_CONTROLS, shares, "--rag-nuggets")
    )
    assert with_lists[2] == without[2] + 6
    assert with_lists[1] == without[1]  # no question may pass its checks
    assert without[0] < with_lists[0] < without[0] + 6
    nuggets.questions(3, NO_CONTROLS)
    for name in nuggets.names():
        (nuggets.path / name).unlink()
    result = nuggets.questions(3, "--rag-dry-run", NO_CONTROLS, "--rag-nuggets")
    assert calls_in(result) == (6, 3, 6)  # the questions are in the cache


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--rag-from=docs"], "*docs is a folder*--rag-questions=50*"),
        (["--rag-from=none.jsonl"], "*no such file*"),
        (["--rag-from=rows.jsonl", "--rag-set=gates.em=1"], "*gates.em=1*only keys of 'dataset'*"),
        (["--rag-from=rows.jsonl", "--rag-set=embedding.model=e"], "*embedding.model: with*"),
        (["--rag-from=rows.jsonl", "--rag-ci=github"], "*afterwards, without --rag-nuggets*"),
        (["--rag-from=rows.jsonl", "--rag-questions-model=w"], "*goes with --rag-questions*"),
    ],
)
def test_what_cannot_be_is_a_usage_error(nuggets: Nuggets, args: list[str], said: str) -> None:
    result = nuggets.project.pytest("--rag-init", "--rag-nuggets", *nuggets.models, *args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([said])
    assert nuggets.asked() == []


@pytest.mark.full
def test_it_needs_a_model_and_ids(nuggets: Nuggets) -> None:
    named = ["--rag-init", "--rag-from=rows.jsonl", "--rag-nuggets"]
    result = wrong_use(nuggets.project.pytest(*named))
    result.stderr.fnmatch_lines(["*--rag-nuggets needs a model*--rag-judge-model=NAME*"])
    nuggets.write([{name: row[name] for name in ("question", "references")} for row in ROWS])
    result = wrong_use(nuggets.make())
    result.stderr.fnmatch_lines(["*no column of ids*dataset.key_map.id=NAME*"])
    nuggets.write([{**row, "key": row["id"], "id": None} for row in ROWS])
    assert nuggets.make("--rag-set=dataset.key_map.id=key").ret == 0
    assert [row["id"] for row in nuggets.rows()] == ["a", "b", "c"]


def test_the_scenario_of_recorded_answers_runs(nuggets: Nuggets) -> None:
    """Lists are no answers: those of the rows are scored."""
    rows = nuggets.project.path / "rows.jsonl"
    lines = [json.loads(line) for line in rows.read_text("utf-8").splitlines()]
    nuggets.project.rows([{**line, "answer": "30 days"} for line in lines], "rows.jsonl")
    nuggets.make()
    result = nuggets.project.pytest("rows.rageval.yaml")
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    samples = nuggets.project.results("rows")["samples"]
    assert {sample["answer"] for sample in samples} == {"30 days"}
