"""UltraRAG's evaluation tools over MCP, and ``build``, which writes their ``server.yaml``."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pytest_rageval import __version__
from pytest_rageval.clients.threads import in_thread
from pytest_rageval.errors import Problem, UserError
from pytest_rageval.metrics.base import MAX_CUTOFF
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.scenario.dialects.ultrarag import KS, OF_RUNS
from pytest_rageval.scenario.yaml.tree import parse_yaml
from pytest_rageval.serving.mcp.stdio import Reply, Report, Tool, serve_tools, tell
from pytest_rageval.serving.mcp.ultrarag_figures import (
    N_RESAMPLES,
    OF_ANSWERS,
    Figures,
    compare_runs,
    score_answers,
    score_run,
)
from pytest_rageval.stats.wording import p_figure

_Signatures = Mapping[str, tuple[tuple[str, ...], str]]


def build(parameter_file: str, signatures: _Signatures) -> Path:
    """Write ``server.yaml`` beside ``parameter_file``, and return its path.

    ``signatures`` maps a tool's name to its arguments and its ``output``, a text
    ``variables->results``; the variables are in the order of the arguments. A variable that the
    parameter file sets gets a ``$``; a missing file sets none. Raises UserError for a file that is
    no YAML mapping in UTF-8, and if the server's code, which ``path`` in the file may name, is not
    there.
    """
    file = Path(parameter_file)
    folder = file.parent
    parameters = _parameters(file)
    code = str(parameters.get("path", folder / "src" / f"{folder.absolute().name}.py"))
    if not Path(code).is_file():
        message = f"no server code at {code!r}; put it there, or name the file with 'path'"
        raise UserError([Problem(parameter_file, f"{message} in {file.name}")])
    tools = {name: _entry(*signature, parameters) for name, signature in signatures.items()}
    server = {"path": code, "parameter": parameter_file, "tools": tools, "prompts": {}}
    text = yaml.safe_dump(server, allow_unicode=True, sort_keys=False)
    return write_atomically(folder / "server.yaml", [text])


def _parameters(file: Path) -> Mapping[str, Any]:
    if not file.exists():
        return {}
    try:
        tree = parse_yaml(file.read_text("utf-8"), str(file))
    except UnicodeDecodeError as error:
        raise UserError([Problem(str(file), "not UTF-8; save the file as UTF-8")]) from error
    if tree.problems:
        raise UserError(tree.problems)
    if not isinstance(tree.data, dict | None):
        raise UserError([Problem(str(file), "must be a mapping, such as 'save_path: out.json'")])
    return tree.data or {}


def _entry(
    arguments: tuple[str, ...], output: str, parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the entry of one tool.

    >>> _entry(("metrics", "ks"), "ir_metrics,ks->eval_res", {"ks": [5]})
    {'input': {'metrics': 'ir_metrics', 'ks': '$ks'}, 'output': ['eval_res']}
    """
    variables, results = (
        [f"${name}" if name in parameters else name for name in part.split(",")]
        for part in output.split("->")
    )
    return {"input": dict(zip(arguments, variables, strict=True)), "output": results}


_Path = Annotated[str, Field(min_length=1)]
_Cutoff = Annotated[int, Field(ge=1, le=MAX_CUTOFF)]


def _names_a_file(path: str) -> str:
    if not Path(path).name or path.endswith(("/", os.sep)):
        raise ValueError(f"{path!r} names no file; write one, such as output/results.json")
    return path


_SavePath = Annotated[
    str,
    AfterValidator(_names_a_file),
    Field(description="JSON file for the figures; the time is appended to its name"),
]
_Ks = Annotated[list[_Cutoff] | None, Field(description=f"cutoffs; null for {list(KS)}")]
_RunMetrics = Annotated[
    list[str] | None, Field(description=f"of {', '.join(OF_RUNS)}; null for all")
]
_Run = Annotated[_Path, Field(description="TREC run file")]
_Qrels = Annotated[_Path, Field(description="TREC qrels file")]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EvaluateArguments(_Arguments):
    """Answers and what they are compared with."""

    pred_ls: list[str] = Field(description="the answers")
    gt_ls: list[list[str | list[str]]] = Field(
        description="for each answer, its references; lists of them are answer groups, for stringem"
    )
    metrics: list[str] | None = Field(description=f"of {', '.join(OF_ANSWERS)}; null for all")
    save_path: _SavePath


class TrecArguments(_Arguments):
    """A run and its judgements."""

    run_path: _Run
    qrels_path: _Qrels
    metrics: _RunMetrics
    ks: _Ks
    save_path: _SavePath


class PValueArguments(_Arguments):
    """Two runs and their judgements."""

    run_new_path: _Run
    run_old_path: _Run
    qrels_path: _Qrels
    metrics: _RunMetrics
    ks: _Ks
    n_resamples: int | None = Field(
        ge=0, description=f"random sign flips; null or 0 for {N_RESAMPLES}"
    )
    save_path: _SavePath


class BuildArguments(_Arguments):
    """Where the parameters of the server are."""

    parameter_file: _Path = Field(description="parameter.yaml of the server's folder")


def serve_ultrarag() -> int:
    """Serve the tools on stdin and stdout until they are closed; return pytest's exit status."""
    return serve_tools("evaluation", __version__, TOOLS)


def _call_of(
    compute: Callable[[Any], Figures],
) -> Callable[[Any, Report], Awaitable[Reply]]:
    """Return a tool's call: it computes in a thread, writes the file, and shows the figures."""

    async def call(request: Any, _: Report) -> Reply:
        figures = await in_thread(partial(compute, request))
        text = json.dumps(figures.eval_res, ensure_ascii=False, indent=4, allow_nan=False)
        while (path := _result_path(request.save_path)).exists():  # written within this second
            await asyncio.sleep(0.05)
        write_atomically(path, [text])
        _show(figures, path)
        reply = {"eval_res": figures.eval_res}
        return Reply(json.dumps(reply, ensure_ascii=False, separators=(",", ":")), reply)

    return call


async def _build(request: BuildArguments, _: Report) -> Reply:
    return Reply(f"wrote {build(request.parameter_file, _SIGNATURES)}")


def _result_path(save_path: str) -> Path:
    """Return the path of a result: ``out/eval.json`` becomes ``out/eval_20261121_093011.json``."""
    path = Path(save_path)
    return path.with_name(f"{path.stem}_{datetime.now():%Y%m%d_%H%M%S}.json")


def _show(figures: Figures, path: Path) -> None:
    """Write the remarks, a table of the figures and the file's path to stderr."""
    lines = [f"warning: {remark}" for remark in figures.remarks]
    tell("\n".join([*lines, *_table(figures.eval_res), f"saved to {path}", ""]))


def _table(eval_res: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table: a row for each metric, without the lists of scores.

    >>> _table({"em": [1.0, 0.0], "avg_em": 0.5})
    ['metric  value', 'em      0.5000']
    """
    shown = {name: value for name, value in eval_res.items() if not isinstance(value, list)}
    compared = [value for value in shown.values() if isinstance(value, dict)]
    head = ["metric", *(compared[0] if compared else ["value"])]
    rows = [head] + [
        [
            name.removeprefix("avg_"),
            *(_cell(*cell) for cell in (found if compared else {name: found}).items()),
        ]
        for name, found in shown.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


def _cell(name: str, value: float) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return p_figure(value) if name == "p_value" else f"{value:.4f}"


def _tool(
    name: str, description: str, arguments: type[BaseModel], variables: str, call: Any
) -> Tool:
    """Return a tool with UltraRAG's annotation: the pipeline's variables for its arguments."""
    output = {"output": f"{variables}->eval_res"}
    # As `meta`, too: mcp 2 drops annotations that it does not know.
    return Tool(name, description, arguments, _call_of(call), annotations=output, meta=output)


_FIGURES: Final[Sequence[Tool]] = (
    _tool(
        "evaluate",
        "Compare answers with references: scores and means of each metric.",
        EvaluateArguments,
        "pred_ls,gt_ls,metrics,save_path",
        lambda request: score_answers(request.pred_ls, request.gt_ls, request.metrics),
    ),
    _tool(
        "evaluate_trec",
        "Evaluate a TREC run: means over the queries that it has results for.",
        TrecArguments,
        "run_path,qrels_path,ir_metrics,ks,save_path",
        lambda request: score_run(
            request.run_path, request.qrels_path, request.metrics, request.ks
        ),
    ),
    _tool(
        "evaluate_trec_pvalue",
        "Compare two TREC runs: means, differences and p-values of a permutation test.",
        PValueArguments,
        "run_new_path,run_old_path,qrels_path,ir_metrics,ks,n_resamples,save_path",
        lambda request: compare_runs(
            (request.run_new_path, request.run_old_path),
            request.qrels_path,
            request.metrics,
            request.ks,
            request.n_resamples or N_RESAMPLES,
        ),
    ),
)
_SIGNATURES: Final = {
    tool.name: (tuple(tool.arguments.model_fields), tool.annotations["output"]) for tool in _FIGURES
}
TOOLS: Final = (
    *_FIGURES,
    Tool(
        "build",
        "Write server.yaml, which tells a pipeline the tools, beside a parameter file.",
        BuildArguments,
        _build,
    ),
)
