"""[E24] The pages for those who come from other tools: their examples, run by these tools."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
QUIET = {"DEEPEVAL_TELEMETRY_OPT_OUT": "1", "RAGAS_DO_NOT_TRACK": "true"}
PYTEST = ["-m", "pytest", "-p", "no:rageval", "-W", "ignore", "test_bot.py"]


def run(tool: str, folder: Path, arguments: list[str]) -> tuple[int, str]:
    """Return the exit status and the output of the page's Python code on the page's data."""
    if find_spec(tool) is None:
        pytest.skip(f"{tool} is not installed")
    page = PAGES / f"coming-from-{tool.replace('_', '-')}.md"
    for word, file in (("json", "answers.jsonl"), ("python", "test_bot.py")):
        block = re.search(rf"^```{word}\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
        assert block is not None
        (folder / file).write_text(block[1], "utf-8")
    told = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, **QUIET, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return told.returncode, told.stdout + told.stderr


def test_deepeval_fails_the_third_row_as_we_do(tmp_path: Path) -> None:
    status, output = run("deepeval", tmp_path, PYTEST)
    assert status == 1, output
    assert "1 failed, 2 passed" in output


def test_pytest_evals_passes_as_we_do(tmp_path: Path) -> None:
    status, output = run("pytest_evals", tmp_path, [*PYTEST, "--run-eval", "--run-eval-analysis"])
    assert status == 0, output
    assert "4 passed" in output


def test_ragas_gives_the_means_that_the_page_shows(tmp_path: Path) -> None:
    status, output = run("ragas", tmp_path, ["test_bot.py"])
    assert status == 0, output
    means = [f"{float(line.split()[-1]):.4f}" for line in output.splitlines()[-2:]]
    page = (PAGES / "coming-from-ragas.md").read_text("utf-8")
    assert means == re.findall(r"^(?:string_equality|rouge_score) +([\d.]+)", page, re.MULTILINE)
