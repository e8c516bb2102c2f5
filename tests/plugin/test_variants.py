"""[E20] Variants side by side: their cases, runs and gates, and the gate that compares them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.plugin.conftest import Project, Run, green, interrupted, red

# Of 20 answers, bm25 and its twin have 10 right, dense all. Ten samples differ, all one way:
# p = 2 ** -9, the smallest that ten signs can give, for both pairs with dense; the twins never
# differ.
SCENARIO = """\
name: qa
dataset: bm25.jsonl
metrics: [em]
gates: {em: 0.4}
variants:
  bm25:
  dense: {dataset: dense.jsonl, gates: {em: 0.9}}
  twin: {dataset: twin.jsonl}
"""
BEST = SCENARIO + "best: {of: em, at_least: dense}\n"


def _rows(right: int, first: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "id": f"q{at}",
            "question": f"question {at}",
            "answer": "yes" if at < right else "no",
            "references": ["yes"],
        }
        for at in range(first, 20)
    ]


@pytest.fixture
def three(project: Project) -> Project:
    """Return a project with the data of three variants."""
    project.rows(_rows(10), "bm25.jsonl")
    project.rows(_rows(20), "dense.jsonl")
    project.rows(_rows(10), "twin.jsonl")
    return project


def ranking(project: Project, name: str = "qa") -> dict[str, Any]:
    text = (project.path / ".rageval" / name / "variants.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.full
def test_each_variant_has_cases_runs_and_gates_of_its_own(three: Project, run: Run) -> None:
    """Node ids ``FILE::variant::id``; the gates of a variant may differ from the scenario's."""
    three.scenario(SCENARIO)
    result = green(run("-v"))
    result.stdout.fnmatch_lines(
        [
            "qa.rageval.yaml::bm25::q0 PASSED*",
            "qa.rageval.yaml::dense::q19 PASSED*",
            "qa.rageval.yaml::bm25::gate:em.mean PASSED*",
            "qa.rageval.yaml::dense::gate:em.mean PASSED*",
            "*rageval: qa::bm25*",
            "gate em.mean * 0.5000 >= 0.4000",
            "run * .rageval/qa/bm25/2*",
            "*rageval: qa::dense*",
            "gate em.mean * 1.0000 >= 0.9000",
            "*rageval: qa, 3 variants*",
        ]
    )
    dense = three.results("qa/dense")
    assert (dense["scenario"]["name"], dense["variant"]) == ("qa", "dense")
    assert (three.path / ".rageval/qa/dense/latest/results.json").is_file()


@pytest.mark.full
def test_variants_are_ranked_with_letters(three: Project, run: Run) -> None:
    """The best first; twins share a letter. The means are over all 20 samples."""
    three.scenario(SCENARIO)
    result = run()
    found = ranking(three)
    assert [(name, one["mean"], one["letters"]) for name, one in found["variants"].items()] == [
        ("dense", 1.0, "a"),
        ("bm25", 0.5, "b"),
        ("twin", 0.5, "b"),
    ]
    pairs = {(one["a"], one["b"]): one for one in found["pairs"]}
    assert pairs["dense", "bm25"]["p_value"] == 2**-9
    assert pairs["dense", "bm25"]["diff"] == 0.5
    assert (found["metric"], found["common"], found["complete"]) == ("weighted_score", 20, True)
    for name, ran in found["runs"].items():
        assert ran == (three.path / ".rageval/qa" / name / "latest").resolve().name
    assert found["runs"].keys() == found["variants"].keys()
    lines = result.stdout.lines
    head = next(at for at, line in enumerate(lines) if line.startswith("variant "))
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["dense", "bm25", "twin"]
    result.stdout.fnmatch_lines(["variants that share a letter cannot be told apart (*3 pairs*"])
    assert "gate best" not in result.stdout.str()


@pytest.mark.full
def test_the_gate_passes_where_nothing_is_better(three: Project, run: Run) -> None:
    """It is reported with the node id of the file, and counted like any gate."""
    three.scenario(BEST)
    result = green(run("-v"))
    result.stdout.fnmatch_lines(["qa.rageval.yaml::gate:best PASSED*"])
    result.stdout.fnmatch_lines(["gate best * passed *nothing is significantly better than dense*"])
    assert ranking(three)["gate"]["outcome"] == "passed"


@pytest.mark.full
def test_the_gate_fails_where_a_variant_is_better(three: Project, run: Run) -> None:
    """It says which one is better and by how much; the variants' own gates stand."""
    three.scenario(BEST.replace("at_least: dense", "at_least: twin"))
    result = red(run())
    result.stdout.fnmatch_lines(["dense is significantly better than twin: em 1.0000 *"])
    result.stdout.fnmatch_lines(["FAILED qa.rageval.yaml::gate:best*dense*"])
    assert three.gates("qa/twin") == {"em.mean": "passed", "unscored": "passed"}


@pytest.mark.parametrize(
    ("args", "strict_ret"),
    [
        (("--rag-variant", "dense", "--rag-variant", "twin"), 1),
        (("qa.rageval.yaml::dense",), 1),
        (("--rag-scenario", "qa.rageval.yaml::dense"), 1),
        (("-k", "dense"), 1),
        (("--deselect", "qa.rageval.yaml::gate:best"), 1),
    ],
    ids=["option", "node-id", "rag-scenario", "keyword", "deselected"],
)
def test_a_part_of_the_variants_leaves_the_gate_undecided(
    three: Project, plain: Run, args: tuple[str, ...], strict_ret: int
) -> None:
    """It is skipped, and said; strict fails. The gates of the variants that ran are decided."""
    three.scenario(BEST)
    result = green(plain(*args))
    result.stdout.fnmatch_lines(["NOT DECIDED: gate best of qa, *"])
    assert three.gates("qa/dense")["em.mean"] == "passed"
    assert plain(*args, "--rag-strict").ret == strict_ret


def test_what_a_conftest_skips_leaves_the_gate_undecided(three: Project, plain: Run) -> None:
    """No worker has crashed, and nothing is lost."""
    three.scenario(BEST)
    three.conftest(
        "import pytest\n"
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n"
        "        if item.nodeid.endswith('dense::q3'):\n"
        "            item.add_marker(pytest.mark.skip)\n"
    )
    result = green(plain())
    result.stdout.fnmatch_lines(["NOT DECIDED: gate best of qa, *"])
    assert plain("--rag-strict").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full
def test_one_sample_of_one_variant_runs(three: Project, plain: Run) -> None:
    """By node id, and by ``--rag-scenario``; the gates are undecided."""
    three.scenario(BEST)
    for args in (
        ["qa.rageval.yaml::dense::q3"],
        ["--rag-scenario", "qa.rageval.yaml::dense::q3"],
    ):
        result = plain(*args, "-v")
        assert "qa.rageval.yaml::dense::q3 PASSED" in result.stdout.str()
        assert "::q4" not in result.stdout.str()


@pytest.mark.full
def test_a_failed_gate_runs_all_variants_again(three: Project, plain: Run) -> None:
    """``--lf`` after a failed ``best``: a comparison needs every sample."""
    three.scenario(BEST.replace("at_least: dense", "at_least: twin"))
    plain()
    result = plain("--lf", "-v")
    assert "qa.rageval.yaml::bm25::q0" in result.stdout.str()
    result.stdout.fnmatch_lines(["FAILED qa.rageval.yaml::gate:best*"])


@pytest.mark.full
def test_an_unknown_variant_is_refused(three: Project, plain: Run) -> None:
    """On the command line, and under ``best``; a scenario without variants has none to run."""
    three.scenario(BEST)
    result = interrupted(plain("--rag-variant", "dens"))
    result.stdout.fnmatch_lines(["*unknown variant 'dens'. Did you mean 'dense'?*"])
    three.scenario(BEST.replace("at_least: dense", "at_least: dens"))
    result = plain()
    result.stdout.fnmatch_lines(["*:9: best.at_least: unknown variant 'dens'*"])
    three.scenario("name: qa\ndataset: bm25.jsonl\nmetrics: [em]\n")
    result = plain("--rag-variant", "dense")
    result.stdout.fnmatch_lines(["*this scenario has no variants*"])


@pytest.mark.full
def test_each_variant_has_a_history_of_its_own(three: Project, plain: Run) -> None:
    """By the name of the scenario that of all; listing them loses none."""
    three.scenario(SCENARIO)
    plain()
    for _ in range(2):
        result = green(plain("--rag-history", "qa"))
        heads = [line for line in result.outlines if line.endswith(": 1 run")]
        assert heads == ["qa::bm25: 1 run", "qa::dense: 1 run", "qa::twin: 1 run"]
    one = plain("--rag-history", "qa::dense").stdout
    one.fnmatch_lines(["qa::dense: 1 run"])
    one.no_fnmatch_line("qa::bm25*")


@pytest.mark.full
def test_answers_of_each_variant_are_saved(three: Project, plain: Run) -> None:
    """``--rag-save-answers`` has a file for each: one would overwrite the other."""
    three.file("bot.py", "def one(question): return 'yes'\ndef two(question): return 'no'\n")
    three.scenario(
        "name: qa\ndataset: bm25.jsonl\nmetrics: [em]\n"
        "variants: {one: {target: 'bot:one'}, two: {target: 'bot:two'}}\n"
    )
    plain("--rag-save-answers", "answers.jsonl")
    for name, answer in (("one", "yes"), ("two", "no")):
        lines = (three.path / f"answers-{name}.jsonl").read_text("utf-8").splitlines()
        assert {json.loads(line)["answer"] for line in lines} == {answer}


@pytest.mark.full
def test_a_test_function_runs_over_a_variant(three: Project, plain: Run) -> None:
    """It names the one; without a name it is told which there are."""
    three.scenario(SCENARIO)
    test = (
        "import pytest\n\n@pytest.mark.rag_scenario('qa.rageval.yaml'{})\n"
        "def test_bot(rageval):\n    rageval.check('yes')\n"
    )
    three.file("test_bot.py", test.format(", variant='twin'"))
    result = plain("test_bot.py")
    assert result.parseoutcomes()["passed"] == 22
    result.stdout.fnmatch_lines(["*rageval: qa::twin (test_bot.py::test_bot)*"])
    three.file("test_bot.py", test.format(""))
    result = plain("test_bot.py")
    result.stdout.fnmatch_lines(["*variants: name one of its variants: bm25, dense, twin*"])


@pytest.mark.full
def test_a_fixture_answers_for_a_variant(three: Project, plain: Run) -> None:
    """Fixtures of the module reach the cases below a variant."""
    three.conftest("import pytest\n\n@pytest.fixture\ndef bot():\n    return lambda q: 'yes'\n")
    three.scenario(SCENARIO + "  live: {target: {fixture: bot}}\n")
    green(plain())
    assert ranking(three)["variants"]["live"]["mean"] == 1.0


@pytest.mark.full
def test_nothing_stops_early_where_variants_are_judged_together(three: Project, plain: Run) -> None:
    """[F6] Each variant would stop at other samples; a comparison needs all of them."""
    three.file("bot.py", "def one(question): return 'yes'\n")
    three.scenario(BEST + "target: 'bot:one'\nstop: decided\n")
    result = plain()
    result.stdout.fnmatch_lines(["stop: nothing stops early: gate 'best' needs every sample"])
    assert three.results("qa/dense")["counts"]["ran"] == 20


@pytest.mark.full
def test_github_has_the_comparison_first(
    three: Project, plain: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step summary begins with the comparison; a failed ``best`` is annotated at its line."""
    summary = three.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    three.scenario(BEST.replace("at_least: dense", "at_least: twin"))
    result = plain()
    text = summary.read_text("utf-8")
    assert text.index("## Variants") < text.index("# qa::bm25")
    assert text.count("## Variants") == 1
    result.stdout.fnmatch_lines(["::error file=qa.rageval.yaml,line=9,title=qa%3A gate best::*"])


@pytest.mark.full
def test_the_page_is_written_on_request(three: Project, plain: Run) -> None:
    """A later run without it takes the old one away: it would show other answers."""
    three.scenario(BEST)
    result = plain("--rag-report", "html")
    result.stdout.fnmatch_lines(["page .rageval/qa/variants.html"])
    page = three.path / ".rageval/qa/variants.html"
    assert "question 3" in page.read_text("utf-8")
    plain()
    assert not page.exists()


@pytest.mark.full
def test_the_last_line_of_a_red_run_leads_to_all_variants(three: Project, plain: Run) -> None:
    """Not to the first red one alone; where only one ran there is nothing beside it."""
    three.scenario(BEST.replace("at_least: dense", "at_least: twin"))
    result = plain("--rag-report", "html")
    result.stdout.fnmatch_lines(["page  .rageval/qa/variants.html"])
    alone = plain("--rag-report", "html", "--rag-variant", "twin", "--rag-set", "gates.em=0.9")
    alone.stdout.fnmatch_lines(["page  .rageval/qa/twin/*/report.html"])


@pytest.mark.full
def test_variants_are_not_saved_where_another_one_is_better(three: Project, plain: Run) -> None:
    """The gate is the scenario's, so the run of each variant is red; one alone may be saved."""
    three.scenario(BEST.replace("at_least: dense", "at_least: twin"))
    result = plain("--rag-save", "main")
    assert result.stdout.str().count("baseline main NOT saved: the run is red (gate best)") == 3
    assert not list(three.path.rglob("main.json"))
    plain("--rag-save", "main", "--rag-variant", "twin")
    assert [path.parent.parent.name for path in three.path.rglob("main.json")] == ["twin"]


@pytest.mark.full
def test_test_functions_leave_the_gate_undecided(three: Project, plain: Run) -> None:
    """One function for each variant is no comparison: said, and red if strict."""
    three.scenario(BEST.replace("at_least: dense", "at_least: twin"))
    test = "@pytest.mark.rag_scenario('qa.rageval.yaml', variant='{0}')\n"
    test += "def test_{0}(rageval):\n    rageval.check()\n\n"
    three.file("test_bot.py", "import pytest\n\n" + test.format("dense") + test.format("twin"))
    result = green(plain("test_bot.py"))
    result.stdout.fnmatch_lines(
        ["NOT DECIDED: 1 of 3 gates of qa::twin, *a test function runs one"]
    )
    assert plain("test_bot.py", "--rag-strict").ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.full
def test_variants_are_chosen_by_pattern_or_with_commas(three: Project, plain: Run) -> None:
    """As reports are; a pattern that no variant matches is an error."""
    three.scenario(SCENARIO)
    plain("--rag-variant", "bm*,twin")
    assert sorted(one.name for one in (three.path / ".rageval/qa").iterdir() if one.is_dir()) == [
        "bm25",
        "twin",
    ]
    assert plain("--rag-variant", "x*").ret == pytest.ExitCode.INTERRUPTED


@pytest.mark.full
def test_a_run_in_part_leaves_the_page(three: Project, plain: Run) -> None:
    """To try one sample must not cost the page of all of them."""
    three.scenario(SCENARIO)
    plain("--rag-report", "html")
    plain("-k", "q3")
    assert (three.path / ".rageval/qa/variants.html").exists()


@pytest.mark.full
def test_a_missing_file_of_a_variant_is_at_its_line(three: Project, plain: Run) -> None:
    """Not at that of the scenario's own data; nothing is said of cases that were not selected."""
    three.scenario(SCENARIO.replace("twin.jsonl", "nowhere.jsonl"))
    result = plain()
    result.stdout.fnmatch_lines(["*qa.rageval.yaml:8: variant twin: dataset: no file 'nowhere*"])
    assert "NOT DECIDED" not in result.stdout.str()
