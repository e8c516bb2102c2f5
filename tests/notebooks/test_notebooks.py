"""[E23] The notebooks of examples/notebook say what running them gives, and so does a kernel."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebook"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SHOWN = ("text/html", "text/plain")


def cells_of(path: Path) -> list[dict[str, Any]]:
    """Return the cells with code."""
    notebook = json.loads(path.read_text("utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs_of(cell: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what a cell shows, kind by kind, as one text each."""
    assert {output["output_type"] for output in cell["outputs"]} <= {"execute_result"}
    return [
        {kind: "".join(output["data"][kind]) for kind in SHOWN if kind in output["data"]}
        for output in cell["outputs"]
    ]


def shown(value: object) -> list[dict[str, str]]:
    """Return what a notebook shows of the last value of a cell."""
    if value is None:
        return []
    made = {"text/plain": repr(value)}
    html = getattr(value, "_repr_html_", None)
    return [{"text/html": html(), **made} if html is not None else made]


def without_blanks(outputs: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return outputs without white space: IPython breaks the lines of long lists."""
    return [{kind: re.sub(r"\s", "", text) for kind, text in one.items()} for one in outputs]


def run(source: str, names: dict[str, Any]) -> object:
    """Run the code of a cell, and return the value of its last expression."""
    code = ast.parse(source)
    last = code.body.pop() if isinstance(code.body[-1], ast.Expr) else None
    exec(compile(code, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None


def test_there_are_notebooks_that_show_results() -> None:
    assert len(NOTEBOOKS) == 2
    for path in NOTEBOOKS:
        assert any("text/html" in one for cell in cells_of(path) for one in outputs_of(cell))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_give_what_the_notebook_shows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(FOLDER)
    names: dict[str, Any] = {}
    for cell in cells_of(path):
        value = run("".join(cell["source"]), names)
        assert without_blanks(shown(value)) == without_blanks(outputs_of(cell))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_hold_no_times_and_no_places(path: Path) -> None:
    text = path.read_text("utf-8")
    assert not re.search(r'"execution"|iopub|/home/|/root/|/tmp/|/work/|\d{4}-\d\d-\d\dT', text)
    assert [cell["execution_count"] for cell in cells_of(path)] == list(
        range(1, len(cells_of(path)) + 1)
    )


# In a kernel, as Jupyter runs them.


def executed(notebook: Any, **options: Any) -> Any:
    """Return a notebook after a kernel ran it in the folder of the examples."""
    client = pytest.importorskip("nbclient").NotebookClient
    resources = {"metadata": {"path": str(FOLDER)}}
    client(notebook, resources=resources, **options).execute()
    return notebook


@pytest.mark.full
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_kernel_gives_what_the_notebook_shows(path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    found = executed(nbformat.read(path, as_version=4))
    ran = [cell for cell in found.cells if cell.cell_type == "code"]
    assert [outputs_of(cell) for cell in ran] == [outputs_of(cell) for cell in cells_of(path)]


IN_A_KERNEL = [
    """
import asyncio, time
from pytest_rageval import evaluate

rows = [{"id": str(at), "question": f"{at}?", "references": ["x"]} for at in range(3)]
scenario = {"name": "live", "metrics": ["em"], "dataset": rows}


def slow(question):
    time.sleep(600)


async def quick(question):
    await asyncio.sleep(0)
    return "x"
""",
    "evaluate(scenario, target=slow)",
    "evaluate(scenario, target=quick, progress=True).mean_of('em')",
    "(await asyncio.to_thread(evaluate, scenario, target=quick)).mean_of('em')",
]


@pytest.mark.full
def test_a_kernel_can_be_interrupted_and_goes_on() -> None:
    """The stop button in the second cell; a bar in the third; ``await`` in the last."""
    v4 = pytest.importorskip("nbformat.v4")
    cells = [v4.new_code_cell(source) for source in IN_A_KERNEL]
    options = {"timeout": 20, "interrupt_on_timeout": True, "allow_errors": True}
    found = executed(v4.new_notebook(cells=cells), **options).cells
    assert [output.ename for output in found[1].outputs] == ["KeyboardInterrupt"]
    streams = "".join(one.text for one in found[2].outputs if one.output_type == "stream")
    assert "live: 100%" in streams
    results = [one.outputs[-1]["data"]["text/plain"] for one in found[2:]]
    assert results == ["1.0", "1.0"]
