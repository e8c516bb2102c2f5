"""``--rag-label N`` draws answers, or made questions, for people to judge, and runs no tests."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from pytest_rageval.engine.plan import BoundMetric, Plan
from pytest_rageval.engine.planning.bind_labels import (
    guided,
    has_cells,
    labelled_names,
    levels_of,
)
from pytest_rageval.errors import Problem, UserError
from pytest_rageval.model import HumanLabels, Sample, is_by_model
from pytest_rageval.plugin.exit_status import where_scenarios_are
from pytest_rageval.plugin.run.items import case_of
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.plugin.show.label_lines import label_lines, review_lines
from pytest_rageval.plugin.show.terminal import display_path
from pytest_rageval.reports.labels.draw_labels import DrawnLabels, Wanted, draw_labels
from pytest_rageval.reports.labels.review_sheet import DrawnReviews, ToReview, draw_reviews
from pytest_rageval.stats.labels.cells import LEVEL_WORDS
from pytest_rageval.text.printable import printable


def label_instead(config: pytest.Config, given: str) -> None:
    """Have this process draw ``given`` answers or made questions of each scenario, and run no test.

    Raises pytest.UsageError for what is no whole number from 1 on.
    """
    if not (given.isascii() and given.isdigit() and int(given)):
        written = f"--rag-label {given}" if given else "--rag-label"
        raise pytest.UsageError(
            f"{written}: expected a whole number from 1 on; write --rag-label=20, and test paths "
            "after it"
        )
    config.option.dist, config.option.tx = "no", []  # of xdist: there is nothing to spread
    config.option.continue_on_collection_errors = False
    config.pluginmanager.register(Labelling(config, int(given)), "rageval-label")


class Labelling:
    """Draws once everything is collected; no sheet is written unless all can be drawn."""

    def __init__(self, config: pytest.Config, n: int) -> None:
        self._config = config
        self._n = n
        self._written: list[tuple[DrawnLabels | DrawnReviews, tuple[Path, Path] | None]] = []
        self._chosen: dict[str, set[str]] = {}
        """By node id of a scenario, the ids of the cases that are selected."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Draw instead of running; pytest itself ends a session with collection errors."""
        if session.testsfailed:
            return None
        plans: dict[str, Plan] = {}
        for item in session.items:
            if (run := case_of(item)) is not None:
                plans.setdefault(run.plan.info.nodeid, run.plan)
                self._chosen.setdefault(run.plan.info.nodeid, set()).add(run.case.id)
        if not plans:
            message = f"no scenario was collected. {where_scenarios_are(self._config)}"
            raise pytest.UsageError(f"--rag-label: {message}")
        try:
            for drawn in self._drawn(list(plans.values())):
                self._written.append((drawn, drawn.write() if drawn.sheet.rows else None))
        except (UserError, OSError) as error:
            raise pytest.UsageError(f"--rag-label: {printable(str(error))}") from error
        return True

    def _drawn(self, plans: list[Plan]) -> list[DrawnLabels | DrawnReviews]:
        """Return what was drawn of each scenario; raises UserError with all problems at once."""
        found: list[DrawnLabels | DrawnReviews] = []
        problems: list[Problem] = []
        reviewed = set[tuple[str, str]]()
        for plan in plans:
            data = (plan.info.path, plan.info.dataset_sha256)
            if data not in reviewed and (made := _made(plan)):
                found.append(self._reviews(plan, made))
                reviewed.add(data)  # variants have them in common
            try:
                found += self._of_scenario(plan)
            except UserError as error:
                problems += error.problems
        if problems:
            raise UserError(problems)
        return found

    def _reviews(self, plan: Plan, made: Sequence[Sample]) -> DrawnReviews:
        chosen = self._chosen[plan.info.nodeid]
        reviewed = [sample for sample in made if sample.id in plan.reviewed]
        # Whoever selects some of the questions wants to see those, reviewed or not.
        is_part = not chosen.issuperset(sample.id for sample in made)
        wanted = [
            sample
            for sample in made
            if (sample.id in chosen if is_part else sample.id not in plan.reviewed)
        ]
        return draw_reviews(
            ToReview(plan.info, len(made), len(reviewed), wanted, plan.reviews),
            self._config.stash[SETTINGS].run_paths,
            self._n,
            seed=secrets.randbits(53),
            now=datetime.now(UTC),
        )

    def _of_scenario(self, plan: Plan) -> Iterator[DrawnLabels]:
        if not plan.info.human and _made(plan):
            return  # people review the questions, and label answers only if the scenario says so
        ids = {case.id for case in plan.cases}
        for human in plan.info.human or (_wanted(plan),):
            yield draw_labels(
                Wanted(plan.info, human, ids),
                self._config.stash[SETTINGS].run_paths,
                self._n,
                seed=secrets.randbits(53),  # every reader of JSON can hold it
                now=datetime.now(UTC),
            )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was drawn, where it is, and what to do next."""
        shown = partial(display_path, root=self._config.invocation_params.dir)
        for drawn, files in self._written:
            if isinstance(drawn, DrawnReviews):
                lines = review_lines(drawn, files, shown)
            else:
                wanted = drawn.wanted
                is_part = not self._chosen[wanted.info.nodeid].issuperset(wanted.known_ids)
                lines = label_lines(drawn, files, shown, is_part=is_part)
            for line in lines:
                terminalreporter.write_line(printable(line))


def _made(plan: Plan) -> list[Sample]:
    """Return the samples whose questions a model made."""
    samples = (case for case in plan.cases if isinstance(case, Sample))
    return [sample for sample in samples if is_by_model(sample.metadata)]


def _wanted(plan: Plan) -> HumanLabels:
    """Return what to label where the scenario does not say: the one metric that asks a model.

    Without such a metric, the one metric there is. Raises UserError if there are several, or if
    nothing says what its labels may be.
    """
    judged = [metric for metric in plan.metrics if metric.info.is_judged]
    names = labelled_names(judged or plan.metrics)
    levels = _levels(plan.metrics, names[0])
    if len(names) == 1 and levels is not None:
        return guided(HumanLabels(names[0], tuple(levels)), plan.metrics, plan.info.description)
    if len(names) == 1:
        message = f"say what a label of {names[0]} may be; for bad and good write "
        line = f"human: {{of: {names[0]}, levels: [0, 1]}}"
        raise UserError([Problem(plan.info.path, message + line)])
    what = "metrics that ask a model" if judged else "metrics"
    message = f"{len(names)} {what}: {', '.join(names)}. Say which of them people are to label: "
    levels_too = "" if has_cells(plan.metrics, names[0]) else ", levels: [0, 1]"
    raise UserError([Problem(plan.info.path, f"{message}human: {{of: {names[0]}{levels_too}}}")])


def _levels(metrics: Sequence[BoundMetric], name: str) -> Sequence[float] | None:
    if has_cells(metrics, name):
        return tuple(LEVEL_WORDS)
    return levels_of(next(metric for metric in metrics if metric.column.name == name))
