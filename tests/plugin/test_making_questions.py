"""``--rag-init --rag-from=DOCS --rag-questions=N``: what is asked, written, and goes on."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_openai import FakeOpenAI
from making import Making
from scripted_questions import (
    RETURNS,
    Reply,
    is_alone,
    is_of_controls,
    is_writing,
    passages_in,
    prompt_in,
    reply,
    replying,
)

from tests.plugin.conftest import Project, green, red, wrong_use

ROWS = tomllib.loads(Path(__file__).with_name("making_questions.toml").read_text("utf-8"))

KEY = "sk-live-0123456789abcdef"

WARRANTY = """\
# 保修

保修期为两年，从购买之日算起。电池的保修期只有六个月，因为电池会老化，这一点请特别注意。

维修期间可以免费借用一台同型号的设备，但需要交纳押金五十元，归还设备时退还押金。
"""


class Documents(Making):
    """A project with two documents, and the command that makes questions of them."""

    file = "questions.jsonl"

    def __init__(self, project: Project, server: FakeOpenAI) -> None:
        super().__init__(project, server)
        project.file("docs/returns.md", RETURNS)
        project.file("docs/warranty.md", WARRANTY)

    @property
    def command(self) -> list[str]:
        """The command but for the number of questions."""
        return ["--rag-init", "--rag-from=docs", *self.models]

    def make(self, count: int, *more: str) -> pytest.RunResult:
        """Run the command."""
        return self.project.pytest(*self.command, f"--rag-questions={count}", *more)

    def reasons(self) -> list[str]:
        """Return why questions were rejected, in the order of the file."""
        return [row["reason"] for row in self.rows("rejected.jsonl")]

    def texts(self) -> dict[str, str]:
        """Return what was written beside the documents, by name."""
        files = sorted(path for path in self.path.iterdir() if path.is_file())
        return {path.name: path.read_text("utf-8") for path in files}


@pytest.fixture
def documents(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Documents]:
    """Return a project with documents, whose server does all as it should."""
    monkeypatch.setenv("MAKING_KEY", KEY)
    with FakeOpenAI(answer=reply) as server:
        made = Documents(project, server)
        yield made
    assert not any(
        KEY.encode() in path.read_bytes() for path in made.path.rglob("*") if path.is_file()
    )


@pytest.mark.full
def test_a_folder_becomes_rows_a_scenario_and_a_target(documents: Documents) -> None:
    result = green(documents.make(10))
    rows = documents.rows()
    assert {row["question_type"] for row in rows} == {
        *("single", "comparison", "paraphrase", "unanswerable")
    }
    first = next(row for row in rows if row["question_type"] == "single")
    passage = (documents.path / "docs" / first["doc_name"]).read_text("utf-8")
    assert all(text in passage for text in (*first["reference_contexts"], *first["evidence"]))
    assert first["references"][0] in first["question"]
    assert {row["made_by"] for row in rows} == {"model"}
    assert set(documents.texts()) >= {
        *("questions.jsonl", "questions.rageval.yaml", "questions_target.py")
    }
    result.stdout.fnmatch_lines(["docs: 2 documents (2 Markdown)*", "drawn: 10 questions*"])


@pytest.mark.full
def test_the_scenario_runs_as_it_is_written(documents: Documents) -> None:
    documents.make(10)
    documents.project.file(
        "questions_target.py",
        "import pathlib\n"
        "def answer(question):\n"
        "    if question.startswith('Who painted'):\n"
        "        return {'answer': 'I do not know.', 'contexts': ['nothing']}\n"
        "    docs = sorted(pathlib.Path('docs').glob('*.md'))\n"
        "    return {'answer': 'so it is', 'contexts': [d.read_text('utf-8') for d in docs]}\n",
    )
    result = green(documents.project.pytest("questions.rageval.yaml"))
    result.stdout.fnmatch_lines(["8 made questions, 0 reviewed*", "gate recall@5.mean*passed*"])
    assert documents.project.results("questions")["metrics"]["refusal"]["mean"] == 1.0


@pytest.mark.full
def test_the_scenario_names_the_judge_and_no_secret(documents: Documents) -> None:
    """The fixture looks for the key in all files."""
    documents.make(2)
    text = (documents.path / "questions.rageval.yaml").read_text("utf-8")
    assert f"base_url: {documents.server.base_url}" in text.replace('"', "")
    assert "api_key_env: MAKING_KEY" in text


@pytest.mark.full
def test_the_same_command_makes_nothing_twice_and_more_go_on(documents: Documents) -> None:
    documents.make(4)
    before, asked = documents.texts(), len(documents.asked())
    assert documents.make(4).ret == 0
    assert documents.texts() == before
    assert len(documents.asked()) == asked
    assert documents.make(8, "--rag-cache=off").ret == 0
    assert documents.texts()["questions.jsonl"].startswith(before["questions.jsonl"])
    known = {row["id"] for row in (*documents.rows(), *documents.rows("rejected.jsonl"))}
    assert len(known) == 8
    writing = [prompt for prompt in documents.asked()[asked:] if is_writing(prompt)]
    assert len(writing) == 4


@pytest.mark.full
def test_a_question_whose_id_is_taken_is_not_asked_for_again(documents: Documents) -> None:
    documents.make(1)
    path = documents.path / "questions.jsonl"
    row = json.loads(path.read_text(encoding="utf-8"))
    row.update(made_by="a person", question="Who sweeps the yard on Mondays?")
    del row["passages"]
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    result = documents.make(1)
    result.stdout.fnmatch_lines(["wrote questions.jsonl"])
    lines = path.read_text(encoding="utf-8").splitlines()
    ids = [json.loads(line)["id"] for line in lines]
    assert len(ids) == len({*ids}) == 2
    assert row["id"] in ids


@pytest.mark.full
def test_a_full_cache_gives_the_same_files_to_the_byte(documents: Documents) -> None:
    documents.make(9)
    first, asked = documents.texts(), len(documents.asked())
    for name in first:
        (documents.path / name).unlink()
    assert documents.make(9, "--rag-cache=replay").ret == 0
    assert documents.texts() == first
    assert len(documents.asked()) == asked


def _no_quote(prompt: str, said: Reply) -> Reply:
    return said | {"quote": "Whoever sings gets a discount."} if "quote" in said else said


def _not_supported(prompt: str, said: Reply) -> Reply:
    if "verdicts" in said and not is_of_controls(prompt, "high"):
        return {"verdicts": [{"n": 1, "support": "partial", "reason": "one part is missing"}]}
    return said


def _not_clear(prompt: str, said: Reply) -> Reply:
    return {"clear": False, "answer": ""} if is_alone(prompt) else said


def _answerable(prompt: str, said: Reply) -> Reply:
    is_control = is_of_controls(prompt, "high") or is_of_controls(prompt, "low")
    return said | {"score": 1} if "score" in said and not is_control else said


def _unreadable(prompt: str, said: Reply) -> Reply | str:
    return "I would rather not." if is_writing(prompt) else said


def _same(prompt: str, said: Reply) -> Reply:
    same = {"question": "How long is the battery of Acme under warranty?"}
    return said | same if is_writing(prompt) else said


@pytest.mark.full
@pytest.mark.parametrize(
    ("change", "shares", "reason", "detail"),
    [
        (_no_quote, "{single: 1}", "no_quote", "Whoever sings gets a discount."),
        (_not_supported, "{single: 1}", "not_supported", "partial: one part is missing"),
        (_not_clear, "{single: 1}", "not_alone", "so says the judge"),
        (_not_clear, "{unanswerable: 1}", "not_alone", "so says the judge"),
        (_answerable, "{unanswerable: 1}", "answerable", "so it is"),
        (_unreadable, "{single: 1}", "unreadable", "no object with"),
    ],
)
def test_each_check_rejects_with_its_reason(
    documents: Documents,
    change: Callable[[str, Reply], Reply | str],
    shares: str,
    reason: str,
    detail: str,
) -> None:
    documents.server.options.answer = replying(change)
    result = documents.make(2, f"--rag-set=questions.types={shares}")
    assert documents.reasons() == [reason, reason]
    assert all(
        detail in row["detail"] or reason == "unreadable"
        for row in documents.rows("rejected.jsonl")
    )
    assert documents.rows() == []
    assert result.ret == 1  # there is nothing to test with
    result.stdout.fnmatch_lines(
        ["0 of 2 questions passed all checks", f"  2 rejected ({reason}): *"]
    )


@pytest.mark.full
def test_equal_questions_count_once(documents: Documents) -> None:
    documents.server.options.answer = replying(_same)
    documents.make(3, "--rag-set=questions.types={single: 1}")
    assert len(documents.rows()) == 1
    assert documents.reasons() == ["duplicate", "duplicate"]
    kept = documents.rows()[0]
    assert documents.rows("rejected.jsonl")[0]["detail"] == f"{kept['id']}: {kept['question']}"


@pytest.mark.full
def test_a_rejected_question_does_not_return_under_another_id(documents: Documents) -> None:
    documents.server.options.answer = replying(lambda p, said: _no_quote(p, _same(p, said)))
    documents.make(1, "--rag-set=questions.types={single: 1}")
    documents.server.options.answer = replying(_same)
    documents.make(2, "--rag-set=questions.types={single: 1}")
    assert documents.rows() == []
    assert documents.reasons() == ["no_quote", "rejected_before"]


@pytest.mark.full
def test_what_gave_no_usable_reply_is_asked_again(documents: Documents) -> None:
    documents.server.options.answer = replying(_unreadable)
    documents.make(1, "--rag-set=questions.types={single: 1}")
    documents.server.options.answer = reply
    assert documents.make(1, "--rag-set=questions.types={single: 1}").ret == 0
    assert len(documents.rows()) == 1
    assert documents.reasons() == []


def test_what_a_model_knows_without_the_passage_is_marked(documents: Documents) -> None:
    def know(prompt: str, said: Reply) -> Reply:
        return {"clear": True, "answer": "Two years."} if is_alone(prompt) else said

    documents.server.options.answer = replying(know)
    result = documents.make(2, "--rag-set=questions.types={single: 1}")
    assert [row["common_knowledge"] for row in documents.rows()] == [True, True]
    result.stdout.fnmatch_lines(["  2 marked as common knowledge*"])


@pytest.mark.full
def test_a_judge_that_finds_everything_right_makes_no_test_set(documents: Documents) -> None:
    def agree(prompt: str, said: Reply) -> Reply:
        return (
            {"verdicts": [{"n": 1, "support": "full", "reason": ""}]}
            if "verdicts" in said
            else said
        )

    documents.server.options.answer = replying(agree)
    result = red(documents.make(3))
    assert documents.texts() == {}
    result.stdout.fnmatch_lines(["NOT DONE: judge 'm' does not tell answers that a passage gives*"])
    assert not any(map(is_writing, documents.asked()))
    result = green(documents.make(3, "--rag-set=judge.controls=warn"))
    result.stdout.fnmatch_lines(["WARNING: judge 'm' does not tell*"])


@pytest.mark.full
def test_a_call_that_fails_writes_nothing_and_the_same_command_goes_on(
    documents: Documents,
) -> None:
    documents.server.options.fault_rates = {"500": 0.2}
    documents.server.options.sticky = True
    result = red(documents.make(10, "--rag-set=judge.controls=off"))
    assert documents.texts() == {}
    result.stdout.fnmatch_lines(
        ["NOT DONE: * of 10 questions could not be made:", "nothing is written*"]
    )
    usable = len(documents.server.chats)
    documents.server.options.fault_rates = {}
    assert documents.make(10, "--rag-set=judge.controls=off").ret == 0
    again = [prompt_in(seen.body) for seen in documents.server.chats[usable:]]
    assert set(again).isdisjoint(_answered(documents, usable))


def _answered(documents: Documents, before: int) -> set[str]:
    """Return the prompts of which a reply is in the cache, of those that were asked before."""
    kept = (documents.path / ".rageval" / ".cache").glob("*.reply-keys.jsonl")
    lines = [line for path in sorted(kept)[:1] for line in path.read_text("utf-8").splitlines()]
    return {json.loads(line)["key"]["messages"][0][1] for line in lines}


@pytest.mark.full
def test_a_budget_stops_and_keeps_what_is_paid(documents: Documents) -> None:
    price = "--rag-set=judge.price.input=1"
    red(documents.make(10, price, "--rag-budget=0.001", "--rag-set=judge.controls=off"))
    paid = len(documents.asked())
    assert 0 < paid < 20
    assert documents.make(10, price, "--rag-set=judge.controls=off").ret == 0
    asked = documents.asked()
    assert len(asked) == len(set(asked))  # nothing is paid twice


def test_a_dry_run_says_what_would_be_asked_and_asks_nobody(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAKING_KEY")
    result = green(documents.make(10, "--rag-dry-run", "--rag-set=judge.price.input=1"))
    assert documents.asked() == []
    assert documents.texts() == {}
    result.stdout.fnmatch_lines(["judge     m: about * calls (* to * as replies turn out), *"])
    result.stdout.fnmatch_lines(["DRY RUN: nothing was asked*"])


@pytest.mark.full
def test_another_model_may_write(documents: Documents) -> None:
    documents.make(3, "--rag-questions-model=w")
    models = {
        (str(seen.body["model"]), is_writing(prompt_in(seen.body)))
        for seen in documents.server.chats
    }
    assert models == {("w", True), ("m", False)}


@pytest.mark.full
def test_rows_of_people_stay_as_they_are(documents: Documents) -> None:
    own = '{"id": "mine", "question": "Is the shop open on Sundays?", "references": ["No."]}'
    documents.project.file("questions.jsonl", own)
    documents.make(3)
    assert (documents.path / "questions.jsonl").read_text("utf-8").splitlines()[0] == own
    assert documents.rows()[0]["id"] == "mine"


def test_a_comparison_is_no_repetition_of_one_half_of_it(documents: Documents) -> None:
    def one_half(prompt: str, said: Reply) -> Reply:
        same = {"question": f"What does Acme say of its {len(passages_in(prompt))} rules?"}
        return said | same | {"answer": "30 days"} if is_writing(prompt) else said

    documents.project.file("docs/more.md", RETURNS.replace("free", "at once"))
    (documents.path / "docs" / "warranty.md").unlink()
    documents.server.options.answer = replying(one_half)
    documents.make(2, "--rag-set=questions.types={single: 0.5, comparison: 0.5}")
    assert [row["question_type"] for row in documents.rows()] == ["single", "comparison"]


@pytest.mark.full
def test_a_search_that_finds_letters_is_red(documents: Documents) -> None:
    """The quote must stand in a result; that a result stands in the quote is no find."""
    documents.make(6)
    documents.project.file(
        "questions_target.py",
        "def answer(question):\n    return {'answer': 'x', 'contexts': ['a', 'e', '的', 'is']}\n",
    )
    red(documents.project.pytest("questions.rageval.yaml"))
    assert documents.project.results("questions")["metrics"]["recall@5"]["mean"] == 0.0


@pytest.mark.full
def test_quotes_that_the_documents_lost_are_said(documents: Documents) -> None:
    documents.make(4, "--rag-set=questions.types={single: 1}")
    path = documents.path / "docs" / "returns.md"
    path.write_text(RETURNS.replace("30 days", "14 days"), "utf-8")
    result = documents.make(4, "--rag-set=questions.types={single: 1}")
    result.stdout.fnmatch_lines(["1 question of questions.jsonl quotes what the documents do not*"])


@pytest.mark.parametrize(
    ("args", "said"),
    ROWS["what_cannot_be_is_a_usage_error"],
)
def test_what_cannot_be_is_a_usage_error(
    documents: Documents, args: Sequence[str], said: str
) -> None:
    result = wrong_use(documents.project.pytest(*documents.command, *args))
    result.stderr.fnmatch_lines([said])
    assert documents.asked() == []


def test_it_goes_with_documents(project: Project) -> None:
    result = wrong_use(project.pytest("--rag-questions=3"))
    result.stderr.fnmatch_lines(["*--rag-questions goes with --rag-from*"])
    project.file("docs/a.png", "no text")
    result = project.pytest(
        "--rag-init", "--rag-from=docs", "--rag-questions=3", "--rag-judge-model=m", "--rag-dry-run"
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines(["1 file not read, or not as a whole:", "  a.png: *"])
    result.stderr.fnmatch_lines(["*no document could be read*"])


@pytest.mark.full
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL], ids=["ctrl-c", "kill -9"])
def test_a_run_that_is_cut_off_loses_no_reply(documents: Documents, stop: signal.Signals) -> None:
    documents.server.options.latency_s = 0.15
    command = [sys.executable, "-m", "pytest", *documents.command, "--rag-questions=10"]
    command += ["--rag-concurrency=2", "--rag-set=judge.controls=off"]
    running = subprocess.Popen(command, cwd=documents.path, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while len(documents.server.chats) < 6 and time.monotonic() < deadline:
        time.sleep(0.02)
    running.send_signal(stop)
    out, _ = running.communicate(timeout=60)
    assert running.returncode in (2, -signal.SIGKILL)
    if stop is signal.SIGINT:
        assert "the same command goes on where this one ended" in out
    assert documents.texts() == {}
    documents.server.options.latency_s = 0.0
    before = len(documents.server.chats)
    assert documents.make(10, "--rag-set=judge.controls=off").ret == 0
    # Those in flight when it ended are the only ones that are asked twice.
    asked = documents.asked()
    assert len(asked) - len(set(asked)) <= 2
    assert before >= 6


def _erring(quote: float, support: float, clear: float, knows: float) -> Callable[..., Any]:
    """Return a model of which so large shares of replies are faulty, or know the answer."""

    def change(prompt: str, said: Reply) -> Reply:
        chance = int(hashlib.sha256(prompt.encode()).hexdigest()[:8], 16) / 16**8
        if "quote" in said and chance < quote:
            return said | {"quote": "Whoever sings gets a discount."}
        if is_alone(prompt):
            return {"clear": chance >= clear, "answer": "Two." if chance > 1 - knows else ""}
        is_control = is_of_controls(prompt, "high") or is_of_controls(prompt, "low")
        if "verdicts" in said and not is_control and chance < support:
            return {"verdicts": [{"n": 1, "support": "none", "reason": ""}]}
        return said

    return replying(change)


@pytest.mark.full
@pytest.mark.parametrize(
    "rates", [(0.1, 0.1, 0.05, 0.5), (0.05, 0.05, 0.02, 0.3), (0.15, 0.2, 0.05, 0.7)]
)
def test_the_forecast_is_near_what_is_asked(
    documents: Documents, rates: tuple[float, float, float, float]
) -> None:
    for name in range(10):
        sections = [
            f"## Rule {name}.{at}\n\nMachine {name}-{at} weighs {7 * name + at} kilos and stands "
            f"in hall {at}. Its key number {at * name} is kept by shift {name} in box {at + 3}."
            for at in range(24)
        ]
        documents.project.file(f"docs/m{name}.md", "# Machines\n\n" + "\n\n".join(sections))
    documents.server.options.answer = _erring(*rates)
    out = documents.make(80, "--rag-dry-run").stdout.str()
    forecast, least, most = map(int, re.findall(r"about (\d+) calls \((\d+) to (\d+) ", out)[0])
    documents.make(80)
    asked = len(documents.asked())
    assert least <= asked <= most
    assert forecast == pytest.approx(asked, rel=0.1)
    # What was asked shows how many questions go on: the next forecast is nearer.
    # Not more than there are passages: this model asks about their first sentences a second time.
    out = documents.make(240, "--rag-dry-run").stdout.str()
    forecast = int(re.findall(r"about (\d+) calls", out)[0])
    documents.make(240)
    assert forecast == pytest.approx(len(documents.asked()) - asked, rel=0.1)
