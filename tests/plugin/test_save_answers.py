"""``--rag-save-answers``: what a target answered becomes the data of later offline runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

import pytest_rageval.engine.scoring.ask_target
import pytest_rageval.plugin.run.look_ahead  # noqa: F401
from pytest_rageval.targets.base import TARGET_REGISTRY
from tests.plugin.conftest import Project, Run, wrong_use

TARGET_REGISTRY.names()

APP = """
DOCS = {"paris": ("Paris  \\n", "a, \\"b\\".md"), "rome": ("=Rome, 甲", None), "none": ("", None)}


def answer(question, contexts=None):
    words = question.lower().split()
    if "raise" in words:
        raise ValueError("no index")
    found = [DOCS[word] for word in words if word in DOCS]
    return {
        "answer": " " + question.split()[-1] + " \\r\\n",
        "contexts": [{"text": text, "doc_name": doc} for text, doc in found],
        "retrieved_ids": ["d1", "d2", "d1"],
    }
"""
ROWS: list[dict[str, Any]] = [
    {
        "id": "one",
        "q": "say Paris rome Paris",
        "gold": [["Paris", "paris"], ["Rome"]],
        "reference_contexts": ["Paris", "Oslo"],
        "relevant_ids": {"d1": 2, "d9": 1},
        "doc_name": "a.md",
        "tags": ["slow", "two words"],
        "level": 3,
        "where": {"page": 4},
    },
    {"id": "二", "q": "say none rome", "gold": "[Rome]", "relevant_ids": ["d2"], "level": 1.5},
    {"id": "lost", "q": "raise", "gold": ["x"], "answer": "old", "contexts": ["old"], "level": 1},
    {"id": "empty", "q": "say nothing", "gold": ["nothing"], "reference_contexts": ["x"]},
    {"id": "no-question", "gold": ["x"]},
    {"id": "skipped", "q": "say Paris", "gold": ["x"], "skip": "known"},
    {"id": "odd", "q": ["a", "list"], "gold": ["x"]},
]


@pytest.fixture
def online(project: Project) -> Project:
    """Return a project with a target, metrics of answers, contexts and ids, and odd rows."""
    project.file("app.py", APP)
    project.rows(ROWS)
    plain = {
        "name": "qa",
        "target": "app:answer",
        "dataset": {"path": "qa.jsonl", "key_map": {"question": "q", "references": "gold"}},
        "metrics": ["em", "f1", "stringem", "hit_rate", "recall", "ndcg@2"],
        "doc_weights": {"a.md": 2.0},
        "thresholds": {"f1": 0.2},
        "gates": {"by": {"level": {"f1": 0.0}}, "unscored": 1.0},
    }
    project.file("qa.rageval.yaml", json.dumps(plain))
    return project


def scored(project: Project) -> list[dict[str, Any]]:
    """Return what both runs must agree in: the scores, their weights, outcomes and contexts."""
    names = ("id", "index", "scores", "weighted_score", "sample_weight", "outcome", "doc_name")
    return [{name: one[name] for name in names} for one in project.results()["samples"]]


def means(project: Project) -> Any:
    """Return the figures; only a run with a target knows that it failed to answer.

    Without one, a row that has no answer is no sample.
    """
    found = project.results()
    found["counts"].pop("invalid")
    for figures in (*found["metrics"].values(), found["weighted_score"]):
        figures.pop("failed")
    return found["metrics"], found["weighted_score"], found["counts"]


@pytest.mark.full
@pytest.mark.parametrize("suffix", ["jsonl", "json", "csv"])
def test_the_file_gives_the_same_scores_without_the_target(
    online: Project, run: Run, suffix: str
) -> None:
    """[A21] The same scenario without its target, on the file."""
    result = run(f"--rag-save-answers=out/answers.{suffix}")
    result.stdout.fnmatch_lines([f"answers saved: out/answers.{suffix}"])
    before, figures = scored(online), means(online)
    assert {one["outcome"] for one in before} >= {"passed", "error", "skipped"}
    assert any(one["scores"]["recall"] for one in before)
    assert any(one["scores"]["ndcg@2"] for one in before)
    changes = ["--rag-set", "target=null", "--rag-set", f"dataset.path=out/answers.{suffix}"]
    again = run(*changes, "-W", "ignore")  # some rows have ids to compare, others texts
    assert again.ret == result.ret
    assert scored(online) == before
    assert means(online) == figures


def test_labels_that_do_not_count_are_not_saved_beside_answers_that_may_be_others(
    project: Project, run: Run
) -> None:
    """[A21, F3] Ben's is of an answer that is not on record; of a row without one nothing is."""
    rows = [
        {"id": "a", "answer": "a", "anna": 1, "ben": ""},
        {"id": "b", "answer": "b", "anna": 1},
        {"id": "c", "answer": "c", "ben": 1},
    ]
    project.rows([{**row, "question": "Q?", "references": [row["id"]]} for row in rows])
    project.file("app.py", "def answer(question, id):\n    return None if id == 'b' else id\n")
    human = {"column": ["anna", "ben"], "annotators": "anna", "of": "em", "drawn": "random"}
    scenario = {"name": "qa", "target": "app:answer", "dataset": "qa.jsonl", "metrics": ["em"]}
    project.file("qa.rageval.yaml", json.dumps({**scenario, "human": human}))
    run("--rag-save-answers=all.jsonl").stdout.fnmatch_lines(
        ["labels NOT saved in all.jsonl (anna, ben): in 1 row they are, or may be, of another*"]
    )
    project.rows([{**row, "question": "Q?", "references": [row["id"]]} for row in rows[:2]])
    assert "NOT saved" not in run("--rag-save-answers=two.jsonl").stdout.str()
    saved = [json.loads(line) for line in (project.path / "two.jsonl").read_text().splitlines()]
    assert [row.get("anna") for row in saved] == [1, None]


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_labels_of_other_answers_are_not_saved_beside_the_new_ones(
    project: Project, run: Run, suffix: str
) -> None:
    """[A21, F3] Of two labelled answers one has changed; the other is no random draw."""
    rows = [{"id": name, "question": "Q?", "answer": name, "ok": 1} for name in "ab"]
    lines = (json.dumps({**row, "references": [row["id"]]}) for row in rows)
    project.file("qa.jsonl", "\n".join(lines))
    project.file("app.py", "def answer(question, id):\n    return 'a'\n")
    human = {"column": "ok", "of": "em", "drawn": "random"}
    scenario = {"name": "qa", "target": "app:answer", "dataset": "qa.jsonl", "metrics": ["em"]}
    project.file("qa.rageval.yaml", json.dumps({**scenario, "human": human}))
    name = f"answers.{suffix}"
    result = run(f"--rag-save-answers={name}")
    result.stdout.fnmatch_lines([f"labels NOT saved in {name} (ok): in 1 row they are, or*"])
    again = run("--rag-set", "target=null", "--rag-set", f"dataset={name}")
    again.stdout.fnmatch_lines(["*human.column: no row has a column 'ok'.*"])
    project.file("app.py", "def answer(question, id):\n    return id\n")
    assert "NOT saved" not in run(f"--rag-save-answers={name}").stdout.str()
    again = run("--rag-set", "target=null", "--rag-set", f"dataset={name}")
    again.stdout.fnmatch_lines(["em by people: 2 labelled answers, fewer than 10"])


@pytest.mark.full
def test_the_rows_are_those_of_the_data_in_their_order(online: Project, workers: Run) -> None:
    """[A21] Their columns and metadata, the answer as given, contexts with their documents."""
    workers("--rag-save-answers", "answers.jsonl")
    lines = (online.path / "answers.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["id"] for row in rows] == [row["id"] for row in ROWS]
    assert rows[0] == {
        "id": "one",
        "q": "say Paris rome Paris",
        "gold": [["Paris", "paris"], ["Rome"]],
        "reference_contexts": ["Paris", "Oslo"],
        "reference_ids": {"d1": 2, "d9": 1},
        "retrieved_ids": ["d1", "d2", "d1"],
        "answer": " Paris \r\n",
        "contexts": [
            {"text": "Paris", "doc_name": 'a, "b".md'},
            {"text": "=Rome, 甲"},
            {"text": "Paris", "doc_name": 'a, "b".md'},
        ],
        "doc_name": "a.md",
        "tags": ["slow", "two words"],
        "level": 3,
        "where": {"page": 4},
    }
    # Not answered: what the data held in the place of an answer is none of it.
    assert rows[2] == {"id": "lost", "q": "raise", "gold": ["x"], "level": 1}
    assert rows[5]["skip"] == "known"
    assert rows[6] == {"id": "odd"}


def test_a_partial_run_says_so(online: Project, run: Run) -> None:
    """[E4] It saves what it has."""
    result = run("--rag-save-answers=answers.jsonl", "-k", "one or empty")
    result.stdout.fnmatch_lines(["answers saved: answers.jsonl (partial run: 2 of 7 samples)"])
    assert len((online.path / "answers.jsonl").read_text("utf-8").splitlines()) == 2


@pytest.fixture
def recorded(project: Project) -> Project:
    """Return a project with 30 rows that hold old answers, and a target that gives new ones."""
    project.file("tg.py", "def answer(question):\n    return 'new ' + question\n")
    rows = [
        {"id": f"q{at}", "question": f"{at}", "references": [f"{at}"], "answer": f"old {at}"}
        for at in range(30)
    ]
    project.rows(rows)
    project.scenario(
        "name: qa\ndataset: qa.jsonl\ntarget: {use: 'tg:answer', concurrency: 1}\n"
        "metrics: [f1]\ngates: {f1: 0.3}\n"
    )
    return project


def saved_answers(project: Project) -> dict[str, str | None]:
    """Return the answer of each row of the file of answers by its id."""
    lines = (project.path / "new.jsonl").read_text("utf-8").splitlines()
    return {row["id"]: row.get("answer") for row in map(json.loads, lines)}


def test_a_sampled_run_saves_the_rows_it_drew(recorded: Project, run: Run) -> None:
    """Else the rows that were not asked pass for skipped ones: a whole run, with old answers."""
    run("--rag-save=main")
    result = run("--rag-compare=main", "--rag-sample=12", "--rag-save-answers=new.jsonl")
    result.stdout.fnmatch_lines(["answers saved: new.jsonl (sampled run: 12 of 30 rows)"])
    drawn = recorded.results()["sample"]["drawn"]
    assert sorted(saved_answers(recorded)) == sorted(drawn)
    assert saved_answers(recorded) == {name: f"new {name[1:]}" for name in saved_answers(recorded)}
    assert len(drawn) == 12


def test_a_stopped_run_saves_the_rows_it_asked(recorded: Project, run: Run) -> None:
    """The old answers of the others are not those of the target."""
    run("--rag-set=stop=decided", "--rag-save-answers=new.jsonl").stdout.fnmatch_lines(
        ["answers saved: new.jsonl (stopped run: * of 30 samples)"]
    )
    found = saved_answers(recorded)
    assert len(found) == recorded.results()["counts"]["ran"] < 30
    assert found == {name: f"new {name[1:]}" for name in found}


def test_a_skipped_row_is_saved_without_its_old_answer(recorded: Project, run: Run) -> None:
    """Whatever skipped it: a mark that pytest gave it is not in the row."""
    recorded.conftest(
        """
        import pytest

        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name == "q3":
                    item.add_marker(pytest.mark.skip(reason="slow"))
        """
    )
    run("--rag-set=skip=[{where: {id: q5}, reason: known}]", "--rag-save-answers=new.jsonl")
    assert recorded.outcomes()["q3"] == recorded.outcomes()["q5"] == "skipped"
    found = saved_answers(recorded)
    assert (found["q3"], found["q4"], found["q5"]) == (None, "new 4", None)


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("qa.jsonl", ()),
        ("./out/../qa.jsonl", ("-k", "q1")),
        ("qa.jsonl", ("-n", "2", "-p", "xdist")),
        (".rageval/qa/baselines/main.json", ("--rag-compare=main",)),
        (".rageval/qa/baselines/main.json", ("--rag-save=main",)),
        ("main.json", ("--rag-save=main.json",)),
    ],
)
def test_answers_take_the_place_of_nothing_that_the_run_reads_or_saves(
    recorded: Project, file: str, more: tuple[str, ...]
) -> None:
    """Refused before anything is asked: a part of the run would be all rows that are left."""
    recorded.file("tg.py", "def answer(question):\n    open('asked', 'w').close()\n    return ''\n")
    (recorded.path / "out").mkdir()
    before = (recorded.path / "qa.jsonl").read_bytes()
    result = recorded.pytest(f"--rag-save-answers={file}", *more)
    assert result.ret not in (0, pytest.ExitCode.NO_TESTS_COLLECTED)
    assert "--rag-save-answers: " in result.stdout.str() + result.stderr.str()
    assert (recorded.path / "qa.jsonl").read_bytes() == before
    assert not (recorded.path / "asked").exists()


def test_answers_of_one_scenario_do_not_replace_the_rows_of_a_refused_one(online: Project) -> None:
    """The other scenario is refused because the answers would replace its rows."""
    text = (online.path / "qa.rageval.yaml").read_text("utf-8")
    online.file("rb.rageval.yaml", text.replace('"qa"', '"rb"').replace("qa.jsonl", "rb.jsonl"))
    before = online.file("rb.jsonl", (online.path / "qa.jsonl").read_text("utf-8")).read_bytes()
    result = online.pytest("--continue-on-collection-errors", "--rag-save-answers=rb.jsonl")
    result.stdout.fnmatch_lines(["answers NOT saved: a scenario could not be used, *"])
    assert (online.path / "rb.jsonl").read_bytes() == before


def test_a_merge_keeps_the_rows_of_the_scenario(recorded: Project) -> None:
    before = (recorded.path / "qa.jsonl").read_bytes()
    recorded.pytest("--rag-shard=1/1", "--rag-output=shard")
    result = recorded.pytest("--rag-merge=shard", "--rag-save-answers=qa.jsonl")
    result.stdout.fnmatch_lines(["answers NOT saved: qa.jsonl is a file that the scenario reads"])
    assert (recorded.path / "qa.jsonl").read_bytes() == before


@pytest.mark.full
def test_one_file_is_for_one_scenario(online: Project) -> None:
    text = (online.path / "qa.rageval.yaml").read_text("utf-8")
    online.file("rb.rageval.yaml", text.replace('"qa"', '"rb"'))
    online.file("offline.rageval.yaml", json.dumps({
        "name": "offline", "dataset": [{"answer": "a", "references": ["a"]}], "metrics": ["em"],
    }))  # fmt: skip
    result = online.pytest("--rag-save-answers=answers.jsonl")
    result.stdout.fnmatch_lines_random(
        [
            "answers saved: answers.jsonl",
            "answers NOT saved: answers.jsonl holds the answers of qa",
            "answers NOT saved: the scenario has no target",
        ]
    )


@pytest.mark.parametrize("name", ["answers.xlsx", "answers", ".", "answers.jsonl.gz"])
def test_a_file_that_cannot_be_is_wrong_use(online: Project, name: str) -> None:
    """[E12] Before anything is asked."""
    result = wrong_use(online.pytest(f"--rag-save-answers={name}"))
    result.stderr.fnmatch_lines(["*--rag-save-answers*expected a file ending in .jsonl, .json, *"])


@pytest.mark.full
def test_a_file_that_cannot_be_written_is_said(online: Project) -> None:
    online.file("taken", "")
    result = online.pytest("--rag-save-answers=taken/answers.jsonl")
    result.stdout.fnmatch_lines(["answers NOT saved: taken/answers.jsonl: *"])


@pytest.mark.full
def test_what_a_test_function_checks_can_be_saved(project: Project, run: Run) -> None:
    """[E6] Its scenario has no target; it asks whom it likes."""
    rows = [{"id": "a", "question": "Where?", "references": ["Paris"]}]
    project.file("qa.rageval.yaml", json.dumps({"name": "qa", "dataset": rows, "metrics": ["em"]}))
    project.tested_by("rageval.check(answer='Paris', contexts=['c'])", given="rag_sample, rageval")
    run("test_bot.py", "--rag-save-answers=answers.jsonl").assert_outcomes(passed=1)
    (line,) = (project.path / "answers.jsonl").read_text("utf-8").splitlines()
    assert json.loads(line) == {**rows[0], "answer": "Paris", "contexts": [{"text": "c"}]}


@pytest.mark.full
@pytest.mark.parametrize("call", ["assert False", "rageval.check(None)", "pass"])
def test_the_answer_of_the_data_is_not_saved_for_one_that_did_not_come(
    project: Project, run: Run, call: str
) -> None:
    """[E6] Else a later run without the system would score it."""
    row = {"id": "a", "question": "Where?", "references": ["Paris"], "relevant_ids": ["d1"]}
    old = {"answer": "Paris", "contexts": ["old"], "retrieved_ids": ["d1"]}
    plain = {"name": "qa", "dataset": [{**row, **old}], "metrics": ["em"]}
    project.file("qa.rageval.yaml", json.dumps(plain))
    project.tested_by(call, given="rag_sample, rageval")
    run("test_bot.py", "--rag-save-answers=answers.jsonl")
    (line,) = (project.path / "answers.jsonl").read_text("utf-8").splitlines()
    saved = json.loads(line)
    assert {name for name in saved if saved[name] in old.values()} == set()
