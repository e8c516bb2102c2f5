"""``--rag-init --rag-from=ROWS --rag-nuggets`` lists what an answer to each row has to say.

The lists are made of the references, and go into a file of their own beside the data.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.clients.settings import ClientSettings, RunSettings
from pytest_rageval.datasets.load import Dataset, load_dataset
from pytest_rageval.datasets.reviews import with_reviews
from pytest_rageval.engine.scoring.counting_models import ModelUse
from pytest_rageval.engine.scoring.live_run import LiveRun
from pytest_rageval.errors import Problem, RagevalError, UserError
from pytest_rageval.first_scenario.propose import propose
from pytest_rageval.first_scenario.scenario_text import file_stem, shell_word
from pytest_rageval.plugin.exit_status import misused
from pytest_rageval.plugin.from_data import given_of, path_from, with_hint
from pytest_rageval.plugin.making import (
    CheckingJudge,
    Progress,
    check_writable,
    judge_of,
    made,
    make_or_forecast,
    named,
    not_done,
    nothing_lost,
    say_lines,
)
from pytest_rageval.plugin.settings import SETTINGS
from pytest_rageval.questions.calls import AskedModels, expected_list_calls
from pytest_rageval.questions.make import WriterAndJudge
from pytest_rageval.questions.nugget_rows import (
    NuggetFile,
    answered_of,
    joined_scenario,
    lines_of,
    nuggets_beside,
)
from pytest_rageval.questions.nuggets import Answered, NuggetList, failures_of, make_lists
from pytest_rageval.reports.base import write_atomically
from pytest_rageval.scenario.data_specs import DatasetSpec
from pytest_rageval.scenario.fields import FIELD_ALIASES
from pytest_rageval.scenario.loader import inspect_tree, parse_scenario, read_scenario
from pytest_rageval.scenario.overrides import Override
from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.yaml.tree import YamlTree
from pytest_rageval.stats.wording import counted

_HOW = "pytest --rag-init --rag-from=rows.jsonl --rag-nuggets --rag-judge-model=NAME"
_OF_ANSWERS = frozenset({"nuggets", "answerable"})


def make_nuggets(config: pytest.Config) -> int:
    """Make the lists that rows lack, and return the exit status."""
    return make_or_forecast(config, partial(_prepared, config))


def _prepared(config: pytest.Config, run: RunSettings) -> _Making:
    """Return what is to be made, and say what was read; raises UsageError."""
    try:
        here, data, folder = _places(config)
        judge_keys, others = _given(config)
        judge = judge_of(judge_keys, run, "--rag-nuggets", "list")
        scenario = _scenario_of_rows(data, folder, others, judge.settings)
        making = _Making(here, run, judge, data, _nugget_file(scenario, data), scenario)
    except RagevalError as error:
        source = config.getoption("rag_from")
        raise misused(with_hint(f"--rag-from={source}: {error}")) from error
    say_lines(making.found())
    return making


@dataclass(frozen=True)
class _Scenario:
    """The scenario of the rows: read from ``path``, or proposed to be written there.

    ``new`` are the texts of the files to write, by path: none for a scenario that is there.
    """

    path: Path
    scenario: Scenario
    new: Mapping[Path, str]


@dataclass(frozen=True)
class _Making:
    """The lists to make of the rows in ``data``; paths are shown from ``here``."""

    here: Path
    run: RunSettings
    judge: CheckingJudge
    data: Path
    file: NuggetFile
    scenario: _Scenario

    @property
    def lists_path(self) -> Path:
        """The file of the lists, beside the data."""
        return nuggets_beside(self.data)

    @property
    def answered(self) -> list[Answered]:
        """What the lists that rows lack are made of, in the order of ``file.open``."""
        return [answered_of(sample) for sample in self.file.open]

    def shown(self, path: Path) -> str:
        """Return a path as the user would type it."""
        return path_from(path, self.here)

    def found(self) -> Iterator[str]:
        """Yield how many lists are to be made, and what is odd about the others."""
        file, shown = self.file, self.shown(self.lists_path)
        yield f"{counted(len(file.cases), 'row')}: {counted(len(file.open), 'list')} to make"
        if bad := len(file.cases) - len(file.samples):
            yield f"  {counted(bad, 'invalid row')}: a run says why"
        if file.bare:
            yield f"  {counted(file.bare, 'row')} without references, or that cannot be answered"
        if file.changed:
            yield (
                f"  changed since their list was made: {named(file.changed)}; look whether it "
                f"holds, or delete the line in {shown} for a new one"
            )
        if file.gone:
            yield (
                f"  {shown} has lists of rows that are not there: {named(file.gone)}; delete "
                "their lines, or write answers.extra_rows: ignore"
            )

    def expected(self) -> Sequence[ModelUse]:
        judge = self.judge
        asked = AskedModels(judge.settings, judge.settings, judge.controls != "off")
        return expected_list_calls(self.answered, asked, self.run)

    def make(self) -> pytest.ExitCode:
        progress = Progress(self.run, len(self.file.open), "list")
        if not self.file.open:
            say_lines(["nothing is left to make", *self._write(progress, {}), *self._next()])
            return pytest.ExitCode.OK
        check_writable(self.lists_path.parent)
        lists = made(self._asked, progress)
        if isinstance(lists, pytest.ExitCode):
            return lists
        if failures := failures_of(lists):
            say_lines(not_done(progress, failures, len(lists), "list"))
            return pytest.ExitCode.TESTS_FAILED
        ids = [sample.id for sample in self.file.open]
        by_id = dict(zip(ids, lists, strict=True))
        say_lines([*lines_of(lists, "row"), *self._write(progress, by_id), *self._next()])
        return pytest.ExitCode.OK

    async def _asked(self, progress: Progress, live: LiveRun) -> list[NuggetList]:
        """Return a list for each of ``answered``, once control rows have tested the judge."""
        answered, client = self.answered, live.clients().chat(self.judge.settings)
        await self.judge.test([question.slot for question in answered], client)
        return await make_lists(answered, WriterAndJudge(client, client), progress.count_one)

    def _write(self, progress: Progress, lists: Mapping[str, NuggetList]) -> Iterator[str]:
        """Write the files that change, and yield a line for each; ``lists`` are by row id."""
        with nothing_lost(progress):  # read again: people may have written lists meanwhile
            file = NuggetFile.of(self.file.cases, self.lists_path, self.file.rejected)
        new = {one.id: lists[one.id] for one in file.open if one.id in lists}
        files = {self.lists_path: "".join(file.text(new)), **self.scenario.new}
        with nothing_lost(progress):
            for path, text in files.items():
                if not path.exists() or path.read_text("utf-8") != text:
                    write_atomically(path, [text])
                    yield f"wrote {self.shown(path)}"

    def _next(self) -> Iterator[str]:
        """Yield what to change in a scenario that was there, and how to run it."""
        path, answers = self.scenario.path, self.scenario.scenario.answers
        shown, lists = self.shown(path), path_from(self.lists_path, path.parent)
        if not self.scenario.new and answers is None:
            yield f"write in {shown}:  answers: {{path: {lists}, key: id}}"
        elif answers is not None and (path.parent / answers.path) != (path.parent / lists):
            yield (
                f"{shown} joins {answers.path} already, and one file can be joined: write "
                f"the lists of {self.shown(self.lists_path)} into that one"
            )
        if "nugget_recall" not in {spec.metric for spec in self.scenario.scenario.metrics}:
            yield f"read the lists, then add nugget_recall to the metrics of {shown}, with a judge"
        yield f"run it:  pytest {shell_word(shown)}"


def _given(config: pytest.Config) -> tuple[dict[str, Any], list[Override]]:
    """Return the judge's keys, and the other overrides; raises UsageError."""
    tree, others = YamlTree({}, ""), []
    for override in config.stash[SETTINGS].overrides:
        if override.path[0] == "judge":
            override.apply(tree)
        elif override.path[0] != "embedding" or not override.only_present:  # --rag-concurrency
            others.append(override)
    judge = tree.data.get("judge") or {}
    if not isinstance(judge, dict):
        raise misused(f"--rag-set: judge: expected keys, such as judge.model, found {judge!r}")
    return judge, others


def _places(config: pytest.Config) -> tuple[Path, Path, Path]:
    """Return where the command runs, the file with the rows, and the scenario's folder.

    Raises UsageError for options that do not go together.
    """
    source, folder = config.getoption("rag_from"), config.getoption("rag_init")
    here = config.invocation_params.dir
    if folder is None:
        raise misused(f"--rag-nuggets goes with --rag-init and --rag-from: {_HOW}")
    if (here / source).is_dir():
        raise misused(
            f"--rag-from={source} is a folder: for documents, say how many questions to make, "
            f"--rag-questions=50; for rows, name their file: {_HOW}"
        )
    if not (here / source).is_file():
        raise misused(f"--rag-from={source}: no such file; name one with rows of data")
    if (here / folder).exists() and not (here / folder).is_dir():
        raise misused(f"--rag-init={folder} is no folder; the rows go to --rag-from: {_HOW}")
    if config.getoption("rag_ci") is not None:
        raise misused("--rag-ci: write the workflow afterwards, without --rag-nuggets")
    return here, here / source, here / folder


def _scenario_of_rows(
    data: Path, folder: Path, others: Sequence[Override], judge: ClientSettings
) -> _Scenario:
    """Return the scenario of the rows that is in the folder, else what is to be written.

    Raises UserError for a broken one, or for overrides of one that is there.
    """
    path = folder / f"{file_stem(data.name)}.rageval.yaml"
    if path.exists():
        if others:
            message = f"{path.name} exists already; change it there"
            raise UserError([Problem(others[0].flag, message)])
        tree = read_scenario(path, path.name)
        loaded, problems = inspect_tree(tree, path)
        if problems:
            raise UserError(problems)
        return _Scenario(path, loaded.scenario, {})
    proposal = propose(data, folder, *given_of(others))
    loaded, problems = inspect_tree(parse_scenario(proposal.text, path, path.name), path)
    if problems:
        raise UserError(problems)
    lists = path_from(nuggets_beside(data), folder).replace(os.sep, "/")
    new = {path: joined_scenario(proposal.text, lists, judge)}
    if proposal.target is not None and not (folder / proposal.target[0]).exists():
        new[folder / proposal.target[0]] = proposal.target[1]
    return _Scenario(path, loaded.scenario, new)


def _nugget_file(scenario: _Scenario, data: Path) -> NuggetFile:
    """Return the lists of all rows, whatever the limit, but for rows that people have rejected.

    The rows are read as the scenario reads them; raises UserError if it reads other data.
    """
    spec, folder = scenario.scenario.dataset, scenario.path.parent
    if spec.path is None or (folder / spec.path).resolve() != data.resolve():
        raise UserError([Problem(scenario.path.name, f"reads other data than {data.name}")])
    # From the folder of the data: that of the scenario may be new, with no way through it yet.
    spec = spec.model_copy(update={"limit": -1, "path": data.name})
    read = load_dataset(spec, data.parent, scenario.path.name, of_answers=_OF_ANSWERS)
    _refuse_without_ids(spec, read)
    kept = read
    if spec.reviews:
        kept = with_reviews(read, spec.reviews, folder, scenario.path.name)
    ids = {case.id for case in kept.cases}
    rejected = [case.id for case in read.cases if case.id not in ids]
    return NuggetFile.of(kept.cases, nuggets_beside(data), rejected)


def _refuse_without_ids(spec: DatasetSpec, read: Dataset) -> None:
    """Raise UserError for rows that no list can be joined to."""
    columns = {*FIELD_ALIASES["id"], spec.key_map.get("id"), read.likely.get("id")}
    if columns.isdisjoint(read.columns):
        message = (
            'no column of ids, by which a list is joined to its row. Give each row one, "id": '
            '"q1", or name the column: --rag-set=dataset.key_map.id=NAME'
        )
        raise UserError([Problem(read.shown, message)])
