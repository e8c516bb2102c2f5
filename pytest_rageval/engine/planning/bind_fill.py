"""How holes are filled: the texts of documents, the judged ones to check, and the grades."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from pytest_rageval.engine.plan import BoundMetric
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.errors import ScenarioError
from pytest_rageval.metrics.filling import FilledMetric, Filling, usual_grades
from pytest_rageval.metrics.holes import POOLED
from pytest_rageval.model import FILLED, Case, Sample
from pytest_rageval.model.value import texts_in
from pytest_rageval.scenario.answer_specs import FillSpec

if TYPE_CHECKING:
    from pytest_rageval.metrics.base import Metric

_NOTHING_TO_FILL: Final = (
    "fill has no effect: no metric is to be filled; write one, for instance ndcg@10+filled"
)
_NO_QUESTION: Final = (
    "fill: a judge needs the text of the query, and no row has a question; with qrels_path write "
    "queries_path, else name the column: key_map: {question: COLUMN}"
)


def bind_fill(
    binding: Binding,
    metrics: tuple[BoundMetric, ...],
    cases: Sequence[Case],
    provided: Collection[str],
) -> tuple[BoundMetric, ...]:
    """Return the metrics; those that are to be filled know now what a judge is to grade.

    ``provided`` are the fields that a system under test fills in later.
    """
    if not any(bound.info.fills for bound in metrics):
        binding.warnings.append(_NOTHING_TO_FILL)
        return metrics
    spec = binding.scenario.fill or FillSpec()
    samples = [one for one in cases if isinstance(one, Sample) and one.skip is None]
    _check(binding, metrics, samples)
    is_searched = "retrieved_ids" in provided
    try:
        texts = _texts(binding, None if is_searched else set(_documents(samples, spec.k)))
    except ScenarioError as error:
        binding.problems += error.problems
        texts = {}
    filling = Filling(spec.k, _grades(binding, spec, samples), texts, {})
    # Without a corpus, the texts may come with what the target finds.
    may_have_text = is_searched and not texts
    pairs = _in_fixed_order(
        (sample, name)
        for sample in samples
        if is_searched or sample.retrieved_ids is not None
        for name, grade in (sample.reference_ids or {}).items()
        if grade != POOLED and (may_have_text or filling.text_of(sample, name).strip())
    )
    checked: dict[str, list[str]] = {}
    for sample, name in pairs[: spec.check]:
        checked.setdefault(sample.id, []).append(name)
    filling = replace(filling, checked=checked)
    return tuple(
        replace(
            bound,
            metric=FilledMetric(bound.column.name, cast("Metric", bound.metric), filling),
            batch=None,
        )
        if bound.info.fills
        else bound
        for bound in metrics
    )


def _check(binding: Binding, metrics: Sequence[BoundMetric], samples: Sequence[Sample]) -> None:
    if any(bound.column.name == FILLED for bound in metrics):
        at = next(bound.position for bound in metrics if bound.column.name == FILLED)
        message = f"{FILLED!r} is a reserved name beside metrics that are filled"
        binding.problem(f"metrics[{at}]: {message}; give it another one", "metrics", at)
    if samples and not any((sample.question or "").strip() for sample in samples):
        binding.problem(_NO_QUESTION, "fill")
    judge = binding.scenario.judge
    if judge is not None and judge.model in _models_under_test(binding.loaded.tree.data):
        binding.warnings.append(
            f"fill: the judge {judge.model!r} is also a model of the system under test: it grades "
            "what it chose or wrote itself; take another judge"
        )


def _models_under_test(tree: Mapping[str, Any]) -> set[str]:
    """Return the texts in what is said of targets, of all variants: models are among them."""
    variants = tree.get("variants")
    laid_over = variants.values() if isinstance(variants, Mapping) else ()
    targets = [one.get("target") for one in (tree, *laid_over) if isinstance(one, Mapping)]
    return set(texts_in(targets))


def _grades(binding: Binding, spec: FillSpec, samples: Sequence[Sample]) -> Sequence[int]:
    if spec.grades is not None:
        return spec.grades
    highest = max(
        (grade for one in samples for grade in (one.reference_ids or {}).values()), default=1
    )
    usual = usual_grades(max(highest, 1))
    if usual is None:
        binding.problem(
            f"fill: people's grades go up to {highest}: write what the judge's grades 0, 1, 2, 3 "
            f"are among them, for instance grades: [0, 0, {highest // 2}, {highest}]",
            "fill",
        )
    return usual or (0, 1, 2, 3)


def _documents(samples: Iterable[Sample], k: int) -> Iterator[str]:
    """Yield the documents whose texts may be needed."""
    for sample in samples:
        yield from (sample.retrieved_ids or ())[:k]
        yield from sample.reference_ids or ()


def _texts(binding: Binding, wanted: Collection[str] | None) -> Mapping[str, str]:
    spec = binding.scenario.corpus
    if spec is None:
        return {}
    # Not at the top: most scenarios have no corpus.
    from pytest_rageval.datasets.corpus import corpus_texts

    where = binding.loaded.where("corpus")
    return corpus_texts(spec, binding.loaded.path.parent, where, wanted)


def _in_fixed_order(pairs: Iterable[tuple[Sample, str]]) -> list[tuple[Sample, str]]:
    """Return pairs in an order that depends on nothing but them: any part of them is random."""

    def order(pair: tuple[Sample, str]) -> bytes:
        sample, name = pair
        return hashlib.sha256(json.dumps([sample.id, name]).encode()).digest()

    return sorted(pairs, key=order)
