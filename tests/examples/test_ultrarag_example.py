"""D10: examples/ultrarag is what UltraRAG expects of a server, and its README is true."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp_client import Client, connected

EXAMPLE = Path(__file__).parents[2] / "examples" / "ultrarag"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Start the server as UltraRAG does: ``python <folder>/src/<folder's name>.py``."""
    folder = tmp_path_factory.mktemp("example") / "ultrarag"
    shutil.copytree(EXAMPLE, folder)
    with connected(["evaluation/src/evaluation.py"], folder) as client:
        yield client


@pytest.fixture(scope="module")
def built(server: Client) -> dict[str, Any]:
    """Return the server.yaml that ``ultrarag build`` has written."""
    answer = server.call("build", {"parameter_file": "evaluation/parameter.yaml"})
    assert not answer["isError"], answer
    text = (server.stderr.parent / "evaluation" / "server.yaml").read_text("utf-8")
    found: dict[str, Any] = yaml.safe_load(text)
    return found


def run_step(server: Client, built: dict[str, Any], tool: str, **given: Any) -> dict[str, Any]:
    """Call a tool with the values of the pipeline and of parameter.yaml, as UltraRAG does."""
    parameters = yaml.safe_load((EXAMPLE / "evaluation" / "parameter.yaml").read_text("utf-8"))
    arguments = {
        name: parameters[variable[1:]] if variable.startswith("$") else given[variable]
        for name, variable in built["tools"][tool]["input"].items()
    }
    answer = server.call(tool, arguments)
    assert not answer["isError"], answer
    found = json.loads(answer["content"][0]["text"])
    assert list(found) == built["tools"][tool]["output"]
    return dict(found["eval_res"])


def test_the_pipelines_name_the_server_and_its_tools(built: dict[str, Any]) -> None:
    assert built["path"] == "evaluation/src/evaluation.py"
    steps = []
    for name in ("run.yaml", "two_runs.yaml"):
        pipeline = yaml.safe_load((EXAMPLE / name).read_text("utf-8"))
        assert pipeline["servers"] == {"evaluation": "evaluation"}
        steps += [step.removeprefix("evaluation.") for step in pipeline["pipeline"]]
    assert steps == ["evaluate_trec", "evaluate_trec_pvalue"]
    assert set(steps) < built["tools"].keys()


def test_the_new_search_has_the_figures_of_its_ranks(server: Client, built: dict[str, Any]) -> None:
    found = run_step(server, built, "evaluate_trec")
    # Relevant at ranks: tomatoes 1 and 3, roses 2, 浇水 1, compost 1.
    assert found["map"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2 + 1 + 1) / 4, abs=1e-12)
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 + 1) / 4, abs=1e-12)
    assert found["P@1"] == 3 / 4
    assert found["recall@3"] == 1.0


def test_the_table_of_the_readme_is_what_stderr_shows(
    server: Client, built: dict[str, Any]
) -> None:
    found = run_step(server, built, "evaluate_trec_pvalue")
    # The old search has tomatoes at 2 and 3, roses 3, 浇水 2, compost 2. Each difference has the
    # same sign: of 2^4 sign patterns two are as extreme.
    old = ((1 / 2 + 2 / 3) / 2 + 1 / 3 + 1 / 2 + 1 / 2) / 4
    assert found["map"]["B_mean"] == pytest.approx(old, abs=1e-12)
    assert found["map"]["p_value"] == 2 / 2**4
    [table] = re.findall(
        r"```text\n(.*?)```", (EXAMPLE / "README.md").read_text("utf-8"), re.DOTALL
    )
    assert table in server.stderr.read_text("utf-8")


@pytest.mark.full
def test_answers_are_compared_as_the_readme_does(server: Client, built: dict[str, Any]) -> None:
    rows = {"pred_ls": ["Every evening"], "gt_ls": [["every evening", "daily"]]}
    found = run_step(server, built, "evaluate", **rows)
    # One of two references is equal.
    assert (found["avg_em"], found["avg_stringem"]) == (1.0, 0.5)
    [path] = [
        path
        for path in (server.stderr.parent / "output").iterdir()
        if "avg_em" in path.read_text("utf-8")
    ]
    assert re.fullmatch(r"garden_\d{8}_\d{6}\.json", path.name)
