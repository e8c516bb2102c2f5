"""V7: shards that merge green although scenario or data have changed since say so in one line."""

from __future__ import annotations

import pytest
from sharded import merge, run_shards

from tests.plugin.conftest import Project, green

pytestmark = pytest.mark.full

SCENARIO = """
    name: qa
    metrics: [em]
    gates: {em: 0.5}
    dataset: {path: qa.jsonl, key_map: {answer: reply}}
"""
VARIANTS = SCENARIO + "    variants: {one: {}, two: {gates: {em: 0.6}}}\n"
CHANGED = "changed since the shards ran"


def rows(project: Project, answer: str = "Paris") -> None:
    ids = "abcd"
    project.rows([{"id": one, "reply": answer, "references": ["Paris"]} for one in ids])


def said(project: Project, *args: str) -> list[str]:
    """Return the lines on changes that a merge of the shards prints; it is green."""
    result = green(merge(project, [project.path / f"shard-{at}-of-2" for at in (1, 2)], *args))
    return [line for line in result.outlines if CHANGED in line]


@pytest.fixture(autouse=True)
def _shards(project: Project) -> None:
    rows(project)
    project.scenario(SCENARIO)


def test_what_is_as_it_was_is_not_mentioned(project: Project) -> None:
    """V7: nor are options of the shards, gates of the merge, comments and order."""
    options = (
        "--rag-set=gates.em.mean=0.4",
        "--rag-set=dataset.limit=-1",
        "--rag-threshold=em=0.1",
    )
    run_shards(project, ["1/2", "2/2"], *options)
    project.scenario("# a comment\n" + SCENARIO.replace("{em: 0.5}", "{em: {mean: 0.5}}"))
    assert said(project, "--rag-gate=pass_rate=0.1") == []


def test_other_data_are_named(project: Project) -> None:
    """V7: the answers were right when the shards ran."""
    run_shards(project, ["1/2", "2/2"])
    rows(project, "Rome")
    assert said(project) == [
        f"qa.rageval.yaml: {CHANGED}: the data (qa.jsonl); merged as they ran. Run them again to "
        "judge what is there now"
    ]


def test_other_keys_are_named(project: Project) -> None:
    """V7: a gate that is tighter, a weight and a key map; each once."""
    run_shards(project, ["1/2", "2/2"])
    text = SCENARIO.replace("em: 0.5", "em: 0.9, pass_rate: 1").replace("reply", "references")
    project.scenario(text + "    metric_weights: {em: 2}\n")
    (line,) = said(project)
    assert f"{CHANGED}: dataset, gates, metric_weights; merged" in line


def test_a_scenario_that_is_broken_now_is_named(project: Project) -> None:
    """V7: it is merged as it ran."""
    run_shards(project, ["1/2", "2/2"])
    project.scenario(SCENARIO + "    oops: 1\n")
    assert "the scenario, which is not valid" in said(project)[0]
    project.scenario("name: [")
    assert "the scenario, which cannot be read" in said(project)[0]


def test_what_is_not_here_is_not_mentioned(project: Project) -> None:
    """V7: shards often ran on other machines."""
    run_shards(project, ["1/2", "2/2"])
    (project.path / "qa.jsonl").unlink()
    assert said(project) == []
    (project.path / "qa.rageval.yaml").unlink()
    assert said(project) == []


def test_variants_are_looked_at_one_by_one(project: Project) -> None:
    """V7: one of two has another gate."""
    project.scenario(VARIANTS)
    run_shards(project, ["1/2", "2/2"])
    project.scenario(VARIANTS.replace("em: 0.6", "em: 0.7"))
    (line,) = said(project)
    assert f"{CHANGED}: gates" in line


def test_trec_files_and_second_files_are_data_too(project: Project) -> None:
    """V7: the run of a search engine, and answers in a file of their own."""
    project.file("q.txt", "1 0 d1 1\n2 0 d2 1\n")
    project.file("r.txt", "1 Q0 d1 1 3 x\n2 Q0 d2 1 3 x\n")
    project.scenario("name: qa\nmetrics: [mrr]\ndataset: {qrels_path: q.txt, run_path: r.txt}")
    run_shards(project, ["1/2", "2/2"])
    assert said(project) == []
    project.file("r.txt", "1 Q0 d1 1 3 x\n2 Q0 d1 1 3 x\n")
    assert "the data (r.txt)" in said(project)[0]
