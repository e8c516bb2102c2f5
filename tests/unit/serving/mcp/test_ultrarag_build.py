"""D10: UltraRAG's ``server.yaml``, and parameter files that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pytest_rageval.errors import UserError
from pytest_rageval.serving.mcp.ultrarag import build

SIGNATURES = {"score": (("texts", "measures", "to"), "txt,$m,save->out,$ks")}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """Return the folder of a server, 服务, whose code is where UltraRAG looks for it."""
    folder = tmp_path / "服务"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "服务.py").touch()
    return folder


def written(folder: Path) -> dict[str, object]:
    path = build(str(folder / "parameter.yaml"), SIGNATURES)
    assert path == folder / "server.yaml"
    found: dict[str, object] = yaml.safe_load(path.read_text("utf-8"))
    return found


def test_without_a_parameter_file_no_variable_is_set(server: Path) -> None:
    """D10."""
    found = written(server)
    assert found["path"] == str(server / "src" / "服务.py")
    assert found["tools"] == {
        "score": {
            "input": {"texts": "txt", "measures": "$m", "to": "save"},
            "output": ["out", "$ks"],
        }
    }


def test_variables_of_the_parameter_file_get_a_dollar(server: Path) -> None:
    """D10: results too, as in UltraRAG; an empty file sets none."""
    (server / "parameter.yaml").write_text("save: x.json\nout: null\n", "utf-8")
    assert written(server)["tools"] == {
        "score": {
            "input": {"texts": "txt", "measures": "$m", "to": "$save"},
            "output": ["$out", "$ks"],
        }
    }
    (server / "parameter.yaml").write_text("", "utf-8")
    assert "$save" not in str(written(server))


def test_the_parameter_file_may_name_the_code(server: Path) -> None:
    """D10."""
    (server / "mine.py").touch()
    (server / "parameter.yaml").write_text(f"path: {server / 'mine.py'}\n", "utf-8")
    assert written(server)["path"] == str(server / "mine.py")


def test_a_folder_may_be_the_working_directory(
    server: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D10: its name is known then, too."""
    monkeypatch.chdir(server)
    assert build("parameter.yaml", SIGNATURES) == Path("server.yaml")
    assert "path: src/服务.py\n" in Path("server.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[a, b]", "must be a mapping"),
        (b"a: [", "parameter.yaml:2: not valid YAML"),
        (b"a: 1\na: 2\n", "parameter.yaml:2: "),
        (b"a: \xff", "not UTF-8"),
        (b"path: http://127.0.0.1/", "no server at 'http://127.0.0.1/'"),
    ],
)
def test_a_parameter_file_that_cannot_be_used_is_refused(
    server: Path, text: bytes, message: str
) -> None:
    """D10: with file and line."""
    (server / "parameter.yaml").write_bytes(text)
    with pytest.raises(UserError, match=message):
        build(str(server / "parameter.yaml"), SIGNATURES)
    assert not (server / "server.yaml").exists()
