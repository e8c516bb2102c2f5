"""``--rag-schema`` prints the JSON Schema of a scenario file, for editors."""

from __future__ import annotations

import json

import pytest

from tests.plugin.conftest import Project, green


@pytest.mark.full
def test_it_prints_the_schema_and_runs_no_tests(project: Project) -> None:
    """[E14] A schema and nothing else."""
    project.pytester.makepyfile("def test_fails(): assert 0")
    result = green(project.pytest("--rag-schema"))
    assert json.loads(result.stdout.str())["additionalProperties"] is False
