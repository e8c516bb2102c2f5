"""For which cases fixtures with ``autouse`` run, as the documentation says it."""

from __future__ import annotations

import pytest

from tests.plugin.conftest import Project

CONFTEST = """
    import pytest

    @pytest.fixture(autouse=True)
    def _noted(request):
        with open("ran.txt", "a") as log:
            print(request.node.name, file=log)

    @pytest.fixture
    def rag_target():
        return lambda question: "x"
"""
ROW = {"question": "?", "answer": "x", "references": ["x"]}


@pytest.mark.full
def test_they_run_for_test_functions_and_fixtures_as_targets_only(project: Project) -> None:
    """[R12] Cases of other scenarios call nothing of the user's in the test itself."""
    project.conftest(CONFTEST)
    project.scenario("name: offline\nmetrics: [em]\ndataset: a.jsonl\n", "offline")
    project.scenario("name: online\nmetrics: [em]\ndataset: b.jsonl\ntarget: fixture\n", "online")
    project.rows([{"id": "offline", **ROW}], "a.jsonl")
    project.rows([{"id": "online", **ROW}], "b.jsonl")
    project.pytester.makepyfile(
        "import pytest\n"
        "@pytest.mark.rag_scenario('offline.rageval.yaml')\n"
        "def test_it(rageval):\n"
        "    rageval.check()\n"
    )
    assert project.pytest().ret == pytest.ExitCode.OK
    ran = (project.path / "ran.txt").read_text("utf-8").split()
    assert sorted(ran) == ["online", "test_it[offline]"]
