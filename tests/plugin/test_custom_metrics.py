"""B10: metrics of the user's own under pytest: found as pytest finds modules."""

from __future__ import annotations

import sys

import pytest

from tests.plugin.conftest import Project, Run, interrupted

METRICS = """
import asyncio

def politeness(sample, *, word: str = "please"):
    if sample.answer == "raise":
        raise ValueError("nobody is polite")
    return float(word in sample.answer), f"looked for {word}"

async def later(sample):
    await asyncio.sleep(0.01)
    return len(sample.answer) / 100
"""
ROWS = [
    {"id": "polite", "answer": "please do"},
    {"id": "rude", "answer": "do it"},
    {"id": "broken", "answer": "raise"},
]
SCENARIO = """
    name: qa
    dataset: qa.jsonl
    metrics:
      - {use: "qa_metrics:politeness", name: polite}
      - {use: "qa_metrics:later"}
    gates: {later: 0.01, unscored: {polite: 0.4}}
"""


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give ``sys.path`` back as it was; pytester does that with ``sys.modules``."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def own(project: Project) -> Project:
    """Return a project with a scenario and a module of metrics beside it."""
    project.scenario(SCENARIO)
    project.rows(ROWS)
    project.file("qa_metrics.py", METRICS)
    return project


@pytest.mark.full
def test_scores_errors_and_gates_are_those_of_any_metric(own: Project, run: Run) -> None:
    """E2, G1: also on the way from a worker; one of three may lack the metric that raises."""
    result = run()
    result.assert_outcomes(passed=4, xfailed=1)  # three samples, two gates
    samples = {sample["id"]: sample for sample in own.results()["samples"]}
    assert samples["polite"]["scores"] == {"polite": 1.0, "later": 0.09}
    assert samples["rude"]["scores"] == {"polite": 0.0, "later": 0.05}
    assert samples["broken"]["scores"] == {"polite": None, "later": 0.05}
    assert samples["broken"]["errors"] == {
        "polite": "ValueError: nobody is polite (qa_metrics.py:6)"
    }
    assert samples["rude"]["reasons"] == {"polite": "looked for please"}


@pytest.mark.full
@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_the_ini_value_pythonpath_is_on_the_path_in_every_mode(own: Project, mode: str) -> None:
    (own.path / "qa_metrics.py").unlink()
    own.file("src/qa_metrics.py", METRICS)
    own.file("pytest.ini", "[pytest]\npythonpath = src\n")
    own.pytest(f"--import-mode={mode}").assert_outcomes(passed=4, xfailed=1)


@pytest.mark.full
@pytest.mark.parametrize("mode", ["prepend", "append"])
def test_the_rootdir_and_the_folder_of_the_scenario_are_on_the_path(
    own: Project, mode: str
) -> None:
    own.file("deep/down/other_metrics.py", METRICS)
    text = (own.path / "qa.rageval.yaml").read_text().replace("dataset: qa", "dataset: ../../qa")
    text = text.replace('{use: "qa_metrics:later"}', '{use: "other_metrics:later"}')
    own.file("deep/down/deep.rageval.yaml", text)
    own.file("pytest.ini", "[pytest]\n")
    own.pytest(f"--import-mode={mode}", "deep").assert_outcomes(passed=4, xfailed=1)


@pytest.mark.full
def test_the_mode_importlib_leaves_the_path_alone_and_says_so(own: Project) -> None:
    result = interrupted(own.pytest("--import-mode=importlib"))
    result.stdout.fnmatch_lines(
        ["*qa.rageval.yaml:4: metrics*0*: no module named 'qa_metrics' on sys.path.*'pythonpath'*"]
    )


def test_nothing_is_put_on_the_path_for_scenarios_that_import_nothing(project: Project) -> None:
    project.scenario(
        """
        name: qa
        metrics: [em]
        dataset: [{answer: a, references: a}]
        """,
        file="deep",
    )
    before = list(sys.path)
    project.pytest().assert_outcomes(passed=1)
    assert [entry for entry in sys.path if entry not in before] == []


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_metric_that_skips_is_an_error_of_that_metric_alone(project: Project, kind: str) -> None:
    """A20, G1: as whatever it raises; the gate on em is red, (1 + 0) / 2, and so is unscored."""
    project.file(
        "skipping_metrics.py",
        f"import pytest\n\n{kind} needs_more(sample):\n"
        "    if sample.id == 'b':\n        pytest.importorskip('no_such_module_1')\n"
        "    return 1.0\n",
    )
    project.scenario("""
    name: qa
    metrics: [em, {use: "skipping_metrics:needs_more"}]
    gates: {em: 0.9}
    dataset:
      - {id: a, answer: x, references: [x]}
      - {id: b, answer: wrong, references: [x]}
    """)
    project.pytest().assert_outcomes(passed=2, failed=2)
    found = project.results()
    assert found["metrics"]["em"]["mean"] == 0.5
    assert "Skipped: could not import" in found["samples"][1]["errors"]["needs_more"]
    sys.modules.pop("skipping_metrics", None)


@pytest.mark.full
@pytest.mark.parametrize("code", ["pytest.importorskip('no_such_module_1')", "pytest.skip('no')"])
def test_a_module_or_class_that_skips_leaves_out_no_scenario(project: Project, code: str) -> None:
    """A20: a collection error, as for whatever else it raises."""
    for name, body in (
        ("skipping_module", f"import pytest\n{code}\n"),
        ("skipping_class", f"import pytest\nclass M:\n    def __init__(self):\n        {code}\n"
                           "    def score(self, sample):\n        return 1.0\n"),
    ):  # fmt: skip
        project.file(f"{name}.py", body)
        project.scenario(f"""
        name: qa
        metrics: [em, {{use: "{name}:M"}}]
        dataset: [{{answer: x, references: [x]}}]
        """)
        result = interrupted(project.pytest())
        assert "raised Skipped: " in result.stdout.str()
        sys.modules.pop(name, None)


@pytest.mark.full
def test_an_entry_point_gives_a_function_and_a_broken_one_spoils_nothing(
    own: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another distribution, as pip would have installed it."""
    own.file(
        "site/my_dist-1.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: my-dist\nVersion: 1.0\n",
    )
    own.file(
        "site/my_dist-1.0.dist-info/entry_points.txt",
        "[pytest_rageval.metrics]\nkindness = dist_metrics:kindness\nbad = dist_broken:metric\n",
    )
    own.file("site/dist_metrics.py", "def kindness(sample, *, most=10): return 1 / most\n")
    own.file("site/dist_broken.py", "raise RuntimeError('no licence')\n")
    monkeypatch.setenv("PYTHONPATH", str(own.path / "site"))
    own.scenario(SCENARIO + "    metric_weights: {polite: 1, later: 1, kindness: 1}\n")
    text = (own.path / "qa.rageval.yaml").read_text()
    own.file("qa.rageval.yaml", text.replace("gates:", "  - kindness: {most: 5}\ngates:"))
    result = own.pytester.runpytest_subprocess()
    result.assert_outcomes(passed=4, xfailed=1)
    scores = [sample["scores"]["kindness"] for sample in own.results()["samples"]]
    assert scores == [0.2, 0.2, 0.2]
    own.file("qa.rageval.yaml", text.replace("gates:", "  - bad\ngates:"))
    broken = own.pytester.runpytest_subprocess()
    broken.stdout.fnmatch_lines(
        [
            "*unknown metric 'bad'.*The entry point 'bad = dist_broken:metric' of my-dist "
            "cannot be used: RuntimeError: no licence.*"
        ]
    )


@pytest.mark.full
def test_a_key_among_the_options_is_in_no_file(project: Project) -> None:
    """[R5] Neither in the run's files nor in what is saved of it."""
    project.file(
        "keyed.py",
        "class Keyed:\n"
        "    def __init__(self, api_key):\n"
        "        self.api_key = api_key\n"
        "    def __call__(self, sample):\n"
        "        return 1.0 if self.api_key == 'optSECRET1aaa' else 0.0\n",
    )
    project.rows([{"answer": "a", "references": ["a"]}])
    project.scenario(
        """
        name: qa
        dataset: qa.jsonl
        metrics: [{use: "keyed:Keyed", name: keyed, api_key: optSECRET1aaa}]
        thresholds: {keyed: 1.0}
        """
    )
    result = project.pytest("--rag-report=html", "--rag-save=base", "-W", "ignore")
    result.assert_outcomes(passed=1)
    written = [path for path in (project.path / ".rageval").rglob("*") if path.is_file()]
    assert any(path.name == "base.json" for path in written)
    assert [path for path in written if b"optSECRET1aaa" in path.read_bytes()] == []
    before = project.results()["scenario"]["definitions"]["keyed"]
    project.scenario((project.path / "qa.rageval.yaml").read_text().replace("1aaa", "2bbb"))
    project.pytest("-W", "ignore")
    assert project.results()["scenario"]["definitions"]["keyed"] != before
