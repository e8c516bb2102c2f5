"""``--rag-schema`` prints the JSON Schema of a scenario file, for editors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project


@pytest.fixture
def schema(project: Project) -> dict[str, Any]:
    """Return what the option prints, read as JSON."""
    result = project.pytest("--rag-schema")
    assert result.ret == pytest.ExitCode.OK
    parsed: dict[str, Any] = json.loads(result.stdout.str())
    return parsed


def _alternatives(schema: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the forms that the value of a top-level key may take, references resolved."""
    found = schema["properties"][key]
    if "$ref" in found:
        found = schema["$defs"][found["$ref"].rpartition("/")[2]]
    forms: list[dict[str, Any]] = found.get("anyOf", [found])
    return forms


def test_the_output_is_a_schema_and_nothing_else(schema: dict[str, Any]) -> None:
    """[E14] Of draft 2020-12, for a mapping that refuses unknown keys."""
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["patternProperties"] == {"^x-": {}}


def test_every_key_of_a_scenario_is_known(schema: dict[str, Any]) -> None:
    """[E14] Also the keys of other systems. None is required, for each has another form."""
    assert set(schema["properties"]) >= {
        "name", "scenario_name", "description", "dataset", "metrics", "metric_weights",
        "doc_weights", "thresholds", "gates", "tolerate", "bands", "output_dir", "save_path",
        "skip", "xfail", "corpus", "top_k", "match", "compare", "qrels_path", "run_path",
        "missing_queries", "ir_metrics", "ks",
    }  # fmt: skip
    assert schema["required"] == []


def test_a_data_set_may_be_a_path_a_list_or_a_mapping(schema: dict[str, Any]) -> None:
    """[E14] The short forms of the contract."""
    types = {form.get("type") for form in _alternatives(schema, "dataset")}
    assert types == {"string", "array", "object"}


def test_a_metric_may_be_a_name_or_a_mapping(schema: dict[str, Any]) -> None:
    """[E14] ``f1`` and ``f1: {normalizer: squad}``."""
    items = schema["properties"]["metrics"]["items"]
    if "$ref" in items:
        items = schema["$defs"][items["$ref"].rpartition("/")[2]]
    assert {form["type"] for form in items["anyOf"]} == {"string", "object"}


def test_a_threshold_may_be_a_number_or_a_mapping(schema: dict[str, Any]) -> None:
    """[E14] ``0.5`` and ``{max: 0.5}``."""
    value = schema["properties"]["thresholds"]["additionalProperties"]
    if "$ref" in value:
        value = schema["$defs"][value["$ref"].rpartition("/")[2]]
    assert {form["type"] for form in value["anyOf"]} == {"number", "object"}


def test_all_references_lead_somewhere(schema: dict[str, Any]) -> None:
    """[E14] An editor resolves each of them."""
    wanted: set[str] = set()

    def collect(part: Any) -> None:
        if isinstance(part, dict):
            if isinstance(part.get("$ref"), str):
                wanted.add(part["$ref"])
            for value in part.values():
                collect(value)
        elif isinstance(part, list):
            for value in part:
                collect(value)

    collect(schema)
    assert wanted
    assert wanted <= {f"#/$defs/{name}" for name in schema["$defs"]}


def test_no_tests_are_run(project: Project) -> None:
    """[E14] It answers and exits."""
    project.pytester.makepyfile("def test_fails(): assert 0")
    result = project.pytest("--rag-schema")
    assert result.ret == pytest.ExitCode.OK
    assert "test_fails" not in result.stdout.str()


def test_it_prints_to_any_terminal(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """[E14] One that knows ASCII only included."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = project.pytester.runpytest_subprocess("--rag-schema")
    assert result.ret == pytest.ExitCode.OK
    json.loads(result.stdout.str())
