"""The two pages of runs: ``report.html`` of one run, and ``variants.html``, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any, Final

from pytest_rageval.model import Contest, GateResult, Ranking, RunInfo, SampleResult, ScenarioResult
from pytest_rageval.reports.page.assemble import SCRIPTS, cut, page_of
from pytest_rageval.reports.page.data import page_data, run_data, texts_that_fit
from pytest_rageval.results.run_point import RunPoint
from pytest_rageval.text.printable import one_line

VARIANT_SCRIPTS: Final = (
    "numbers.js",
    "mean_bounds.js",
    "weighing.js",
    "gates.js",
    "word_diff.js",
    "words.js",
    "run_words.js",
    "variant_words.js",
    "support_words.js",
    "elements.js",
    "frame.js",
    "plots.js",
    "overview.js",
    "panel.js",
    "comparison.js",
    "detail.js",
    "support_table.js",
    "support_faults.js",
    "variants_head.js",
    "variants.js",
    "variant_rows.js",
    "variants_matrix.js",
    "variants_start.js",
)
"""In an order in which each may use those before it."""

_VARIANTS_WITHOUT_SCRIPT: Final = (
    "This page needs JavaScript. variants.json and the runs of the variants have its data too.",
    "此页面需要 JavaScript；也可查看 variants.json 和各变体的运行结果。",
)

_TITLE_WIDTH: Final = 300

_WITHOUT_SCRIPT: Final = (
    "This report needs JavaScript. summary.md, results.json and scores.csv have its data too.",
    "此报告需要 JavaScript；也可查看同一文件夹的 summary.md、results.json 和 scores.csv。",
)


def page_chunks(result: ScenarioResult, run: RunInfo, trend: Sequence[RunPoint]) -> Iterator[str]:
    """Yield the text of the page in parts.

    ``trend`` are the complete runs of this scenario, oldest first.
    """
    return page_of(
        result.info.title,
        SCRIPTS,
        lambda taken: page_data(result, run, trend, taken=taken),
        _WITHOUT_SCRIPT,
    )


def variants_page(
    results: Sequence[ScenarioResult],
    ranking: Ranking,
    best: GateResult | None = None,
    contest: Contest | None = None,
) -> Iterator[str]:
    """Yield the text of the page in parts.

    Each result is a column, named by its ``info.variant``. ``ranking`` is the ranking of these
    variants, ``best`` the result of the gate ``best``. ``contest`` says how they were ranked;
    without it, what the first result says holds, else the defaults.
    """
    contest = contest or _own_contest(results, ranking)
    return page_of(
        ranking.scenario,
        VARIANT_SCRIPTS,
        lambda taken: _data(results, ranking, best, contest, taken),
        _VARIANTS_WITHOUT_SCRIPT,
    )


def _own_contest(results: Sequence[ScenarioResult], ranking: Ranking) -> Contest:
    names = tuple(result.info.variant for result in results)
    own = results[0].info.contest
    if own is not None and set(names) <= set(own.names):
        return own
    return Contest(names, ranking.metric, alpha=ranking.alpha)


def _data(
    results: Sequence[ScenarioResult],
    ranking: Ranking,
    best: GateResult | None,
    contest: Contest,
    taken: int,
) -> dict[str, Any]:
    """Return the data as JSON types, variants as ``contest`` has them; ``taken`` bytes are used."""
    results = sorted(results, key=lambda result: contest.names.index(result.info.variant))
    plain = {
        "title": cut(one_line(ranking.scenario), _TITLE_WIDTH),
        "description": results[0].info.description[:2000],
        "ranking": asdict(ranking),
        "contest": {"names": contest.names, "reference": contest.reference},
        "best": None if best is None else [best.outcome, best.message],
        "variants": [_variant(result) for result in results],
        "rows": _rows([result.samples for result in results]),
    }
    texts, pool = texts_that_fit(results, plain, taken)
    return {**plain, "variant_texts": texts, "texts": pool}


def _variant(result: ScenarioResult) -> dict[str, Any]:
    """Return a run without its comparisons with baselines: here variants are compared."""
    return {
        "name": result.info.variant,
        **run_data(result),
        "comparisons": [],
        "left_out": [at for at, sample in enumerate(result.samples) if sample.is_left_out],
    }


def _rows(columns: Sequence[Sequence[SampleResult]]) -> list[list[int]]:
    """Return for each column the position of every sample in it, -1 where it lacks one.

    All columns together give the samples, in the order in which they first appear.
    """
    ids = dict.fromkeys(chain.from_iterable(_ids(column) for column in columns))
    return [[place.get(sample_id, -1) for sample_id in ids] for place in map(_places, columns)]


def _ids(column: Sequence[SampleResult]) -> list[str]:
    return [sample.sample_id for sample in column]


def _places(column: Sequence[SampleResult]) -> dict[str, int]:
    return {sample_id: at for at, sample_id in enumerate(_ids(column))}
