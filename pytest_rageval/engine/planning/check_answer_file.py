"""Refuses to write answers, or ``save_path``, over what the run reads or a saved run."""

from __future__ import annotations

from collections.abc import Iterator
from glob import glob
from pathlib import Path

from pytest_rageval.engine.planning.bind_baselines import compared_runs
from pytest_rageval.engine.planning.binding import Binding
from pytest_rageval.model.value import texts_in
from pytest_rageval.run_paths import RunPaths, is_path, is_same_file, of_variant


def check_written_files(binding: Binding) -> None:
    """Note a file for answers, or a ``save_path``, that would replace another file of the run."""
    _check_answer_file(binding)
    _check_save_path(binding)


def _check_answer_file(binding: Binding) -> None:
    """Note a file of ``--rag-save-answers`` that would replace what is read, or a saved run."""
    answers = binding.run_paths.answers
    if answers is None:
        return
    written = [of_variant(answers, name) for name in ("", *binding.loaded.variants)]
    for file in dict.fromkeys([*_read(binding), *_saved(binding, binding.run_paths)]):
        if any(is_same_file(path, file) for path in written):
            shown = binding.run_paths.shown(file)
            message = "is a file that this scenario reads or saves; name another for the answers"
            binding.problem(f"--rag-save-answers: {shown} {message}")
            return


def _read(binding: Binding) -> Iterator[Path]:
    """Yield whatever the scenario may name as a file, and itself."""
    folder = binding.loaded.path.parent
    yield binding.loaded.path
    yield from (folder / text for text in texts_of(binding.loaded.tree.data))
    yield from _reviews(binding)


def _reviews(binding: Binding) -> Iterator[Path]:
    folder = binding.loaded.path.parent
    for pattern in binding.scenario.dataset.reviews:
        yield from (folder / name for name in glob(pattern, root_dir=folder, recursive=True))  # noqa: PTH207


def texts_of(value: object) -> Iterator[str]:
    """Return the texts in a tree that may be the names of files."""
    return filter(str.isprintable, texts_in(value))


def _saved(binding: Binding, paths: RunPaths) -> Iterator[Path]:
    """Yield the saved runs that ``compare`` names, and the one that the run is to make."""
    folder, output = binding.loaded.path.parent, binding.scenario.output_dir
    for _, run in compared_runs(binding):
        if run.baseline:
            yield paths.compared_file(run.baseline, binding.title, output, folder)
    if paths.saving is not None and not is_path(paths.saving):  # a path is known without a scenario
        yield paths.baseline_file(paths.saving, binding.title, output)


def _check_save_path(binding: Binding) -> None:
    """Note a ``save_path`` that would replace what the scenario reads, or a saved run."""
    if binding.scenario.save_path is None:
        return
    path = binding.run_paths.root / binding.scenario.save_path
    written = [of_variant(path, name) for name in binding.loaded.variants or ("",)]
    for file in [*_data(binding), *_saved(binding, binding.run_paths)]:
        if any(is_same_file(one, file) for one in written):
            shown = binding.run_paths.shown(file)
            message = "is a file that this scenario reads or saves; name another"
            binding.problem(f"save_path: {shown} {message}", "save_path")
            return


def _data(binding: Binding) -> Iterator[Path]:
    """Yield the scenario and the files that it surely reads, all but ``judge.controls.file``.

    Other texts may only look like the name of one.
    """
    folder, scenario = binding.loaded.path.parent, binding.scenario
    yield binding.loaded.path
    data, human = scenario.dataset, scenario.human
    names = [data.path, data.qrels_path, data.run_path, data.queries_path]
    names += [one.path for one in (scenario.answers, scenario.corpus) if one is not None]
    names += [] if human is None else [*human.file, *human.more]
    names += [run.run_old_path for _, run in compared_runs(binding)]
    yield from (folder / name for name in names if name is not None)
    yield from _reviews(binding)
