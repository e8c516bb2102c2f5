"""E25: what the tools for agents find, without any child."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.evaluation import evaluate
from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.serving.mcp.agents import tools_of
from pytest_rageval.serving.project import FoundScenarios, Outline, Project, ScenarioEntry

TEXT = "name: {name}\nmetrics: [em]\ndataset: [{{id: a, answer: x, references: [x]}}]\n"


@dataclass(frozen=True)
class Files(Project):
    """A project whose scenarios are found without pytest; ``asked`` counts how often."""

    asked: Any = None
    problem: str | None = None

    async def scenarios(self) -> FoundScenarios:
        self.asked.append(1)
        entries = [
            ScenarioEntry(path, path.name, text.split()[1], _output_dir(text))
            for path in sorted(self.folder.glob("*.rageval.yaml"))
            for text in [path.read_text("utf-8")]
        ]
        return FoundScenarios(entries, self.problem, self.folder)

    async def outline(self, scenario: ScenarioEntry) -> Outline:
        return Outline({})


def _output_dir(text: str) -> str | None:
    found = re.search("^output_dir: (.+)", text, re.MULTILINE)
    return found and found[1]


@pytest.fixture
def project(tmp_path: Path) -> Files:
    return Files("python", tmp_path, (), RunPaths(tmp_path), asked=[])


def run(project: Files, name: str, file_name: str = "", output_dir: str = ".rageval") -> None:
    file = project.folder / f"{file_name or name}.rageval.yaml"
    file.write_text(f"{TEXT.format(name=name)}output_dir: {output_dir}\n", "utf-8")
    evaluate(file, write_to=project.folder / output_dir)


def call(project: Files, *calls: tuple[str, dict[str, Any]]) -> list[str]:
    """Return the texts of answers to calls of one server."""
    tools = {tool.name: tool for tool in tools_of(project)}

    async def report(*_: Any) -> None:
        """On a busy machine, some take so long."""

    async def answers() -> list[str]:
        found = []
        for name, arguments in calls:
            tool = tools[name]
            answer = await tool.call(tool.arguments.model_validate(arguments), report)
            found.append(answer.text)
        return found

    return asyncio.run(answers())


CAUSES = """
name: qa
metrics: [em]
diagnose: true
dataset:
  - {id: lost, answer: x, references: [the red cube], contexts: [a blue ball]}
  - {id: missed, answer: "", references: [the red cube], contexts: [here is the red cube]}
  - {id: good, answer: the red cube, references: [the red cube], contexts: [a blue ball]}
"""


def run_with_causes(project: Files, text: str = CAUSES) -> None:
    file = project.folder / "qa.rageval.yaml"
    file.write_text(text.lstrip(), "utf-8")
    evaluate(file, write_to=project.folder / ".rageval")


def samples(run: str) -> tuple[str, dict[str, Any]]:
    return "list_samples", {"run": run}


@pytest.mark.parametrize("name", ["qa/latest", "latest", "qa"])
def test_a_run_of_the_only_scenario_needs_no_scenario(project: Files, name: str) -> None:
    """[E25] A scenario alone means its latest run."""
    run(project, "qa")
    (text,) = call(project, samples(name))
    assert json.loads(text)["run"].startswith("qa/2")


def test_of_several_scenarios_one_must_be_named(project: Files) -> None:
    """[E25]"""
    run(project, "qa")
    run(project, "bot")
    found = call(project, samples("latest"), samples("bot"), samples("qab/latest"))
    assert found[0].startswith("run 'latest': of which scenario? Write scenario/run")
    assert json.loads(found[1])["run"].startswith("bot/2")
    assert found[2] == "unknown scenario 'qab'. Did you mean 'qa'? Known: qa, bot"


@pytest.mark.parametrize(
    ("one", "other", "asked"),
    [
        (("qa", "a", ".rageval"), ("qa2", "b", ".rageval"), "qa"),
        (("qa", "a", ".rageval"), ("bot", "b", ".other"), "qa/latest"),
        (("qa", "a", ".rageval"), ("QA", "b", ".other"), "qa/latest"),
        (("qa", "a", ".rageval"), ("支持", "qa", ".other"), "qa"),
        (("qa/v2", "a", ".rageval"), ("qa", "b", ".other"), "qa/v2/latest"),
        (("a.rageval.yaml", "b", ".rageval"), ("qa", "c", ".other"), "a.rageval.yaml/latest"),
        (("qa", "a", ".rageval"), ("qa", "b", ".rageval"), "qa/20"),
    ],
)
def test_a_name_that_one_scenario_has_is_enough(
    project: Files, one: tuple[str, str, str], other: tuple[str, str, str], asked: str
) -> None:
    """[E25] And one that two have, which have one folder of runs."""
    run(project, *one)
    if other[0] != one[0]:
        run(project, *other)
    else:  # pytest says that they share it
        (project.folder / "b.rageval.yaml").write_text(TEXT.format(name="qa"), "utf-8")
    (text,) = call(project, samples(asked))
    assert json.loads(text)["run"].startswith(f"{one[0]}/2")


def test_a_name_that_two_scenarios_have_is_neither(project: Files) -> None:
    """[E25] The last one that pytest found was meant, in silence; their paths tell them apart."""
    run(project, "qa", "a", ".rageval")
    run(project, "qa", "b", ".other")
    found = call(
        project,
        samples("qa/latest"),
        samples("qa"),
        ("compare_runs", {"a": "a.rageval.yaml", "b": "qa/latest"}),
        ("run_scenario", {"name": "qa"}),
    )
    assert set(found) == {
        "'qa' is the name of a.rageval.yaml and b.rageval.yaml: write a path in its place"
    }
    by_path = call(
        project,
        samples("a.rageval.yaml"),
        samples("b.rageval.yaml/latest"),
        ("compare_runs", {"a": "a.rageval.yaml/latest", "b": "latest"}),
    )
    ids = [json.loads(text).get("run") for text in by_path]
    assert [(one or "").partition("/2")[0] for one in ids] == [
        "a.rageval.yaml",
        "b.rageval.yaml",
        "",
    ]
    assert json.loads(by_path[2])["b"] == ids[0]


def test_of_two_files_of_one_name_none_is_forgotten_that_changes(project: Files) -> None:
    """[E25] The other one was the only one of the name until pytest was asked again."""
    run(project, "qa", "a", ".rageval")
    run(project, "qa", "b", ".other")
    tools = {tool.name: tool for tool in tools_of(project)}

    async def twice() -> str:
        call_of = tools["list_samples"]
        for _ in range(2):
            given = call_of.arguments.model_validate({"run": "qa"})
            answer = await call_of.call(given, None)  # type: ignore[arg-type]
            os.utime(project.folder / "b.rageval.yaml", ns=(0, 0))
        return answer.text

    assert asyncio.run(twice()).startswith("'qa' is the name of a.rageval.yaml and")


def test_the_older_run_is_of_the_same_scenario(project: Files) -> None:
    """[E25] Unless it names another one, which is said."""
    run(project, "qa")
    run(project, "bot")
    same, other = call(
        project,
        ("compare_runs", {"a": "qa/latest", "b": "latest"}),
        ("compare_runs", {"a": "qa/latest", "b": "bot"}),
    )
    assert json.loads(same)["b"].startswith("qa/2")
    assert "the runs are of two scenarios" in json.loads(other)["remarks"]


def test_samples_say_why_they_are_low_and_are_found_by_it(project: Files) -> None:
    """[E21, E25] Each with what that was told by; one that is not low has no cause."""
    run_with_causes(project)
    listed, lost, explained, good = call(
        project,
        samples("qa"),
        ("list_samples", {"run": "qa", "cause": "retrieval"}),
        ("explain_sample", {"run": "qa", "id": "missed"}),
        ("explain_sample", {"run": "qa", "id": "good"}),
    )
    found = {one["id"]: one.get("cause") for one in json.loads(listed)["samples"]}
    assert found == {"lost": "retrieval", "missed": "generation", "good": None}
    assert [one["id"] for one in json.loads(lost)["samples"]] == ["lost"]
    assert json.loads(lost)["samples"][0]["cause_reason"] == "no context holds the reference"
    assert json.loads(explained)["cause"] == "generation"
    assert json.loads(explained)["cause_reason"].endswith("the answer is empty")
    assert "cause" not in json.loads(good)


@pytest.mark.usefixtures("steady_clock")
def test_samples_that_got_worse_say_why(project: Files) -> None:
    """[E21, E25] The cause is that of the newer run."""
    run_with_causes(project, CAUSES.replace("answer: x", "answer: the red cube"))
    run_with_causes(project)
    (text,) = call(project, ("compare_runs", {"a": "qa/latest", "b": "qa/previous"}))
    (worse,) = json.loads(text)["worse"]
    assert (worse["id"], worse["cause"]) == ("lost", "retrieval")
    assert worse["cause_reason"] == "no context holds the reference"


def test_a_run_without_causes_is_not_searched_for_them(project: Files) -> None:
    """[E21, E25] An empty list would say that no answer is low for this reason."""
    run(project, "qa")
    (text,) = call(project, ("list_samples", {"run": "qa", "cause": "retrieval"}))
    assert "has no causes: write 'diagnose: true' into its scenario, and run it again" in text


def test_scenarios_are_looked_for_again_when_a_file_changes(project: Files) -> None:
    """[E25] An agent mends a file and asks again; otherwise pytest is not asked twice."""
    run(project, "qa")
    call(project, samples("qa"), samples("qa"))
    assert len(project.asked) == 1
    tools = {tool.name: tool for tool in tools_of(project)}
    file = project.folder / "qa.rageval.yaml"

    async def twice() -> None:
        given = tools["list_samples"].arguments.model_validate({"run": "qa"})
        await tools["list_samples"].call(given, None)  # type: ignore[arg-type]
        os.utime(file, ns=(0, 0))
        await tools["list_samples"].call(given, None)  # type: ignore[arg-type]

    asyncio.run(twice())
    assert len(project.asked) == 3


def test_a_scenario_outside_of_the_rootdir_is_none(project: Files, tmp_path: Path) -> None:
    """[E25]"""
    (tmp_path / "inner").mkdir()
    run(project, "qa")
    inner = Files("python", tmp_path, (), RunPaths(tmp_path / "inner"), asked=[])
    (text,) = call(inner, samples("qa/latest"))
    assert text == "unknown scenario 'qa': there is none"


def test_where_pytest_could_not_look_is_said_beside_what_it_found(project: Files) -> None:
    """[E25] And beside an unknown name, which may be there: by the end of what pytest printed."""
    run(project, "qa")
    printed = f"{'x' * 9000}\nERROR {project.folder}/b - No module named 'lost'"
    known = [("list_scenarios", {"contains": "none"}), samples("lost/latest")]
    listed, refused = call(replace(project, problem=printed), *known)
    assert json.loads(listed)["problem"].endswith("\nERROR b - No module named 'lost'")
    assert len(listed) < 700
    assert refused.startswith("unknown scenario 'lost'. Known: qa\n…x")
    assert refused.endswith("\nERROR b - No module named 'lost'")


def test_what_pytest_printed_begins_with_dots_only_where_it_is_cut(project: Files) -> None:
    run(project, "qa")
    (text,) = call(replace(project, problem="no module 'lost'"), ("list_scenarios", {}))
    assert json.loads(text)["problem"] == "no module 'lost'"


@pytest.mark.usefixtures("steady_clock")
def test_the_last_run_says_which_newer_ones_cannot_be_read(project: Files) -> None:
    """Also where none can."""

    def last() -> dict[str, Any]:
        (text,) = call(project, ("list_scenarios", {}))
        return dict(json.loads(text)["scenarios"][0]["last"])

    for _ in "12":
        run(project, "qa")
    first, second = sorted((project.folder / ".rageval" / "qa").glob("2*"))
    assert "unread" not in last()
    (second / "results.json").write_text("{", "utf-8")
    why = "results.json is cut off, or of another version; delete such a folder, or move it away"
    found = last()
    assert (found["run"], found["unread"]) == (first.name, f"left out: qa/{second.name}: {why}")
    (first / "results.json").write_text("{", "utf-8")
    assert last() == {"unread": f"left out: qa/{first.name}, qa/{second.name}: {why}"}


@pytest.mark.usefixtures("steady_clock")
def test_the_last_run_says_what_was_not_as_in_the_file(project: Files) -> None:
    """[E25] Else a verdict under other weights is read as that of the scenario."""
    run(project, "qa")
    (plain,) = call(project, ("list_scenarios", {}))
    assert "overridden" not in json.loads(plain)["scenarios"][0]["last"]
    changed = [Override(("metric_weights", "em"), 2.0, "--rag-metric-weight")]
    evaluate(project.folder / "qa.rageval.yaml", changed, write_to=project.folder / ".rageval")
    (found,) = call(project, ("list_scenarios", {}))
    assert json.loads(found)["scenarios"][0]["last"]["overridden"] == ["metric_weights.em"]
