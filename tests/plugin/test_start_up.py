"""A pytest start with the plugin installed loads none of what evaluations need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.plugin.conftest import Project

HEAVY = ("yaml", "pydantic", "numpy", "rouge_score", "nltk", "ragas", "jieba", "ir_measures")

# Packages of ours that a scenario needs which uses them, and no other.
SPARED = (
    "clients.http",
    "clients.limits",
    "clients.providers",
    "datasets.corpus",
    "datasets.formats.delimited",
    "datasets.formats.parquet",
    "datasets.formats.trec_tables",
    "datasets.formats.xlsx",
    "datasets.plain_sample",
    "datasets.save",
    "datasets.trec",
    "engine.elsewhere",
    "engine.planning.bind_labels",
    "engine.planning.bind_stop",
    "engine.planning.bind_target",
    "engine.verdict.certainty",
    "executors",
    "gates.agreement",
    "gates.bound",
    "gates.corrected",
    "gates.no_regression",
    "gates.pass_rate",
    "gates.regression",
    "gates.slices",
    "gates.watch_mean",
    "notebooks",
    "engine.scoring.live_run",
    "metrics.context_overlap",
    "metrics.criteria",
    "metrics.ngrams",
    "metrics.ragas",
    "metrics.ranking",
    "metrics.rouge",
    "metrics.row_checks",
    "metrics.rubric",
    "metrics.string_similarity",
    "model.labels",
    "model.variants",
    "plugin.show.comparison_table",
    "plugin.show.next_command",
    "plugin.show.variants_table",
    "reports.labels.draw_labels",
    "reports.page.assemble",
    "results.saved_run",
    "serving",
    "shards",
    "stats.corrected",
    "stats.latency",
    "stats.paired",
    "stats.stability",
    "targets.base",
    "text.row_checks",
)

LOADED = """
def pytest_unconfigure(config):
    import sys
    ours = sorted(name for name in SPARED if "pytest_rageval." + name in sys.modules)
    print("spared:", *ours, file=sys.stderr)
    print("model:", "pytest_rageval.model" in sys.modules, file=sys.stderr)
    print("loaded:", *sorted(set(HEAVY) & set(sys.modules)), file=sys.stderr)
    print("plugin:", "pytest_rageval.plugin.hooks" in sys.modules, file=sys.stderr)
""".replace("HEAVY", repr(HEAVY)).replace("SPARED", repr(SPARED))


def _loaded(project: Project, *args: str) -> set[str]:
    """Return which heavy packages a fresh process has loaded at its end."""
    project.conftest(LOADED)
    # ragas brings langsmith along, whose plugin loads pydantic.
    result = project.pytester.runpytest_subprocess("-p", "no:langsmith_plugin", *args)
    result.stderr.fnmatch_lines(["plugin: True"])
    lines = [line for line in result.errlines if line.startswith(("loaded:", "spared:", "model:"))]
    spared, model, loaded = (line.split()[1:] for line in lines)
    assert spared == []
    return {*loaded, *(["model"] if model == ["True"] else [])}


@pytest.mark.parametrize("args", [("--collect-only",), ("--help",), ()], ids=" ".join)
def test_without_scenarios_nothing_heavy_is_loaded(project: Project, args: tuple[str, ...]) -> None:
    """[E13] In an empty folder: neither yaml nor pydantic nor anything numeric."""
    assert _loaded(project, *args) == set()


def test_with_ordinary_tests_nothing_heavy_is_loaded(project: Project) -> None:
    """[E13] Nor for a run of tests that have nothing to do with the plugin."""
    project.pytester.makepyfile("def test_passes(): pass")
    assert _loaded(project) == set()


def test_lexical_metrics_load_nothing_numeric(project: Project) -> None:
    """[E13] em and f1 with gates and intervals: yaml and pydantic are all it takes."""
    project.scenario(
        """
        name: qa
        metrics: [em, f1]
        gates: {em: 0.5}
        dataset:
          - {answer: Paris, references: [Paris]}
          - {answer: in Paris, references: [Paris]}
        """
    )
    assert _loaded(project) == {"yaml", "pydantic", "model"}
    assert project.gates()["em.mean"] == "passed"


def test_chinese_text_needs_no_word_list(project: Project) -> None:
    """[D2, E13] The default splits it into characters, without jieba."""
    project.scenario(
        """
        name: qa
        metrics: [em, f1]
        dataset: [{answer: 巴黎是首都, references: [首都是巴黎]}]
        """
    )
    assert "jieba" not in _loaded(project)
    # The same five characters in another order: precision and recall are 5/5.
    assert project.results()["metrics"]["f1"]["mean"] == 1.0
