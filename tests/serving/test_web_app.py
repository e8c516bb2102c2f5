"""`pytest --rag-serve`: scenarios, runs, weights and history over HTTP, from a real server."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import quote

import pytest
from steady_clock import set_steady_clock
from web_client import WebClient, served

from pytest_rageval import evaluate

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

SCENARIO = """\
    name: bot  # ours
    dataset: rows.jsonl
    metrics: [em, f1]
    metric_weights: {em: 1, f1: 3}
    doc_weights: {a.md: 2}
    thresholds: {weighted_score: 0.2}
    gates: {f1: 0.5}
    """
ROWS = [
    {"id": "r1", "answer": "red", "references": ["red"], "doc_name": "a.md"},
    {"id": "r2", "answer": "blue sky", "references": ["blue"], "doc_name": "b.md"},
]
LOW = """\
    name: low
    metrics: [em]
    diagnose: true
    dataset:
      - {id: lost, answer: a ball, references: [the cube], contexts: [a ball]}
      - {id: good, answer: the cube, references: [the cube], contexts: [a ball]}
    """
# Of 20 answers, bm25 has 10 right and dense all: one sign in ten samples, p = 2 ** -9.
SHOP = """\
    name: shop
    dataset: bm25.jsonl
    metrics: [em, f1]
    gates: {em: 0.4}
    variants:
      bm25: {}
      dense: {dataset: dense.jsonl}
      own: {metric_weights: {f1: 5}}
    best: {of: em, at_least: dense}
    """
SLOW = """
    import time
    def pytest_rageval_metrics(config):
        def slow(answer):
            time.sleep(600)
            return 1.0
        return {"slow": slow}
    """


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(dedent(text), "utf-8")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    write(path, "pytest.ini", "[pytest]\nnorecursedirs = left_out\n")
    write(path, "rows.jsonl", "".join(json.dumps(row) + "\n" for row in ROWS))
    write(path, "bot.rageval.yaml", SCENARIO)
    write(path, "broken.rageval.yaml", "name: broken\nmetrics: [em\n")
    write(path, "wrong.rageval.yaml", "name: wrong\ndataset: rows.jsonl\nmetrics: [f11]\n")
    for name in "ab":
        write(path, f"{name}.rageval.yaml", SCENARIO.replace("bot", "twin"))
    write(path, "low.rageval.yaml", LOW)
    write(path, "shop.rageval.yaml", SHOP)
    for name, right in (("bm25", 10), ("dense", 20)):
        answers = ["red" if at < right else "blue" for at in range(20)]
        rows = [{**ROWS[0], "id": f"q{at}", "answer": text} for at, text in enumerate(answers)]
        write(path, f"{name}.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    (path / "slow").mkdir()
    write(path, "slow/conftest.py", SLOW)
    write(
        path,
        "slow/slow.rageval.yaml",
        "name: slow\ndataset: [{id: x, answer: y}]\nmetrics: [slow]\n",
    )
    (path / "left_out").mkdir()
    write(path, "left_out/other.rageval.yaml", SCENARIO)
    return path


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[WebClient]:
    with served(folder) as client:
        yield client


def wait_until(there: Callable[[], object], most_s: float = 60.0) -> None:
    end = time.monotonic() + most_s
    while not there():
        assert time.monotonic() < end, "not there in time"
        time.sleep(0.02)


def processes(folder: Path) -> list[int]:
    """Return the processes that work in ``folder``, but for the servers."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            if (path / "cwd").resolve() == folder and b"--rag-serve" not in command:
                found.append(int(path.name))
        except OSError:
            continue
    return found


def test_the_scenarios_are_those_that_pytest_finds(app: WebClient) -> None:
    """[A24] With the ini file of the project; a broken one says where."""
    listed = {one["shown"]: one for one in app.get("/api/scenarios?fresh=1")["scenarios"]}
    assert listed.keys() == {
        "a.rageval.yaml",
        "b.rageval.yaml",
        "bot.rageval.yaml",
        "broken.rageval.yaml",
        "low.rageval.yaml",
        "shop.rageval.yaml",
        "slow/slow.rageval.yaml",
        "wrong.rageval.yaml",
    }
    assert listed["bot.rageval.yaml"]["name"] == "bot"
    assert listed["broken.rageval.yaml"]["problem"].startswith("broken.rageval.yaml:")


def test_a_scenario_shows_what_is_in_it(app: WebClient) -> None:
    """[A24] Weights, documents of the data, thresholds and gates."""
    found = app.get(f"/api/scenarios/{app.scenario('bot')}")
    outline = found["outline"]
    assert found["problems"] == []
    assert [(one["name"], one["weight"]) for one in outline["metrics"]] == [("em", 1), ("f1", 3)]
    assert [one["range"] for one in outline["metrics"]] == [[0.0, 1.0], [0.0, 1.0]]
    assert outline["doc_weights"] == {"a.md": 2}
    assert outline["docs"] == {"a.md": 1, "b.md": 1}
    assert outline["gates"] == {"f1": 0.5}
    assert outline["weighted_threshold"] == {"min": 0.2, "max": None}


def test_a_scenario_that_cannot_be_run_says_why(app: WebClient) -> None:
    """[A24] With file and line; it cannot be started either."""
    scenario = app.scenario("wrong")
    found = app.get(f"/api/scenarios/{scenario}")
    assert found["outline"] is None
    assert "wrong.rageval.yaml:3" in found["problems"][0]
    assert "Did you mean 'f1'?" in found["problems"][0]
    assert app.send("POST", f"/api/scenarios/{scenario}/runs", {}).status == 400


def test_a_run_with_other_weights_is_a_run_of_pytest(app: WebClient, folder: Path) -> None:
    """[A24] em 1, 0; f1 1, 2/3; a.md weighs 1: em 0.5, f1 (1 + 2/3)/2, weighted with 1 and 1."""
    scenario = app.scenario("bot")
    weights = {"metric_weights": {"f1": 1}, "doc_weights": {"a.md": None}}
    run = app.send("POST", f"/api/scenarios/{scenario}/runs", weights).body["run"]
    *_, progress, result, end = app.events(run)
    assert (progress["done"], progress["total"]) == (2, 2)
    assert end["verdict"] == "passed"
    point = result["point"]
    assert point["weighted_score"]["mean"] == pytest.approx((1 + (0 + 2 / 3) / 2) / 2, abs=1e-12)
    assert point["metrics"]["em"]["weighted_mean"] == 0.5
    assert (folder / ".rageval/bot" / point["run"] / "results.json").is_file()
    page = app.send("GET", point["page"])
    assert "<title>" in page.text
    assert page.headers["Content-Security-Policy"].startswith("sandbox")
    newest = app.get(f"/api/history?scenario={scenario}")["points"][-1]
    assert newest == point
    listed = {one["id"]: one["last"] for one in app.get("/api/scenarios")["scenarios"]}
    assert listed[scenario] == {key: value for key, value in point.items() if key != "metrics"}


@pytest.mark.full
def test_events_go_on_after_the_last_one_that_was_seen(app: WebClient) -> None:
    """[A24] A page that was loaded anew, or lost its connection, shows the same run."""
    scenario = app.scenario("bot")
    run = app.send("POST", f"/api/scenarios/{scenario}/runs", {}).body["run"]
    whole = app.send("GET", f"/api/runs/{run}/events").text
    last = whole.rpartition("id: ")[2].partition("\n")[0]
    path = f"/api/runs/{run}/events"
    again = app.send("GET", path, change={"Last-Event-ID": str(int(last) - 1)}).text
    assert again.strip() == whole.strip().rpartition("\n\n")[2]


def test_a_run_that_is_stopped_leaves_no_process(app: WebClient, folder: Path) -> None:
    """[A24] Nor does it pass; meanwhile a second one is refused."""
    scenario = app.scenario("slow")
    run = app.send("POST", f"/api/scenarios/{scenario}/runs", {}).body["run"]
    wait_until(lambda: processes(folder))
    second = app.send("POST", f"/api/scenarios/{app.scenario('bot')}/runs", {})
    assert second.status == 409
    assert second.body["running"] == {"run": run, "scenario": scenario}
    assert app.get("/api/scenarios")["running"] == second.body["running"]
    assert app.send("DELETE", f"/api/runs/{run}").status == 200
    assert app.events(run)[-1]["verdict"] == "stopped"
    assert processes(folder) == []
    assert app.get("/api/scenarios")["running"] is None


def test_weights_are_written_into_the_file(app: WebClient, folder: Path) -> None:
    """[A24] Comments stay; a file that has changed meanwhile is left alone."""
    path = folder / "bot.rageval.yaml"
    before = path.read_text("utf-8")
    scenario = app.scenario("bot")
    digest = app.get(f"/api/scenarios/{scenario}")["digest"]
    body = {
        "digest": digest,
        "metric_weights": {"f1": 4.5},
        "doc_weights": {"a.md": None, "b.md": 3},
    }
    try:
        reply = app.send("POST", f"/api/scenarios/{scenario}/settings", body)
        assert reply.body["changed"] == [
            "metric_weights.f1",
            "doc_weights.a.md",
            "doc_weights.b.md",
        ]
        text = path.read_text("utf-8")
        assert "name: bot  # ours" in text
        assert "{em: 1, f1: 4.5}" in text
        assert "doc_weights: {b.md: 3}" in text
        assert app.send("POST", f"/api/scenarios/{scenario}/settings", body).status == 409
        stale = app.send("POST", f"/api/scenarios/{scenario}/runs", body)
        assert (stale.status, "has changed since" in str(stale.body)) == (409, True)
        assert path.read_text("utf-8") == text
    finally:
        path.write_text(before, "utf-8")


@pytest.mark.full
def test_bounds_are_written_as_weights_are(app: WebClient, folder: Path) -> None:
    """[P4] Those that the page shows; what is wrong is said before, and nothing is written then."""
    path, scenario = folder / "bot.rageval.yaml", app.scenario("bot")
    before = path.read_text("utf-8")
    read = app.get(f"/api/scenarios/{scenario}")
    assert read["outline"]["groups"] == ["doc_name"]
    body = {
        "thresholds": {"weighted_score": {"min": 0.1}, "em": {"min": 0, "max": 0.5}},
        "gates": [[["f1"], 0.4], [["by", "doc_name", "f1"], 0.1], [["pass_rate"], 0.5]],
    }
    assert app.send("POST", f"/api/scenarios/{scenario}/settings/check", body).body == {
        "problems": []
    }
    wrong = {"gates": [[["f1"], 7], [["pass_rate"], 0.5]], "thresholds": {"em": {"min": -1}}}
    found = app.send("POST", f"/api/scenarios/{scenario}/settings/check", wrong).body["problems"]
    assert [one["path"] for one in found] == [["thresholds", "em"], ["gates", "f1"]]
    assert found[1]["text"] == "gates.f1: min 7 is outside the range 0..1"
    none = {"metric_weights": {"em": 0, "f1": 0}}
    [whole] = app.send("POST", f"/api/scenarios/{scenario}/settings/check", none).body["problems"]
    assert (whole["path"], "all weights are 0" in whole["text"]) == ([], True)
    refused = app.send(
        "POST", f"/api/scenarios/{scenario}/settings", {**wrong, "digest": read["digest"]}
    )
    assert (refused.status, path.read_text("utf-8")) == (400, before)
    try:
        written = app.send(
            "POST", f"/api/scenarios/{scenario}/settings", {**body, "digest": read["digest"]}
        )
        assert written.body["changed"] == [
            "thresholds.weighted_score",
            "thresholds.em.min",
            "thresholds.em.max",
            "gates.f1",
            "gates.by.doc_name.f1",
            "gates.pass_rate",
        ]
        text = path.read_text("utf-8")
        assert "name: bot  # ours" in text
        assert "thresholds: {weighted_score: 0.1, em: {min: 0, max: 0.5}}" in text
    finally:
        path.write_text(before, "utf-8")


_HELD = """
import time
from pathlib import Path

def pytest_runtestloop():
    while (Path(__file__).parent / "hold").exists():
        time.sleep(0.02)
"""


@pytest.mark.full
def test_all_run_one_after_the_other(tmp_path: Path) -> None:
    """[P4] Also after one that failed; Stop ends them all."""
    rows = json.dumps({"answer": "a", "references": ["b"]})
    for name in ("one", "two"):
        text = f"name: {name}\ndataset: [{rows}]\nmetrics: [em]\ngates: {{em: 0.5}}\n"
        write(tmp_path, f"{name}.rageval.yaml", text)
    write(tmp_path, "broken.rageval.yaml", "name: broken\nmetrics: [em\n")
    write(tmp_path, "conftest.py", _HELD)
    write(tmp_path, "pytest.ini", "[pytest]\n")
    with served(tmp_path) as client:
        started = client.send("POST", "/api/runs", {})
        assert (started.status, len(started.body["waiting"])) == (201, 2)
        assert client.send("POST", "/api/runs", {}).status == 409
        one = client.scenario("one")
        assert client.send("POST", f"/api/scenarios/{one}/runs", {}).status == 409
        wait_until(lambda: has_run(client, "one", 1) and has_run(client, "two", 1), 90)
        gate = last_of(client, "one")["failed_gates"]
        assert gate == [{"name": "em.mean", "message": "0.0000 < 0.5000"}]

        (tmp_path / "hold").touch()
        client.send("POST", "/api/runs", {})
        wait_until(lambda: (client.get("/api/scenarios")["running"] or {}).get("run"))
        running = client.get("/api/scenarios")["running"]["run"]
        assert client.send("DELETE", f"/api/runs/{running}").status == 200
        found = client.get("/api/scenarios")
        assert (found["running"], found["waiting"]) == (None, [])
        unfinished = [one["unfinished"] for one in found["scenarios"] if one["unfinished"]]
        assert unfinished == [{"run": running, "verdict": "stopped"}], found
        assert has_run(client, "two", 1)


def has_run(client: WebClient, name: str, times: int) -> bool:
    history = client.get(f"/api/history?scenario={client.scenario(name)}")["points"]
    return len(history) == times and client.get("/api/scenarios")["running"] is None


def last_of(client: WebClient, name: str) -> Any:
    listed = client.get("/api/scenarios")["scenarios"]
    return next(one["last"] for one in listed if one["name"] == name)


def test_samples_that_fell_have_their_cause(
    app: WebClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[A24, E21]"""
    # Other tests run all scenarios, perhaps before this one.
    set_steady_clock(monkeypatch, "evaluation", start=2_000_000_000)
    scenario, path = app.scenario("low"), folder / "low.rageval.yaml"
    for text in (LOW.replace("answer: a ball", "answer: the cube"), LOW):
        write(folder, path.name, text)
        evaluate(path, write_to=folder / ".rageval")
    points = app.get(f"/api/history?scenario={scenario}")["points"]
    b, a = (point["run"] for point in points[-2:])
    [worse] = app.get(f"/api/compare?scenario={scenario}&a={a}&b={b}")["worse"]
    assert (worse["cause"], worse["cause_reason"]) == (
        "retrieval",
        "no context holds the reference",
    )


@pytest.mark.full
def test_variants_run_together_and_are_ranked(app: WebClient) -> None:
    """[A24, E20] Each has runs of its own; a page shows them side by side, under the same rules."""
    scenario = app.scenario("shop")
    read = app.get(f"/api/scenarios/{scenario}")
    assert [one["name"] for one in read["variants"]] == ["bm25", "dense", "own"]
    assert (
        [one["name"] for one in read["outline"]["metrics"]],
        read["outline"]["own_weights"],
    ) == (
        ["em"],
        ["f1"],
    )
    run = app.send("POST", f"/api/scenarios/{scenario}/runs", {}).body["run"]
    *_, counts, bm25, dense, _, contest, end = app.events(run)
    assert counts["variants"] == {"bm25": 20, "dense": 20, "own": 20}
    assert [one["point"]["metrics"]["em"]["mean"] for one in (bm25, dense)] == [0.5, 1.0]
    assert (contest["gate"]["outcome"], end["verdict"]) == ("passed", "passed")

    points = app.get(f"/api/history?scenario={scenario}")["points"][-3:]
    assert [one["variant"] for one in points] == ["bm25", "dense", "own"]
    newest = app.get(f"/api/history?scenario={scenario}&limit=1")
    assert (len(newest["points"]), newest["count"] >= 3) == (1, True)
    assert points[1]["run"].startswith("dense/2")
    for path in (points[1]["page"], contest["contest"]["page"]):
        page = app.send("GET", path)
        assert page.headers["Content-Security-Policy"].startswith("sandbox")
        assert "<title>shop" in page.text
    a, b = (quote(points[at]["run"]) for at in (0, 1))
    found = app.get(f"/api/compare?scenario={scenario}&a={a}&b={b}")
    assert (found["metrics"]["em"]["diff"], found["fell"]) == (-0.5, 10)
    assert standing(app) == "passed"


def standing(app: WebClient) -> str:
    """Return the verdict of all variants of shop together."""
    listed = app.get("/api/scenarios")["scenarios"]
    return str(next(one["verdict"] for one in listed if one["name"] == "shop"))


@pytest.mark.full
def test_one_variant_alone_decides_nothing_between_them(app: WebClient) -> None:
    """[A24, E20] Even where its own gates passed, and where an earlier ranking was good."""
    scenario = app.scenario("shop")
    for body, verdict in (({}, "passed"), ({"variants": ["dense"]}, "partial")):
        run = app.send("POST", f"/api/scenarios/{scenario}/runs", body).body["run"]
        *_, contest, end = app.events(run)
        assert (end["verdict"], standing(app)) == (verdict, verdict)
    assert contest["gate"]["message"] == "1 of 3 variants ran"
    assert contest["contest"] is None
    assert app.get(f"/api/scenarios/{scenario}")["contest"]["newer"] == ["dense"]


@pytest.mark.full
@pytest.mark.parametrize("variants", [["bm26"], [], "bm25", [3], {"bm25": 1}])
def test_what_is_no_variant_is_refused(app: WebClient, variants: object) -> None:
    """[A24, E20] In words, and nothing is started."""
    body = {"variants": variants}
    reply = app.send("POST", f"/api/scenarios/{app.scenario('shop')}/runs", body)
    assert (reply.status, reply.body["error"].partition(":")[0]) == (400, "variants")
    assert app.get("/api/scenarios")["running"] is None


@pytest.mark.full
def test_weights_are_written_above_the_variants(app: WebClient, folder: Path) -> None:
    """[A24, E20] Not where a variant has its own; the file is checked with each of them."""
    path, scenario = folder / "shop.rageval.yaml", app.scenario("shop")
    before = path.read_text("utf-8")
    body = {"digest": app.get(f"/api/scenarios/{scenario}")["digest"], "metric_weights": {"em": 3}}
    refused = {**body, "metric_weights": {"f1": 2}}
    assert app.send("POST", f"/api/scenarios/{scenario}/settings", refused).status == 400
    try:
        reply = app.send("POST", f"/api/scenarios/{scenario}/settings", body)
        assert reply.body["changed"] == ["metric_weights.em"]
        variants = app.get(f"/api/scenarios/{scenario}")["variants"]
        weights = [{m["name"]: m["weight"] for m in one["outline"]["metrics"]} for one in variants]
        assert weights == [{"em": 3, "f1": 1}, {"em": 3, "f1": 1}, {"em": 3, "f1": 5}]
    finally:
        path.write_text(before, "utf-8")


@pytest.mark.full
def test_a_file_that_was_edited_since_is_read_again(app: WebClient, folder: Path) -> None:
    """[P4] By whatever editor: a new variant is listed, and a run takes it."""
    path, scenario = folder / "shop.rageval.yaml", app.scenario("shop")
    before = path.read_text("utf-8")
    app.get(f"/api/scenarios/{scenario}")
    path.write_text(before.replace("  bm25: {}\n", "  bm25: {}\n  late: {dataset: none.jsonl}\n"))
    try:
        listed = app.get("/api/scenarios")["scenarios"]
        assert [one["variants"] for one in listed if one["name"] == "shop"] == [
            ["bm25", "late", "dense", "own"]
        ]
        refused = app.send("POST", f"/api/scenarios/{scenario}/runs", {})
        assert (refused.status, "none.jsonl" in refused.body["error"]) == (400, True)
    finally:
        path.write_text(before, "utf-8")
    assert len(app.get(f"/api/scenarios/{scenario}")["variants"]) == 3


@pytest.mark.full
def test_every_baseline_of_a_scenario_is_shown(app: WebClient, folder: Path) -> None:
    """F7: a list under ``compare``, and how many looks a pinned one has."""
    path, scenario = folder / "bot.rageval.yaml", app.scenario("bot")
    before = path.read_text("utf-8")
    evaluate(path, write_to=folder / ".rageval")
    saved = (folder / ".rageval" / "bot" / "latest" / "results.json").read_bytes()
    for name in ("moved", "pinned"):
        write(folder, f"{name}.json", saved.decode())
    listed = "compare: [moved.json, {baseline: pinned.json, looks: 50}]\n"
    path.write_text(before + listed, "utf-8")
    try:
        found = app.get(f"/api/scenarios/{scenario}")
    finally:
        path.write_text(before, "utf-8")
    assert found["problems"] == []
    assert found["outline"]["compare"] == [
        {"name": "moved.json", "looks": 1},
        {"name": "pinned.json", "looks": 50},
    ]


def test_a_run_is_compared_with_a_baseline(app: WebClient, folder: Path) -> None:
    """[A24, E20] Each variant has its own; a name is looked up, and never part of a path."""
    for name, title in (("low", "low"), ("shop", "shop/dense")):
        path, variant = folder / f"{name}.rageval.yaml", title.partition("/")[2]
        result = evaluate(path, variant=variant, write_to=folder / ".rageval")
        saved = folder / ".rageval" / title / "baselines"
        saved.mkdir()
        latest = folder / ".rageval" / title / "latest" / "results.json"
        (saved / "main.json").write_bytes(latest.read_bytes())
        scenario, b = app.scenario(name), f"{variant}/main".strip("/")
        history = app.get(f"/api/history?scenario={scenario}")
        assert history["baselines"] == [b]
        a = next(one["run"] for one in history["points"] if one["variant"] == variant)
        found = app.get(f"/api/compare?scenario={scenario}&a={quote(a)}&b={quote(b)}")
        assert found["n"] == len(result.samples)
        path = quote(f"{variant}/baselines/main")
        assert app.send("GET", f"/api/compare?scenario={scenario}&a={path}&b={b}").status == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"metric_weights": {"f11": 1}}, "unknown metric 'f11'. Did you mean 'f1'?"),
        ({"doc_weights": {"c.md": 1}}, "unknown document 'c.md'"),
        ({"metric_weights": {"f1": -1}}, "expected a number of at least 0, found -1"),
        ({"metric_weights": {"f1": "1"}}, "expected a number of at least 0, found '1'"),
        ({"metric_weights": {"f1": True}}, "expected a number of at least 0, found True"),
        ({"metric_weights": {"f1": None}}, "a metric needs a weight"),
        ({"metric_weights": {"f1": 10**400}}, "expected a number of at least 0"),
        ({"metric_weights": ["f1"]}, "expected an object of names and numbers"),
        (b"[1]", "expected a JSON object"),
        (b'{"metric_weights": {"f1": NaN}}', "NaN is no number"),
        (b"\xff", "not valid JSON"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_no_weight_is_refused(app: WebClient, body: object, message: str) -> None:
    """[A24] In words, and nothing is started."""
    reply = app.send("POST", f"/api/scenarios/{app.scenario('bot')}/runs", body)
    assert reply.status == 400
    assert message in reply.body["error"]
    assert app.get("/api/scenarios")["running"] is None


@pytest.mark.full
def test_the_end_of_the_server_is_the_end_of_its_run(folder: Path) -> None:
    """[A24] Ctrl-C: exit status 0, no process left."""
    with served(folder, "slow") as client:
        scenario = client.scenario("slow")
        assert client.send("POST", f"/api/scenarios/{scenario}/runs", {}).status == 201
        wait_until(lambda: processes(folder))
        assert client.interrupt() == 0
    assert processes(folder) == []


@pytest.mark.full
def test_a_run_ends_when_its_server_is_killed(folder: Path) -> None:
    """[A24] Nobody is left to follow it."""
    with served(folder, "slow") as client:
        scenario = client.scenario("slow")
        assert client.send("POST", f"/api/scenarios/{scenario}/runs", {}).status == 201
        wait_until(lambda: processes(folder))
        client.process.kill()
        client.process.wait(30)
    wait_until(lambda: not processes(folder))


def test_a_port_that_is_taken_is_a_usage_error(pytester: pytest.Pytester) -> None:
    """[A24] The message says what to do; so it does for what is no port."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = pytester.runpytest_subprocess(f"--rag-serve={port}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--rag-serve={port}: the port is taken*--rag-serve=0*"])
    for text in ("evals", "65536", "9" * 5000):
        result = pytester.runpytest_inprocess("--rag-serve", text)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        said = f"*--rag-serve {text[:20]}*: expected a port*write --rag-serve=PORT*"
        result.stderr.fnmatch_lines([said])


@pytest.mark.full
def test_what_was_named_on_the_command_line_is_what_is_served(folder: Path) -> None:
    """[A24] A file by its name, whatever else is spelled like it; and it alone is run."""
    write(folder, "test_other.py", "def test_other():\n    assert False\n")
    args = ["-k", "r1 or r2 or slow", "bot.rageval.yaml", "test_other.py::test_other"]
    with served(folder, *args) as client:
        [listed] = client.get("/api/scenarios")["scenarios"]
        assert listed["name"] == "bot"
        reply = client.send("POST", f"/api/scenarios/{listed['id']}/runs", {})
        assert client.events(reply.body["run"])[-1]["verdict"] == "passed"


def test_two_scenarios_of_one_name_are_not_run(app: WebClient) -> None:
    """[A24] As pytest refuses them: they would share runs and history."""
    listed = app.get("/api/scenarios")["scenarios"]
    a = next(one for one in listed if one["shown"] == "a.rageval.yaml")
    assert a["problem"].startswith("a.rageval.yaml: name: 'twin' is also the name of b.rageval")
    assert app.get(f"/api/scenarios/{a['id']}")["problems"] == [a["problem"]]
    assert app.send("POST", f"/api/scenarios/{a['id']}/runs", {}).status == 400


@pytest.mark.parametrize(
    "typed", [("--rag-metric-weight", "f1=3"), ("--rag-set", "metric_weights={f1: 3}")]
)
def test_a_scenario_that_was_read_is_not_run_into_the_folder_of_a_newer_namesake(
    tmp_path: Path, typed: tuple[str, str]
) -> None:
    """Nor has it a last run. Weights typed for the server are none of a file."""
    write(tmp_path, "pytest.ini", "[pytest]\n")
    text = f"name: one\ndataset: {json.dumps(ROWS)}\nmetrics: [em, f1]\n"
    path = write(tmp_path, "one.rageval.yaml", text)
    evaluate(path, write_to=tmp_path / ".rageval")
    with served(tmp_path, *typed) as client:
        scenario = client.scenario("one")
        read = client.get(f"/api/scenarios/{scenario}")
        assert [one["weight"] for one in read["outline"]["metrics"]] == [1, 3]
        body = {"digest": read["digest"], "metric_weights": {"em": 2}}
        client.send("POST", f"/api/scenarios/{scenario}/settings", body)
        assert path.read_text("utf-8").splitlines()[-1] == "metric_weights: {em: 2}"
        assert last_of(client, "one")["verdict"] == "unjudged"
        client.get(f"/api/scenarios/{scenario}")
        write(tmp_path, "two.rageval.yaml", text)
        listed = client.get("/api/scenarios?fresh=1")["scenarios"]
        assert [one["last"] for one in listed] == [None, None]
        reply = client.send("POST", f"/api/scenarios/{scenario}/runs", {})
        assert (reply.status, "'one' is also the name of" in reply.body["error"]) == (400, True)


@pytest.mark.full
def test_pytest_that_cannot_collect_is_shown(tmp_path: Path) -> None:
    """[A24] With what it printed."""
    write(tmp_path, "pytest.ini", "[pytest]\n")
    with served(tmp_path) as client:
        write(tmp_path, "conftest.py", "import nothing_of_that_name\n")
        found = client.get("/api/scenarios?fresh=1")
        assert found["scenarios"] == []
        assert "nothing_of_that_name" in found["problem"]
