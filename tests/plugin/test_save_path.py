"""``save_path``: UltraRAG's figures in a place of the user's choice, and nobody's file lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_rageval import UserError, evaluate, evaluate_variants
from tests.plugin.conftest import Project, interrupted

ROWS = [
    {"id": "a", "answer": "Paris", "references": ["Paris"]},
    {"id": "b", "answer": "Rome", "references": ["Oslo"]},
]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
WHOLE = {"em": [1.0, 0.0], "avg_em": 0.5}
PLAIN = {"name": "qa", "dataset": "d.jsonl", "metrics": ["em"], "save_path": "out.json"}


def write(project: Project, keys: dict[str, Any], name: str = "qa") -> None:
    """Write a scenario of two rows, of which one is wrong."""
    project.file("d.jsonl", LINES)
    path = project.path / f"{name}.rageval.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(PLAIN | keys), "utf-8")


def written(project: Project, name: str = "out.json") -> Any:
    return json.loads((project.path / name).read_text("utf-8"))


@pytest.mark.full
@pytest.mark.parametrize(
    ("keys", "name"),
    [
        ({"name": "out.json", "description": "out.json", "x-results": "out.json"}, "out.json"),
        ({"dataset": [{**row, "note": "out.json"} for row in ROWS]}, "out.json"),
        ({"dataset": {"path": "d.jsonl", "key_map": {"id": "id"}}, "save_path": "id"}, "id"),
        ({"save_path": "output/evaluate.json", "output_dir": "output"}, "output/evaluate.json"),
        ({"dataset": "../d.jsonl", "save_path": "sub/qa.json"}, "sub/qa.json"),
        ({"answers": "e.jsonl", "dataset": "q.jsonl"}, "out.json"),
        ({"compare": "main", "save_path": "main"}, "main"),
        (
            {
                "dataset": None,
                "metrics": None,
                "save_path": None,
                "benchmark": {"path": "d.jsonl", "key_map": {"gt_ls": "references"}},
                "evaluation": {"save_path": "out.json", "metrics": ["em"]},
            },
            "out.json",
        ),
    ],
)
def test_the_file_of_the_run_before_is_replaced(
    project: Project, keys: dict[str, Any], name: str
) -> None:
    """Also one that is called as something else in the scenario."""
    questions = [{"id": row["id"], "references": row["references"]} for row in ROWS]
    project.file("q.jsonl", "".join(json.dumps(row) + "\n" for row in questions))
    project.file("e.jsonl", '{"id": "a", "answer": "Paris"}\n{"id": "b", "answer": "Rome"}\n')
    keys = {key: value for key, value in (PLAIN | keys).items() if value is not None}
    project.file("d.jsonl", LINES)
    place = "sub/qa" if keys.get("dataset") == "../d.jsonl" else "qa"
    (project.path / "sub").mkdir()
    (project.path / f"{place}.rageval.yaml").write_text(json.dumps(keys), "utf-8")
    if "compare" in keys:
        project.pytest("--rag-save-failed=main", "--rag-set=compare=null")
    for before in ("", "{}"):
        if before:
            project.file(name, before)
        assert "save_path" not in project.pytest().stdout.str()
        assert written(project, name) == WHOLE


def test_a_file_of_the_same_name_elsewhere_is_another(project: Project) -> None:
    """``save_path`` is relative to the rootdir, data to the folder of the scenario."""
    project.pytester.mkdir("sub").joinpath("out.json").write_text(json.dumps(ROWS), "utf-8")
    write(project, {"dataset": "out.json"}, "sub/qa")
    project.pytest()
    assert written(project) == WHOLE
    assert written(project, "sub/out.json") == ROWS


@pytest.mark.full
def test_variants_write_files_of_their_own(project: Project) -> None:
    """Not ``out.json`` itself, which has the rows."""
    project.file("out.json", json.dumps(ROWS))
    write(project, {"dataset": "out.json", "variants": {"dense": None, "sparse": None}})
    project.pytest()
    assert written(project) == ROWS
    assert written(project, "out-dense.json") == written(project, "out-sparse.json") == WHOLE


@pytest.mark.full
def test_a_merge_writes_it_once_for_all_shards(project: Project) -> None:
    write(project, {})
    for shard in ("1/2", "2/2"):
        project.pytest(f"--rag-shard={shard}", "--rag-output=sh")
        assert not (project.path / "out.json").exists()
    project.pytest("--rag-merge=sh")
    assert written(project) == WHOLE


def test_what_writes_nothing_is_not_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``evaluate`` writes files where it is told to: relative to the working directory."""
    write(project, {"save_path": "d.jsonl"})
    scenario = project.path / "qa.rageval.yaml"
    monkeypatch.chdir(project.path)
    assert evaluate(scenario).metrics["em"].mean == 0.5
    with pytest.raises(UserError, match="save_path: d.jsonl is a file that this scenario"):
        evaluate(scenario, write_to="out")
    variants = {"dense": {}, "sparse": {"save_path": "e.jsonl", "dataset": "e-sparse.jsonl"}}
    project.file("e-sparse.jsonl", LINES)
    assert evaluate_variants(scenario, variants=variants).results["dense"].metrics["em"].n == 2
    with pytest.raises(UserError, match="save_path: e-sparse.jsonl is"):
        evaluate_variants(scenario, variants=variants, write_to="out")
    rows = json.loads(f"[{LINES.strip().replace(chr(10), ',')}]")
    evaluate(scenario, ["save_path=o.json"], dataset=rows, write_to="out")
    assert written(project, "o.json") == WHOLE
    project.pytest("--rag-set", "save_path=null").assert_outcomes(passed=2)
    assert (project.path / "d.jsonl").read_text("utf-8") == LINES


@pytest.mark.parametrize(
    ("keys", "file"),
    [
        ({}, "d.jsonl"),
        ({}, "./sub/../d.jsonl"),
        ({}, "link.jsonl"),
        ({}, "qa.rageval.yaml"),
        ({"dataset": {"path": "d.jsonl", "reviews": "rev*.csv"}}, "review.csv"),
        ({"dataset": "q.jsonl", "answers": "e.jsonl"}, "e.jsonl"),
        ({"human": "labels.csv"}, "labels.csv"),
        ({"dataset": None, "qrels_path": "q.txt", "run_path": "r.txt"}, "r.txt"),
        ({"compare": "main"}, ".rageval/qa/baselines/main.json"),
        ({"variants": {"dense": {"dataset": "d-dense.jsonl"}, "sparse": {}}}, "d.jsonl"),
    ],
)
def test_a_file_that_the_scenario_reads_is_not_overwritten(
    project: Project, keys: dict[str, Any], file: str
) -> None:
    """Refused before anything is scored, with the line."""
    for name in ("review.csv", "e.jsonl", "q.jsonl", "labels.csv", "q.txt", "r.txt"):
        project.file(name, "x")
    project.file("d-dense.jsonl", LINES)
    (project.path / "sub").mkdir()
    (project.path / "link.jsonl").symlink_to(project.path / "d.jsonl")
    text = json.dumps(PLAIN | keys | {"save_path": None}).replace(", ", ",\n")
    text = text.replace('"save_path": null', f'"save_path": "{file}"')
    before = project.file("d.jsonl", LINES).read_bytes()
    scenario = project.file("qa.rageval.yaml", text)
    result = interrupted(project.pytest())
    result.stdout.fnmatch_lines(
        ["*qa.rageval.yaml:[45]:*save_path: * is a file that this scenario reads or saves; *"]
    )
    assert (project.path / "d.jsonl").read_bytes() == before
    assert scenario.read_text("utf-8") == text


APP = {"type": "python", "use": "app:answer", "concurrency": 1}
FUNCTION = """
    import pytest

    @pytest.mark.parametrize("said", ["Paris", "no"])
    @pytest.mark.rag_scenario("qa.rageval.yaml")
    def test_bot(rag_sample, rageval, said):
        rageval.check(answer=said)
"""


@pytest.mark.full
def test_several_runs_of_a_session_have_files_of_their_own(project: Project) -> None:
    """Two scenarios with two files of one name, and in a later session each again."""
    write(project, {})
    write(project, {"name": "other", "dataset": ROWS[:1], "save_path": "sub/out.json"}, "other")
    for _ in range(2):
        assert "NOT written" not in project.pytest().stdout.str()
        assert written(project) == WHOLE
        assert written(project, "sub/out.json") == {"em": [1.0], "avg_em": 1.0}
        project.file("out.json", "{}")
    project.pytest("other.rageval.yaml")
    assert written(project) == {}


@pytest.mark.full
@pytest.mark.parametrize(
    ("keys", "options", "found"),
    [
        ({"gates": {"em": 0.9}}, (), WHOLE),  # red
        ({"thresholds": {"em": 0.5}}, (), WHOLE),
        ({"thresholds": {"em": 0.5}}, ("--deselect=qa.rageval.yaml::b",), None),  # a first run
        ({"dataset": {"path": "d.jsonl", "limit": 1}}, (), {"em": [1.0], "avg_em": 1.0}),
        ({}, ("--rag-limit=1",), {"em": [1.0], "avg_em": 1.0}),
        ({"skip": [{"where": {"id": "b"}, "reason": "x"}]}, (), {"em": [1.0, None], "avg_em": 1.0}),
    ],
)
def test_the_same_run_again_replaces_it(
    project: Project, keys: dict[str, Any], options: tuple[str, ...], found: Any
) -> None:
    """Also a partial one, whose file has no more samples; at first there is none."""
    write(project, keys)
    for before in ("", '{"em": [0.3], "avg_em": 0.3}', "UltraRAG", '["a"]'):
        if before:
            project.file("out.json", before)
        assert "NOT written" not in project.pytest(*options).stdout.str()
        assert written(project) == (found or {"em": [1.0], "avg_em": 1.0})


@pytest.mark.full
@pytest.mark.parametrize(
    "keys", [{"stop": "decided", "gates": {"em": 0.2}}, {"compare": "main", "sample": 12}]
)
def test_a_run_that_chose_its_samples_replaces_it(project: Project, keys: dict[str, Any]) -> None:
    """All samples are in its list, those that were not asked as null."""
    project.file("app.py", "import time\ndef answer(question): time.sleep(0.01); return 'Paris'\n")
    rows = [{"id": f"r{at}", "question": "q", "references": ["Paris"]} for at in range(80)]
    write(project, {"dataset": rows, "target": APP})
    project.pytest("--rag-save=main")
    write(project, {"dataset": rows, "target": APP, **keys})
    before = {"em": [0.1] * 80, "avg_em": 0.1}
    project.file("out.json", json.dumps(before))
    project.pytest()
    assert written(project)["em"].count(None) > 0


def test_the_second_run_for_a_file_is_said_not_to_be_in_it(project: Project) -> None:
    """Each value of a parameter is a run of its own: the file is that of the first one."""
    write(project, {})
    project.pytester.makepyfile(test_bot=FUNCTION)
    for _ in range(2):
        result = project.pytest("test_bot.py")
        result.stdout.fnmatch_lines(
            ["save_path NOT written: out.json holds the scores of *::test_bot(Paris), and is for *"]
        )
        assert written(project) == WHOLE


def test_the_report_without_a_file_is_said_to_be_missing(project: Project) -> None:
    """It was asked for, and nothing names its file."""
    project.scenario("name: qa\nmetrics: [em]\ndataset: [{id: a, answer: x, references: x}]\n")
    lacks = "ultrarag.json NOT written: save_path names its file, and the scenario has none"
    assert lacks in project.pytest("--rag-report=ultrarag.json").stdout.str()
    named = project.pytest("--rag-report=ultrarag.json", "--rag-set=save_path=out.json")
    assert "NOT written" not in named.stdout.str()
    assert written(project) == {"em": [1.0], "avg_em": 1.0}


@pytest.mark.full
def test_two_scenarios_do_not_share_a_file(project: Project) -> None:
    """However they name it."""
    write(project, {})
    write(project, {"name": "zz", "dataset": ROWS[:1], "save_path": "./sub/../out.json"}, "zz")
    (project.path / "sub").mkdir()
    result = project.pytest()
    result.stdout.fnmatch_lines(
        ["save_path NOT written: *out.json holds the scores of qa.rageval.yaml, and is for one run"]
    )
    assert written(project) == WHOLE


def test_a_partial_run_does_not_take_the_place_of_a_larger_one(project: Project) -> None:
    write(project, {})
    project.pytest()
    result = project.pytest("qa.rageval.yaml::b")
    result.stdout.fnmatch_lines(
        ["save_path NOT written: out.json has scores of 2 samples, and this partial run of 1*"]
    )
    assert written(project) == WHOLE
    project.file("d.jsonl", LINES.replace("Oslo", "Rome"))
    assert "NOT written" not in project.pytest().stdout.str()
    assert written(project) == {"em": [1.0, 1.0], "avg_em": 1.0}


def test_a_file_that_cannot_be_written_does_not_undo_the_run(project: Project) -> None:
    """The folder is whole, ``latest`` leads to it, and it is in the history."""
    write(project, {"save_path": "sub"})
    (project.path / "sub").mkdir()
    result = project.pytest()
    result.stdout.fnmatch_lines(["run  .rageval/qa/2*", "save_path NOT written: sub: *directory*"])
    assert project.results()["complete"] is True
    assert (project.path / ".rageval" / "qa" / "latest").resolve() == project.folder()
    assert (project.path / ".rageval" / "history.csv").exists()
