"""What is missing from a run, in words: rows, answers, scores; what is not to be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_rageval.metrics import is_of_nuggets
from pytest_rageval.model import (
    EMPTY_ANSWER,
    NO_CONTROLS,
    NO_IDS_FOUND,
    NOT_ASKED,
    TARGET,
    MetricSummary,
    ScenarioResult,
)
from pytest_rageval.stats.caveats import applicable, kinds_of_answers, open_lines
from pytest_rageval.stats.summary import replies_text, reply_counts
from pytest_rageval.stats.verdict import has_failed, unwritten
from pytest_rageval.stats.weights import is_scored, weighted_mean


@dataclass(frozen=True, slots=True)
class Remark:
    """What to know beside the figures, mostly which rows or scores are in none.

    ``reason`` is that of the first of these rows or scores. ``is_error``: something failed.
    """

    text: str
    reason: str = ""
    is_error: bool = False

    def __str__(self) -> str:
        return f"{self.text}, for instance: {self.reason}" if self.reason else self.text


def missing_in(result: ScenarioResult) -> Iterator[Remark]:
    """Yield who wrote the questions, then what is missing: rows, answers, scores of metrics.

    If the target is not written yet, nothing is said of single metrics: none of them has a score.
    """
    if result.info.made is not None:
        # Imported only here: most questions are written by people.
        from pytest_rageval.reports.made_questions import made_lines

        yield from map(Remark, made_lines(result))
    yield from _invalid_rows(result)
    skipped = sum(
        sample.outcome == "skipped"
        and not (sample.invalid or sample.is_left_out or sample.is_not_drawn)
        for sample in result.samples
    )
    if skipped:
        yield Remark(f"{_of(skipped, 'samples', result)} skipped and in no figure")
    empty = sum(EMPTY_ANSWER in sample.reasons.values() for sample in result.samples)
    if empty:
        have = "has" if empty == 1 else "have"
        of_models = "that ask a model ('empty_answer: null' leaves that to each metric)"
        # Where refusals are looked for, their rules decide instead, and for all metrics of answers.
        which = "of the answer" if result.info.measured.get("refusals") else of_models
        count = _of(empty, "answers", result)
        yield Remark(f"{count} empty and {have} the worst score of metrics {which}")
    yield from map(Remark, kinds_of_answers(result))
    yield from control_remarks(result)
    expected = [sample for sample in result.samples if sample.is_expected]
    messages = [unwritten(result.info.target, sample) for sample in expected]
    if messages and all(messages):
        count = _of(len(messages), "samples", result)
        yield Remark(f"{count} not answered", messages[0] or "", is_error=True)
        return
    yield from map(Remark, open_lines(result))
    yield from _lengths(result)
    # One failed call may be that of several metrics: it is told once, with all their names in place
    # of the *. A remark without a reason is told of each metric by itself.
    told: dict[tuple[Remark, str], list[str]] = {}
    for name, metric in result.metrics.items():
        for found in _of_metric(result, name, metric):
            told.setdefault((found, "" if found.reason else name), []).append(name)
    for (found, _), names in told.items():
        text = found.text if len(names) == 1 else found.text.replace("* does", "* do", 1)
        yield replace(found, text=text.replace("*", ", ".join(names), 1))


def _of(count: int, noun: str, result: ScenarioResult) -> str:
    """Return "1 of 4 samples is", "2 of 4 samples are"."""
    return f"{count} of {len(result.samples)} {noun} {'is' if count == 1 else 'are'}"


def _lengths(result: ScenarioResult) -> Iterator[Remark]:
    """Yield the weighted mean length of answers scored by nuggets: longer ones find more."""
    columns = [column for column in result.info.metrics if is_of_nuggets(column)]
    if not columns:
        return
    # Imported only here: most scenarios have no nuggets.
    from pytest_rageval.text.tokenize import split_characters

    names = [column.name for column in columns if not column.retrieves]
    lengths = [
        (float(len(split_characters(sample.answer))), sample.sample_weight)
        for sample in result.samples
        if sample.answer is not None and any(is_scored(sample.scores.get(name)) for name in names)
    ]
    if (mean := weighted_mean(lengths)) is not None:
        yield Remark(
            f"{names[0]}: answers have {mean:.1f} words in the mean (of Chinese, characters); "
            "one that says more finds more nuggets"
        )


def control_remarks(result: ScenarioResult) -> Iterator[Remark]:
    """Yield the metrics whose judge failed or was not tested, then those without control rows."""
    # Verdicts that are told in the same words are told once, with all their metrics.
    alike: dict[str, list[str]] = {}
    for name, verdict in result.controls.items():
        alike.setdefault(verdict.remark(), []).append(name)
    for names in alike.values():
        verdict = result.controls[names[0]]
        if remark := verdict.remark(*names):
            yield Remark(remark, is_error=verdict.passed is False)
    if without := [name for name, found in result.controls.items() if found == NO_CONTROLS]:
        yield Remark(f"no controls: {', '.join(without)}")


def _invalid_rows(result: ScenarioResult) -> Iterator[Remark]:
    rows = [sample.invalid for sample in result.samples if sample.invalid is not None]
    if rows:
        count = _of(len(rows), "rows", result)
        yield Remark(f"{count} invalid and in no figure", rows[0], is_error=True)


def _of_metric(result: ScenarioResult, name: str, metric: MetricSummary) -> Iterator[Remark]:
    """Yield what is missing of a metric, with ``*`` in place of its name."""
    if metric.unscored:
        yield from _unscored(result, name, metric)
    if left := applicable(result.samples, name):
        yield Remark(f"*: {left}")
    instead = sum(sample.reasons.get(name) == NO_IDS_FOUND for sample in result.samples)
    if instead:
        text = f"* compared contexts on {instead} of {len(result.samples)} samples"
        yield Remark(text, NO_IDS_FOUND)
    if counts := reply_counts(result.samples, name):
        yield Remark(f"*: {replies_text(counts)}")


def _unscored(result: ScenarioResult, name: str, metric: MetricSummary) -> Iterator[Remark]:
    unscored = [
        sample
        for sample in result.samples
        if sample.is_expected and not is_scored(sample.scores.get(name))
    ]
    errors = (sample.errors.get(name) or sample.errors.get(TARGET) for sample in unscored)
    failed = [error for error in errors if error]
    reasons = [
        sample.reasons[name]
        for sample in unscored
        if name in sample.reasons and not has_failed(sample, name)
    ]
    of_all = f"of {metric.n + metric.unscored} samples"
    unasked = [error.removeprefix(NOT_ASKED) for error in failed if error.startswith(NOT_ASKED)]
    failed = [error for error in failed if not error.startswith(NOT_ASKED)]
    if unasked:
        text = f"the judge was given up: * not asked on {len(unasked)} {of_all}"
        yield Remark(text, unasked[0], is_error=True)
    if failed:
        yield Remark(f"* failed on {len(failed)} {of_all}", failed[0], is_error=True)
    if reasons:
        yield Remark(f"* does not apply to {len(reasons)} {of_all}", reasons[0])
