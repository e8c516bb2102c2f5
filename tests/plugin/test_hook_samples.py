"""``pytest_rageval_samples``: the samples that run, fewer or changed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.plugin.conftest import Project, Run, green

TABLES = tomllib.loads(Path(__file__).with_name("hook_samples.toml").read_text("utf-8"))

ROWS = [
    {"id": f"q{number}", "answer": "a", "references": ["a"], "lang": "de" if number % 2 else "en"}
    for number in range(1, 6)
]
SCENARIO = """
    name: qa
    x-owner: search
    dataset: qa.jsonl
    metrics: [em]
    gates: {em: 0.5}
"""
WITHOUT_GERMAN = """
def pytest_rageval_samples(config, scenario, samples):
    return [sample for sample in samples if sample.metadata["lang"] != "de"]
"""


@pytest.fixture
def german(project: Project) -> Project:
    """Return a project with five samples, q1, q3 and q5 of them in German."""
    project.scenario(SCENARIO)
    project.rows(ROWS)
    return project


def test_those_that_are_left_out_do_not_run_and_are_not_missed(german: Project, run: Run) -> None:
    """E4: a run of what the hook leaves is complete, and its gates decide; the summary says it."""
    german.conftest(WITHOUT_GERMAN)
    result = run()
    result.assert_outcomes(passed=4)  # two samples, the gates em.mean and unscored
    assert german.outcomes() == {"q2": "passed", "q4": "passed"}
    found = german.results()
    assert found["complete"]
    assert [sample["index"] for sample in found["samples"]] == [0, 1]
    result.stdout.fnmatch_lines(
        ["pytest_rageval_samples of conftest.py changed samples: 5 before, 2 now"]
    )


def test_a_repeated_id_has_its_better_rank_and_all_its_places(project: Project, run: Run) -> None:
    project.scenario("""
        name: qa
        dataset: qa.jsonl
        citations: {style: brackets, base: 1}
        metrics: [mrr, source_recall]
        gates: {mrr: 1, source_recall: 1}
    """)
    row = {"contexts": ["x", "y", "z"], "reference_ids": ["a", "b"], "retrieved_ids": ["a"]}
    project.rows([{"answer": "It opened in May [1] [3].", **row}])
    project.conftest("""
        from dataclasses import replace

        def pytest_rageval_samples(config, scenario, samples):
            return [replace(sample, retrieved_ids=("a", "a", "b")) for sample in samples]
    """)
    run().assert_outcomes(passed=4)  # the sample, and the gates with "unscored"


@pytest.mark.full
def test_changed_samples_are_scored_as_they_are_now(german: Project, run: Run) -> None:
    german.conftest(
        """
        from dataclasses import replace

        def pytest_rageval_samples(config, scenario, samples):
            assert (scenario.name, scenario.path) == ("qa", "qa.rageval.yaml")
            who = {"who": scenario.metadata["owner"]}
            return (
                replace(sample, answer="b", metadata={**sample.metadata, **who})
                for sample in reversed(samples)
            )
        """
    )
    run().assert_outcomes(passed=6, failed=1)  # the gate em.mean
    samples = german.results()["samples"]
    assert [sample["id"] for sample in samples] == ["q5", "q4", "q3", "q2", "q1"]
    assert {sample["answer"] for sample in samples} == {"b"}
    assert [row["who"] for row in german.table("scores.csv")] == ["search"] * 5


def test_metadata_of_a_hook_are_written_like_those_of_the_data(german: Project, run: Run) -> None:
    """A hook may give anything; a run that is done is not lost by it."""
    german.conftest(
        """
        from dataclasses import replace

        given = {"nan": float("nan"), "set": {1}, 5: [object], "lone": chr(0xD800)}

        def pytest_rageval_samples(config, scenario, samples):
            return [replace(sample, metadata={**sample.metadata, **given}) for sample in samples]
        """
    )
    run().assert_outcomes(passed=7)
    assert german.results()["samples"][0]["metadata"] == {
        "lang": "de",
        "nan": None,
        "set": [1],
        "5": ["<class 'object'>"],
        "lone": chr(0xD800),
    }
    assert german.table("scores.csv")[0]["nan"] == ""


def test_metadata_that_a_hook_changes_where_they_are(german: Project) -> None:
    """Nobody should; it is noticed, and costs no results."""
    german.conftest(
        """
        import numpy

        def pytest_rageval_samples(config, scenario, samples):
            for sample in samples:
                sample.metadata["given"] = numpy.array([1, 2])
        """
    )
    result = german.pytest()
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(["*changed samples: 5 before, 5 now"])
    assert german.results()["samples"][0]["metadata"] == {"lang": "de", "given": "[1 2]"}


def test_marks_of_changed_samples_hold(german: Project) -> None:
    german.conftest(
        """
        from dataclasses import replace

        def pytest_rageval_samples(config, scenario, samples):
            return [replace(samples[0], skip="not today"), *samples[1:]]
        """
    )
    german.pytest().assert_outcomes(passed=6, skipped=1)
    assert german.outcomes()["q1"] == "skipped"


@pytest.mark.parametrize("body", ["return None", "return samples", "return list(samples)"])
def test_nothing_changes_without_a_change(german: Project, body: str) -> None:
    german.conftest(f"def pytest_rageval_samples(config, scenario, samples):\n    {body}\n")
    result = german.pytest()
    result.assert_outcomes(passed=7)
    result.stdout.no_fnmatch_line("*changed samples*")


def test_invalid_rows_stay_where_they_are(german: Project) -> None:
    german.rows([*ROWS[:2], {"id": "odd", "answer": [1]}, *ROWS[2:]])
    german.conftest(WITHOUT_GERMAN)
    german.pytest().assert_outcomes(passed=3, errors=1, failed=1)
    assert [sample["id"] for sample in german.results()["samples"]] == ["q2", "odd", "q4"]


def test_each_one_gets_what_the_one_before_left(german: Project) -> None:
    """The inner conftest.py first, as pytest calls them."""
    german.conftest(
        """
        def pytest_rageval_samples(config, scenario, samples):
            assert [sample.id for sample in samples] == ["q2", "q4"]
            return samples[:1]
        """
    )
    german.file("deep/conftest.py", WITHOUT_GERMAN)
    german.file("deep/deep.rageval.yaml", SCENARIO.replace("qa.jsonl", "../qa.jsonl"))
    german.pytest("deep").assert_outcomes(passed=3)
    assert list(german.outcomes()) == ["q2"]


def test_it_is_that_of_the_folder_of_the_scenario(german: Project) -> None:
    german.file("deep/conftest.py", WITHOUT_GERMAN)
    german.file("deep/test_it.py", "def test_it(): pass\n")
    german.pytest("deep", "qa.rageval.yaml").assert_outcomes(passed=8)


@pytest.mark.parametrize(
    ("body", "message"),
    TABLES["what_goes_wrong_names_the_hook_and_the_conftest"],
)
def test_what_goes_wrong_names_the_hook_and_the_conftest(
    german: Project, body: str, message: str
) -> None:
    german.conftest(f"def pytest_rageval_samples(config, scenario, samples):\n    {body}\n")
    result = german.pytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*pytest_rageval_samples of conftest.py {message}*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_a_part_of_them_is_still_a_partial_run(german: Project) -> None:
    """E4."""
    german.conftest(WITHOUT_GERMAN)
    german.pytest("-k", "q2").assert_outcomes(passed=1, skipped=2, deselected=1)


@pytest.mark.full
def test_a_changed_run_is_compared_with_its_own_saved_one(german: Project, run: Run) -> None:
    """The baseline holds the question as it was asked, not as the data have it."""
    german.rows([{**row, "question": "how?"} for row in ROWS])
    german.conftest(
        """
        from dataclasses import replace

        def pytest_rageval_samples(config, scenario, samples):
            return [replace(sample, question=sample.question.upper()) for sample in samples]
        """
    )
    german.pytest("--rag-save=main")
    result = green(run("--rag-compare=main"))
    result.stdout.fnmatch_lines(["*main*"])


@pytest.mark.full
def test_what_a_hook_fills_in_is_there_for_metrics_and_gates(german: Project, run: Run) -> None:
    """No row has an answer or a length; the metric, the gate and the condition ask for them.

    q1 to q3, of length 1, are right; q4, of length 2, is not; q5, of length 3, is skipped.
    """
    german.rows([{key: value for key, value in row.items() if key != "answer"} for row in ROWS])
    german.scenario(
        """
        name: qa
        dataset: qa.jsonl
        metrics: [em]
        gates: {by: {length: {em: 0.5}}}
        skip: [{where: {length: 3}, reason: too long}]
        """
    )
    german.conftest(
        """
        from dataclasses import replace

        def pytest_rageval_samples(config, scenario, samples):
            return [
                replace(one, answer="a" if at < 3 else "b", metadata={"length": max(at - 1, 1)})
                for at, one in enumerate(samples)
            ]
        """
    )
    result = run()
    passed = dict.fromkeys(["q1", "q2", "q3", "q4"], "passed")
    assert german.outcomes() == {**passed, "q5": "skipped"}
    assert german.gates()["by.length.em.mean"] == "failed"
    result.stdout.fnmatch_lines(["*1 of 2 values of length: 2: 0.0000 < 0.5000*"])
