"""From a file to a scenario over HTTP: what is kept, proposed, written, and what is refused."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from web_client import Reply, WebClient, served

pytest.importorskip("aiohttp", reason="the web app needs aiohttp")

CSV = "Frage,Bot,Soll\nWhen?,in 5 days,5 days\nWhere?,here,here\nWho?,nobody,the shop\n"
TWO = "question,gpt_answer,claude_answer,reference\n" + "".join(
    f"what is {at}?,a{at},b{at},a{at}\n" for at in range(8)
)
BYTES: dict[str, str | None] = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("served")
    (path / "pytest.ini").write_text("[pytest]\nrageval_files = *.rageval.yaml *.json *.yaml\n")
    (path / "data").mkdir()
    (path / "data/own.csv").write_text(TWO)
    (path / ".hidden").mkdir()
    (path / ".hidden/secret.csv").write_text(TWO)
    (path / "elsewhere.csv").symlink_to("/etc/passwd")
    return path


@pytest.fixture(scope="module")
def app(folder: Path) -> Iterator[WebClient]:
    with served(folder) as client:
        yield client


def upload(app: WebClient, name: str, content: bytes | str, **change: str | None) -> Reply:
    raw = content.encode() if isinstance(content, str) else content
    headers = {name.replace("_", "-"): value for name, value in change.items()}
    return app.send("POST", f"/api/files?name={quote(name, safe='')}", raw, {**BYTES, **headers})


def proposed(app: WebClient, file: str, **given: Any) -> Any:
    reply = app.send("POST", "/api/proposals", {"file": file, "given": given})
    assert reply.status == 200, reply
    return reply.body


def test_a_file_becomes_a_scenario_that_runs(app: WebClient, folder: Path) -> None:
    """[P4] Nothing is written before it was shown; then what was shown is written."""
    file = upload(app, "golden.csv", CSV).body["file"]
    assert file == "rageval_data/golden.csv"
    assert (folder / file).read_text() == CSV
    found = proposed(app, file)
    fields = [(one["name"], one["field"]) for one in found["columns"]]
    assert fields == [("Frage", "question"), ("Bot", ""), ("Soll", "")]
    assert found["question"]["text"].startswith("no gold")
    found = proposed(app, file, key_map={"answer": "Bot", "references": "Soll"})
    assert found["columns"][2]["field"] == "references"
    scenario = found["scenario"]
    assert scenario["file"] == "golden.rageval.yaml"
    assert not (folder / "rageval_data/golden.rageval.yaml").exists()
    body = {
        "file": file,
        "given": {"key_map": {"answer": "Bot", "references": "Soll"}},
        "digest": scenario["digest"],
    }
    made = app.send("POST", "/api/scenarios", body)
    assert made.status == 201
    assert made.body["files"] == ["rageval_data/golden.rageval.yaml"]
    assert (folder / made.body["files"][0]).read_text() == scenario["text"]
    run = app.send("POST", f"/api/scenarios/{made.body['id']}/runs", {}).body["run"]
    assert app.events(run)[-1]["verdict"] in ("passed", "failed")
    again = app.send("POST", "/api/scenarios", body)
    assert (again.status, "is there already" in again.body["error"]) == (409, True)
    assert (
        app.send("POST", "/api/scenarios", {**body, "name": "other", "digest": "0"}).status == 409
    )


def test_a_column_that_is_no_field_is_left_out(app: WebClient) -> None:
    """[P4] One that only looks like a field; a documented name is read wherever it stands."""
    file = upload(app, "left.csv", CSV.replace("Bot,Soll", "bot_reply,reference")).body["file"]
    assert proposed(app, file)["columns"][1]["field"] == "answer"
    found = proposed(app, file, left_out=["bot_reply"])
    assert found["columns"][1]["field"] == ""
    assert found["scenario"]["asks"] == ["answer"]
    assert found["scenario"]["module"] == "left_target.py"


def test_what_cannot_be_decided_is_asked(app: WebClient) -> None:
    """[P4] Two systems side by side: one of them, or both as variants."""
    assert "data/own.csv" in app.get("/api/files")["files"]
    question = proposed(app, "data/own.csv")["question"]
    assert question["text"] == "'gpt_answer' and 'claude_answer' may both be what a system said"
    keys = [choice["keys"] for choice in question["choices"]]
    assert keys == [
        {"key_map": {"answer": "gpt_answer"}},
        {"key_map": {"answer": "claude_answer"}},
        {"variants": ["gpt_answer", "claude_answer"]},
    ]
    found = proposed(app, "data/own.csv", **keys[2])
    assert "variants:" in found["scenario"]["text"]


def test_a_file_in_another_encoding_is_read_as_the_error_proposes(
    app: WebClient, folder: Path
) -> None:
    """[P4] Excel in China saves CSV so: one click, and the scenario says it, too."""
    rows = "".join(f"第{at}个订单几天送达？,{at}天,{at}天,文档{at % 2}\n" for at in range(1, 9))
    text = f"问题,回答,标准答案,doc_name\n{rows}"
    file = upload(app, "问答.csv", text.encode("gb18030")).body["file"]
    found = proposed(app, file)
    assert found["problem"].startswith("问答.csv:1: not utf-8: byte 0xce at offset 0")
    assert found["choices"] == [{"case": "Read as GB18030", "keys": {"encoding": "gb18030"}}]
    given = found["choices"][0]["keys"]
    found = proposed(app, file, **given)
    assert [one["name"] for one in found["columns"]][:3] == ["问题", "回答", "标准答案"]
    assert "\n  encoding: gb18030\n" in found["scenario"]["text"]
    check_settings_below(app, folder, file, given, found["scenario"]["digest"])


def test_a_link_in_the_place_of_the_module_is_left_alone(app: WebClient, folder: Path) -> None:
    """[P4] Also one to nowhere; and long lists of columns are read."""
    file = upload(app, "linked.csv", "question,reference\nWhen?,now\nWho?,we\n").body["file"]
    given = {"left_out": [f"{at:x>999}" for at in range(200)]}
    found = proposed(app, file, **given)["scenario"]
    target = folder / "rageval_data" / found["module"]
    target.symlink_to(folder / "nowhere.py")
    body = {"file": file, "digest": found["digest"], "given": given}
    assert app.send("POST", "/api/scenarios", body).status == 201
    assert (target.is_symlink(), target.exists()) == (True, False)


def check_settings_below(app: WebClient, folder: Path, *made: Any) -> None:
    """Make a scenario, change one weight, and look at where all of them are written."""
    body = dict(zip(("file", "given", "digest"), made, strict=True))
    scenario = app.send("POST", "/api/scenarios", body).body
    read = app.get(f"/api/scenarios/{scenario['id']}")
    path = folder / scenario["files"][0]
    before = path.read_text("utf-8")
    assert "  # by:" in before
    names = [one["name"] for one in read["outline"]["metrics"]]
    assert (len(names) > 1, "metric_weights" in before) == (True, False)
    changed = {"digest": read["digest"], "metric_weights": {names[0]: 3}}
    written = app.send("POST", f"/api/scenarios/{scenario['id']}/settings", changed).body
    assert sorted(written["changed"]) == sorted(f"metric_weights.{name}" for name in names)
    after = path.read_text("utf-8")
    assert after.startswith(before.rstrip("\n"))  # its comments stay with the gates
    assert after.removeprefix(before.rstrip("\n")).startswith("\nmetric_weights:")
    assert app.get(f"/api/scenarios/{scenario['id']}")["outline"]["warnings"] == []


def test_only_data_of_the_project_can_be_chosen(app: WebClient, folder: Path) -> None:
    """[P4] By the names of the list: nothing hidden, no link, no path."""
    files = app.get("/api/files")["files"]
    assert "data/own.csv" in files
    assert not [name for name in files if "secret" in name or "elsewhere" in name]
    for name in ("elsewhere.csv", ".hidden/secret.csv", "../x.csv", "/etc/passwd", "pytest.ini"):
        for path in ("/api/proposals", "/api/scenarios"):
            assert app.send("POST", path, {"file": name}).status == 404, name
    swapped = folder / "data/swapped.csv"
    swapped.write_text(TWO)
    assert "data/swapped.csv" in app.get("/api/files")["files"]
    swapped.unlink()
    swapped.symlink_to("/etc/passwd")
    assert app.send("POST", "/api/proposals", {"file": "data/swapped.csv"}).status == 404


def kept(folder: Path) -> list[Path]:
    """Return the data that the app has kept; none before the first upload of all tests."""
    return sorted((folder / "rageval_data").glob("*"))


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../etc/up.csv", "up.csv"),
        ("..\\..\\up2.csv", "up2.csv"),
        (".hidden.csv", "hidden.csv"),
        ("-rf.csv", "rf.csv"),
        ("a.rageval.csv", "a-rageval.csv"),
        ("conftest.py.csv", "conftest-py.csv"),
        ("new\nline\0\u202e\u2028.csv", "newline.csv"),
        ("数据 一.CSV", "数据 一.csv"),
        ("x" * 300 + ".csv", "x" * 60 + ".csv"),
        (".csv", "data.csv"),
        ("rows [1].csv", "rows (1).csv"),
    ],
)
def test_names_are_made_safe(app: WebClient, folder: Path, name: str, kept: str) -> None:
    """[P4] In our folder alone, with a suffix that we read."""
    reply = upload(app, name, f"question,reference\n{kept},b\n")
    assert (reply.status, reply.body["file"]) == (201, f"rageval_data/{kept}")
    assert (folder / "rageval_data" / kept).is_file()


def test_reserved_names_get_another_one(app: WebClient) -> None:
    """[P4] A device of Windows is no file."""
    assert upload(app, "con.csv", CSV).body["file"].startswith("rageval_data/con-")


@pytest.mark.parametrize("name", ["x.py", "x.exe", "csv", "", "x.csv.sh", "x.", "x.ini", "x.html"])
def test_other_kinds_of_files_are_refused(app: WebClient, folder: Path, name: str) -> None:
    """[P4]"""
    before = kept(folder)
    reply = upload(app, name, CSV)
    assert (reply.status, "known format" in reply.body["error"]) == (400, True)
    assert kept(folder) == before


@pytest.mark.parametrize("name", ["evil.rageval.yaml", "evil.yaml", "evil.json"])
def test_a_scenario_is_no_data(app: WebClient, folder: Path, name: str) -> None:
    """[P4] It could name code to run, where a project collects all YAML."""
    text = json.dumps({"name": "evil", "dataset": "golden.csv", "metrics": ["os:system"]})
    reply = upload(app, name, text)
    assert (reply.status, "but a scenario" in reply.body["error"]) == (400, True)
    assert not [path for path in kept(folder) if "evil" in path.name]


def test_nothing_is_overwritten_and_the_same_file_is_kept_once(
    app: WebClient, folder: Path
) -> None:
    """[P4]"""
    first, second, third = (upload(app, "same.csv", text).body["file"] for text in (CSV, TWO, CSV))
    assert (first, second, third) == (
        "rageval_data/same.csv",
        "rageval_data/same-2.csv",
        "rageval_data/same.csv",
    )
    (folder / "rageval_data/trap.csv").symlink_to(folder / "pytest.ini")
    assert upload(app, "trap.csv", CSV).body["file"] == "rageval_data/trap-2.csv"
    assert (folder / "pytest.ini").read_text().startswith("[pytest]")


def test_an_upload_is_never_served(app: WebClient) -> None:
    """[P4] Not as a file, nor by any path that leads to it."""
    file = upload(app, "page.csv", "question,reference\n<script>,b\n").body["file"]
    for path in (f"/{file}", f"/assets/{file}", f"/assets/..%2f..%2f{quote(file, safe='')}"):
        assert app.send("GET", path).status == 404
    for method in ("GET", "PUT", "DELETE"):
        assert app.send(method, f"/api/files/{quote(file, safe='')}", {}).status in (404, 405, 415)


def test_what_is_too_large_or_empty_leaves_nothing(app: WebClient, folder: Path) -> None:
    """[P4] By its length, by what comes, and once unpacked."""
    before = kept(folder)
    assert upload(app, "empty.csv", "").status == 400
    bomb = gzip.compress(b"a" * 60_000_000)
    assert upload(app, "bomb.csv", bomb, Content_Encoding="gzip").status == 413
    chunk = b"%x\r\n%s\r\n" % (10_000_000, b"a" * 10_000_000)
    body = chunk * 6 + b"0\r\n\r\n"
    chunked = {"Transfer_Encoding": "chunked", "Content_Length": None}
    assert upload(app, "long.csv", body, **chunked).status == 413
    assert kept(folder) == before


def test_an_upload_that_breaks_off_leaves_nothing(app: WebClient, folder: Path) -> None:
    """[P4] The page was closed while it was sent."""
    before = kept(folder)
    headers = {**app.headers("POST"), **BYTES, "Content-Length": "1000000"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection(("127.0.0.1", app.port)) as connection:
        connection.sendall(f"POST /api/files?name=half.csv HTTP/1.1\r\n{lines}\r\nquest".encode())
        time.sleep(0.3)
    end = time.monotonic() + 60.0
    while kept(folder) != before and time.monotonic() < end:
        time.sleep(0.05)
    assert kept(folder) == before


HOSTILE = ["!!python/object:os.system", "x\ny: &z {", "'\"`$(id) # - *1"]


@pytest.mark.full
def test_columns_cannot_write_yaml_of_their_own(app: WebClient, folder: Path) -> None:
    """[P4] Names and cells are quoted: the scenario says what it would say of any other column."""
    columns = ["question", "reference", *HOSTILE]
    rows = [dict.fromkeys(columns, "x") | {"question": f"q{at}?"} for at in range(4)]
    file = upload(app, "hostile.json", json.dumps(rows)).body["file"]
    for column in HOSTILE:
        found = proposed(app, file, key_map={"answer": column})
        if found["scenario"] is None:  # it reads as a path, and says so
            assert found["problem"] or found["question"]
            continue
        given = {"key_map": {"answer": column}}
        body = {"file": file, "given": given, "name": f"h {column}".replace("\n", " ")}
        shown = app.send("POST", "/api/proposals", body).body["scenario"]
        reply = app.send("POST", "/api/scenarios", {**body, "digest": shown["digest"]})
        assert reply.status == 201, reply
        outline = app.get(f"/api/scenarios/{reply.body['id']}")
        assert outline["problems"] == []
        assert outline["outline"]["asks"] == []
        assert outline["name"] == body["name"].strip()


@pytest.mark.full
@pytest.mark.parametrize(
    "content",
    [
        pytest.param("[" * 200_000, id="nested lists"),
        pytest.param('{"a":' * 100_000, id="nested objects"),
        pytest.param(json.dumps([{"question": "9" * 6000, "reference": 1}] * 3), id="digits"),
        pytest.param(b"\xff\xfe\x00\x00\xff" * 99, id="no text"),
    ],
)
def test_a_file_that_is_a_bomb_is_refused_in_words(app: WebClient, content: bytes | str) -> None:
    """[P4] The server goes on."""
    file = upload(app, "bomb.json", content).body["file"]
    reply = app.send("POST", "/api/proposals", {"file": file})
    assert reply.status in (200, 400)
    if reply.status == 200:
        assert "Traceback" not in str(reply.body["problem"])
    assert app.get("/api/scenarios")["scenarios"] is not None


@pytest.mark.parametrize(
    "body",
    [
        {"given": {"path": "/etc/passwd"}},
        {"given": {"format": "traces"}},
        {"given": {"qrels_path": "x"}},
        {"given": {"key_map": {"os": "x"}}},
        {"given": {"key_map": {"answer": 3}}},
        {"given": {"key_map": {"answer": "x" * 1001}}},
        {"given": {"left_out": ["x"] * 301}},
        {"given": {"variants": "x"}},
        {"given": {"rows_at": "a\0"}},
        {"given": [1]},
        {"name": "x\ny: 1"},
        {"name": "x" * 81},
        {"name": 3},
    ],
)
def test_what_is_no_field_or_name_is_refused(app: WebClient, body: dict[str, Any]) -> None:
    """[P4] No path, no format, no key of another section."""
    file = upload(app, "ask.csv", CSV).body["file"]
    for path in ("/api/proposals", "/api/scenarios"):
        assert app.send("POST", path, {"file": file, **body}).status == 400


def test_data_that_changed_since_they_were_shown_are_not_written(
    app: WebClient, folder: Path
) -> None:
    """[P4] Something else would be written than what was seen."""
    path = folder / "data/moving.csv"
    path.write_text("question,answer,reference\n" + "a?,b,b\n" * 4)
    app.get("/api/files")
    digest = proposed(app, "data/moving.csv")["scenario"]["digest"]
    path.write_text("question,answer,reference,topic\n" + "a?,c,b,x\n" * 4)
    body = {"file": "data/moving.csv", "digest": digest}
    assert app.send("POST", "/api/scenarios", body).status == 409
    assert not (folder / "data/moving.rageval.yaml").exists()


def test_where_our_folder_is_a_link_nothing_is_written(tmp_path: Path) -> None:
    """[P4]"""
    project, other = tmp_path / "project", tmp_path / "other"
    project.mkdir()
    other.mkdir()
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "rageval_data").symlink_to(other)
    with served(project) as client:
        assert upload(client, "x.csv", CSV).status == 409
    assert list(other.iterdir()) == []


def test_uploads_go_where_pytest_looks(tmp_path: Path) -> None:
    """[P4] Else the scenario that is made of them would never be found."""
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = evals\n")
    (tmp_path / "evals").mkdir()
    with served(tmp_path) as client:
        assert client.get("/api/files")["folder"] == "evals/rageval_data"
        text = "question,answer,reference\n" + "a?,b,b\n" * 4
        file = upload(client, "x.csv", text).body["file"]
        shown = proposed(client, file)["scenario"]
        body = {"file": file, "digest": shown["digest"]}
        assert client.send("POST", "/api/scenarios", body).body["id"] is not None
