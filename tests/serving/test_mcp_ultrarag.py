"""D10: ``--rag-mcp=ultrarag`` in a real child process, asked by the official SDK's client."""

from __future__ import annotations

import itertools
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_rageval import extras

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp_client import Client, child_environment, connected

COMMAND = ["-m", "pytest", "--rag-mcp=ultrarag", "-s"]
# Whatever is called prints in all ways there are, and tries to read.
NOISE = """
import os
import subprocess
import sys
from pytest_rageval.serving.mcp import ultrarag

print("while pytest starts")

def noisy(function):
    def call(*args):
        print("print")
        sys.__stdout__.write("original stdout")
        sys.__stdout__.flush()
        os.write(1, b"descriptor 1")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        assert sys.stdin.read() == ""
        if args[0] == ["raise"]:
            raise RuntimeError("a defect")
        return function(*args)
    return call

for name in ("score_answers", "score_run", "compare_runs"):
    setattr(ultrarag, name, noisy(getattr(ultrarag, name)))
"""
QRELS = "q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 1\nq3 0 d1 1\n"
# AP: q1 (1/1 + 2/3)/2 = 5/6, q2 1/2. It has no results for q3.
NEW = "q1 Q0 d1 1 3 t\nq1 Q0 d3 2 2 t\nq1 Q0 d2 3 1 t\nq2 Q0 d3 1 2 t\nq2 Q0 d1 2 1 t\n"
# AP: q1 1/2 of the relevant at rank 1 = 1/2, q3 1. It has no results for q2.
OLD = "q1 Q0 d1 1 3 t\nq3 Q0 d1 1 1 t\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("server")
    (folder / "conftest.py").write_text(NOISE, "utf-8")
    for name, text in {"qrels": QRELS, "new": NEW, "old": OLD}.items():
        (folder / name).write_text(text, "utf-8")
    with connected(COMMAND, folder) as client:
        yield client


@pytest.fixture
def folder(server: Client) -> Path:
    return server.stderr.parent


def eval_res(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of an answer, which are the same as text and as data."""
    assert not answer["isError"], answer
    [content] = answer["content"]
    assert content["text"] == json.dumps(
        answer["structuredContent"], ensure_ascii=False, separators=(",", ":")
    )
    assert answer["structuredContent"].keys() == {"eval_res"}
    found: dict[str, Any] = answer["structuredContent"]["eval_res"]
    return found


def error(answer: dict[str, Any]) -> str:
    assert answer["isError"], answer
    [content] = answer["content"]
    return str(content["text"])


ARGUMENTS = {
    "evaluate": ["pred_ls", "gt_ls", "metrics", "save_path"],
    "evaluate_trec": ["run_path", "qrels_path", "metrics", "ks", "save_path"],
    "evaluate_trec_pvalue": [
        "run_new_path", "run_old_path", "qrels_path", "metrics", "ks", "n_resamples", "save_path",
    ],
    "build": ["parameter_file"],
}  # fmt: skip
OUTPUTS = {
    "evaluate": "pred_ls,gt_ls,metrics,save_path->eval_res",
    "evaluate_trec": "run_path,qrels_path,ir_metrics,ks,save_path->eval_res",
    "evaluate_trec_pvalue": (
        "run_new_path,run_old_path,qrels_path,ir_metrics,ks,n_resamples,save_path->eval_res"
    ),
}


def test_the_tools_have_ultrarags_names_arguments_and_annotation(server: Client) -> None:
    """D10: mcp 2 knows no annotation ``output``, and sends it as ``_meta`` alone."""
    tools = server.tools()
    assert {name: list(tool["inputSchema"]["properties"]) for name, tool in tools.items()} == (
        ARGUMENTS
    )
    assert all(tool["inputSchema"]["required"] == ARGUMENTS[name] for name, tool in tools.items())
    assert {name: tools[name]["_meta"]["output"] for name in OUTPUTS} == OUTPUTS
    if extras.installed("mcp_types"):  # mcp 2
        return
    assert {name: tools[name]["annotations"]["output"] for name in OUTPUTS} == OUTPUTS


def test_evaluate_answers_and_writes_its_file(server: Client, folder: Path) -> None:
    """D10: lists of scores, then means; the same in text, data and file, whatever prints."""
    answer = server.call(
        "evaluate",
        {
            "pred_ls": ["The Thames", "浇水", ""],
            "gt_ls": [["thames", "river"], ["浇水"], []],
            "metrics": ["EM", "stringem", "em"],
            "save_path": "out/深/an.swers.json",
        },
    )
    # stringem: 1 of 2 references, 1 of 1; without references 0, as in UltraRAG.
    expected = {
        "em": [1.0, 1.0, 0.0],
        "stringem": [0.5, 1.0, 0.0],
        "avg_em": 2 / 3,
        "avg_stringem": 0.5,
    }
    found = eval_res(answer)
    assert list(found) == list(expected)
    assert found == expected
    [path] = (folder / "out" / "深").iterdir()
    assert re.fullmatch(r"an\.swers_\d{8}_\d{6}\.json", path.name)
    assert path.read_text("utf-8") == json.dumps(expected, indent=4)
    shown = server.stderr.read_text("utf-8")
    assert "warning: 1 row without references, scored 0: gt_ls[2]" in shown
    assert re.search(r"^em +0\.6667\nstringem +0\.5000\nsaved to out/深/an", shown, re.MULTILINE)
    for noise in ("while pytest starts\n", "print\n", "original stdout", "descriptor 1", "child\n"):
        assert noise in shown


def test_evaluate_trec_means_over_the_queries_with_results(server: Client) -> None:
    """D10: map and mrr always, 0.0 where nobody asked for them."""
    answer = server.call(
        "evaluate_trec",
        {
            "run_path": "new",
            "qrels_path": "qrels",
            "metrics": ["MAP", "precision", "recall"],
            "ks": [3, 1],
            "save_path": "out/trec",
        },
    )
    found = eval_res(answer)
    assert list(found) == ["map", "mrr", "P@3", "recall@3", "P@1", "recall@1"]
    # q1 and q2: map (5/6 + 1/2)/2, P@3 (2/3 + 1/3)/2, recall@3 1, P@1 (1 + 0)/2, recall@1 1/4.
    assert found == pytest.approx(
        {"map": 2 / 3, "mrr": 0.0, "P@3": 0.5, "recall@3": 1.0, "P@1": 0.5, "recall@1": 0.25},
        abs=1e-12,
    )


def test_evaluate_trec_pvalue_compares_over_the_queries_that_either_answered(
    server: Client, folder: Path
) -> None:
    """D10: two calls within a second have two files."""
    arguments = {
        "run_new_path": "new",
        "run_old_path": str(folder / "old"),
        "qrels_path": "qrels",
        "metrics": ["map"],
        "ks": None,
        "n_resamples": None,
        "save_path": str(folder / "twice" / "p.json"),
    }
    found = eval_res(server.call("evaluate_trec_pvalue", arguments))
    assert list(found["map"]) == ["A_mean", "B_mean", "diff", "p_value", "significant"]
    # A 5/6, 1/2, 0 and B 1/2, 0, 1: differences 1/3, 1/2, -1. Their sum, -1/6, is the smallest
    # that signs can give: p = 1.
    assert found["map"] == pytest.approx(
        {"A_mean": 4 / 9, "B_mean": 1 / 2, "diff": -1 / 18, "p_value": 1.0, "significant": False},
        abs=1e-12,
    )
    assert eval_res(server.call("evaluate_trec_pvalue", arguments)) == found
    assert len(list((folder / "twice").iterdir())) == 2


def test_build_writes_server_yaml(server: Client, folder: Path) -> None:
    """D10: ``$`` marks a variable that stands in parameter.yaml."""
    code = folder / "evaluation" / "src" / "evaluation.py"
    code.parent.mkdir(parents=True)
    code.touch()
    parameters = folder / "evaluation" / "parameter.yaml"
    parameters.write_text("metrics: [em]\nks: [1]\nir_metrics: [map]\nsave_path: x.json\n")
    answer = server.call("build", {"parameter_file": "evaluation/parameter.yaml"})
    assert not answer["isError"], answer
    written = yaml.safe_load((folder / "evaluation" / "server.yaml").read_text("utf-8"))
    assert list(written) == ["path", "parameter", "tools", "prompts"]
    assert (written["path"], written["parameter"], written["prompts"]) == (
        "evaluation/src/evaluation.py",
        "evaluation/parameter.yaml",
        {},
    )
    assert written["tools"]["evaluate"] == {
        "input": {
            "pred_ls": "pred_ls",
            "gt_ls": "gt_ls",
            "metrics": "$metrics",
            "save_path": "$save_path",
        },
        "output": ["eval_res"],
    }
    assert written["tools"]["evaluate_trec"]["input"]["metrics"] == "$ir_metrics"
    assert written["tools"]["evaluate_trec_pvalue"]["input"]["n_resamples"] == "n_resamples"


SOUND = {"pred_ls": ["a"], "gt_ls": [["a"]], "metrics": ["em"], "save_path": "out/x.json"}
_number = itertools.count()


def works(server: Client) -> bool:
    # Within a second a second file of one name would wait for the next.
    arguments = {**SOUND, "save_path": f"out/{next(_number)}.json"}
    return eval_res(server.call("evaluate", arguments)) == {"em": [1.0], "avg_em": 1.0}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("evalute", {}, "unknown tool 'evalute'. Did you mean 'evaluate'? Known: build, "),
        ("evaluate", {}, "pred_ls: required, and missing\ngt_ls: required"),
        ("evaluate", {**SOUND, "metric": 1}, "metric: unknown argument 'metric'. Did you mean"),
        ("evaluate", {**SOUND, "gt_ls": ["a"] * 9}, "gt_ls[0]: expected a list, found 'a'"),
        ("evaluate", {**SOUND, "save_path": "out/"}, "save_path: 'out/' names no file"),
        ("evaluate", {**SOUND, "save_path": "qrels/x"}, "qrels"),
        ("evaluate_trec", {"ks": [0, 1.5]}, "ks[1]: expected a whole number, found 1.5"),
        ("evaluate", {**SOUND, "pred_ls": ["raise"]}, "internal error: RuntimeError: a defect"),
        ("build", {"parameter_file": "no/parameter.yaml"}, "no server code at 'no/src/no.py'"),
    ],
)
def test_an_error_is_a_sentence_and_the_server_goes_on(
    server: Client, name: str, arguments: dict[str, Any], message: str
) -> None:
    """D10."""
    assert message in error(server.call(name, arguments))
    assert works(server)


def test_nested_references_are_answer_groups(server: Client) -> None:
    """[M5, D1] ALCE: Paris or its other name, and 1889. Two of two, one of two; flat for em."""
    groups = [["Paris", "City of Light"], ["1889"]]
    rows = {"pred_ls": ["the City of Light, 1889", "1889"], "gt_ls": [groups, groups]}
    found = eval_res(server.call("evaluate", {**SOUND, **rows, "metrics": ["stringem", "em"]}))
    assert (found["stringem"], found["em"]) == ([1.0, 0.5], [0.0, 1.0])


def test_ten_thousand_rows_in_one_call(server: Client) -> None:
    """D10: no answer is cut."""
    rows = [f"answer {number}" for number in range(10_000)]
    arguments = {**SOUND, "pred_ls": rows, "gt_ls": [[row] for row in reversed(rows)]}
    assert eval_res(server.call("evaluate", arguments)) == {"em": [0.0] * 10_000, "avg_em": 0.0}


# Without a client of the SDK: what is on the wire


def message(**members: Any) -> bytes:
    return (json.dumps({"jsonrpc": "2.0", **members}) + "\n").encode()


def call(number: int, name: str, arguments: dict[str, Any]) -> bytes:
    params = {"name": name, "arguments": arguments}
    return message(id=number, method="tools/call", params=params)


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
START = message(id=0, method="initialize", params=HELLO) + message(
    method="notifications/initialized"
)
Start = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts a server in ``tmp_path``; it is gone after the test."""
    started = []

    def popen() -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        started.append(
            subprocess.Popen(
                [sys.executable, *COMMAND],
                cwd=tmp_path,
                env=child_environment(),
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
            )
        )
        return started[-1]

    yield popen
    for process in started:
        process.kill()
        process.communicate()


def test_what_was_asked_before_stdin_ended_is_answered(start: Start) -> None:
    """D10: exit status 0, and nothing else on stdout; a line that is no message does no harm."""
    output, errors = start().communicate(b"what?\n\xff\n" + START + call(1, "evaluate", SOUND), 60)
    found = [json.loads(line) for line in output.splitlines()]
    answers = {one["id"]: one["result"] for one in found if "id" in one}
    assert answers.keys() == {0, 1}
    assert eval_res(answers[1]) == {"em": [1.0], "avg_em": 1.0}
    assert b"Traceback" not in errors


def test_a_request_that_cannot_be_read_is_answered(start: Start) -> None:
    """[X10] Half an emoji, and deep nesting: an error with the id of the request; it goes on."""
    deep = call(2, "evaluate", {**SOUND, "gt_ls": "DEEP"}).replace(
        b'"DEEP"', b"[" * 600 + b"]" * 600
    )
    half = call(1, "evaluate", {**SOUND, "pred_ls": ["\ud800"]})
    output, _ = start().communicate(START + half + deep + call(3, "evaluate", SOUND), 60)
    answers = {one["id"]: one for one in map(json.loads, output.splitlines()) if "id" in one}
    for number in (1, 2):
        assert answers[number]["error"]["code"] == -32700
        assert "cannot be read" in answers[number]["error"]["message"]
    assert eval_res(answers[3]["result"]) == {"em": [1.0], "avg_em": 1.0}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_long_call_can_be_cancelled_and_a_signal_ends_the_server(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    """D10: a cancelled call writes no file; a signal ends even a server at work, with status 0."""
    # Too many different differences for an exact p-value.
    rows = [(query, number) for query in range(200) for number in range(5)]
    (tmp_path / "q").write_text("".join(f"q{query} 0 d{n} {n % 2}\n" for query, n in rows))
    for run, step in (("a", 7), ("b", 11)):
        lines = (f"q{q} Q0 d{n} 1 {(q * step + n * n) % 5 + n / 9} t\n" for q, n in rows)
        (tmp_path / run).write_text("".join(lines))
    long = {
        "run_new_path": "a",
        "run_old_path": "b",
        "qrels_path": "q",
        "metrics": ["map", "ndcg"],
        "ks": [2, 3],
        "n_resamples": 10**12,
        "save_path": "long/p.json",
    }
    process = start()
    assert process.stdin is not None
    assert process.stdout is not None
    cancelled = message(method="notifications/cancelled", params={"requestId": 1})
    process.stdin.write(START + call(1, "evaluate_trec_pvalue", long) + cancelled)
    process.stdin.write(call(2, "evaluate", SOUND) + call(3, "evaluate_trec_pvalue", long))
    process.stdin.flush()
    answer: dict[str, Any] = {}
    while answer.get("id") != 2:
        answer = json.loads(process.stdout.readline())
    assert eval_res(answer["result"]) == {"em": [1.0], "avg_em": 1.0}
    process.send_signal(number)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert all(json.loads(line) for line in output.splitlines())
    assert b"Traceback" not in errors
    assert not (tmp_path / "long").exists()
