"""Loads TREC files: one case for each judged query, with the documents that a run returned."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, TypeVar

from pytest_rageval.datasets.base import DataFile, row_place
from pytest_rageval.datasets.corpus import first_of, rows_in
from pytest_rageval.datasets.formats.trec_files import Qrels, read_qrels, read_run
from pytest_rageval.datasets.formats.trec_tables import read_table_qrels, read_table_run
from pytest_rageval.datasets.load import Dataset, answers_file, choose, data_file
from pytest_rageval.errors import Problem, ScenarioError, listed, shorten
from pytest_rageval.model import Case, InvalidRow, Sample
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec

_LISTED = 5
_QUERY_IDS = ("id", "qid", "queryid", "topicid", "topic", "number")
_QUERY_TEXTS = ("text", "query", "question", "title")
T = TypeVar("T")


def load_trec(
    spec: DatasetSpec,
    base_dir: Path,
    where: Callable[[str], str],
    run_key: str = "run_path",
    scores_as: Literal["d", "f"] = "d",
) -> Dataset:
    """Return a case for each query of the qrels file, in its order, or those that ``spec`` draws.

    ``where`` returns the place of a key in the scenario; ``run_key`` is the key that names the run.
    Scores are compared as 64-bit numbers, or with "f" as 32-bit ones.
    Raises ScenarioError for files that cannot be read, and for a run without any judged query.
    """
    qrels_file, missing = _attempt(
        lambda: _file(spec, spec.qrels_path, base_dir, where, "qrels_path")
    )
    run_file, more = _attempt(lambda: _file(spec, spec.run_path, base_dir, where, run_key))
    if qrels_file is None or run_file is None:
        raise ScenarioError([*missing, *more])
    qrels, problems = _attempt(lambda: read_table_qrels(qrels_file) or read_qrels(qrels_file))
    run, more = _attempt(
        lambda: read_table_run(run_file) or read_run(run_file, scores_as=scores_as)
    )
    if qrels is None or run is None:
        raise ScenarioError([*problems, *more])
    _check_overlap(qrels, run, run_file, qrels_file.shown)
    texts, queries_files = _queries(spec, base_dir, where)
    queries, left_out = choose(enumerate(qrels.items(), start=1), spec)
    cases = []
    for index, (row, (query, judged)) in enumerate(queries):
        sample = Sample(
            query,
            index,
            row,
            texts.get(query),
            retrieved_ids=run.get(query, ()),
            reference_ids=judged,
        )
        cases.append(_case(spec, sample, run_file.shown, is_missing=query not in run))
    chosen = {query: judged for _, (query, judged) in queries}
    return Dataset(
        cases,
        [None] * len(cases),
        columns=("retrieved_ids", "reference_ids", *(["question"] if texts else [])),
        metadata_columns=(),
        sha256=_digest(qrels_file, run_file, *queries_files),
        shown=run_file.shown,
        warnings=tuple(_warnings(spec, chosen, run, qrels_file.shown, run_file.shown)),
        left_out=left_out,
        judgements_sha256=_judgements_digest(qrels),
    )


def data_digest(spec: DatasetSpec, base_dir: Path, answers: AnswersSpec | None = None) -> str:
    """Return the hash of these files, as ``load_dataset`` and ``load_trec`` compute it.

    "" for rows that come from no file. Raises ScenarioError where a file is missing.
    """
    if spec.qrels_path is not None:
        keys = ("qrels_path", "run_path", *(["queries_path"] if spec.queries_path else []))
        return _digest(*(_file(spec, getattr(spec, key), base_dir, str, key) for key in keys))
    if spec.path is None:
        return ""
    digest = data_file(spec, base_dir, "", "dataset").sha256()
    if answers is not None:
        digest.update(answers_file(answers, base_dir, "").sha256().digest())
    if not spec.reviews:
        return digest.hexdigest()
    # Not at the top: most rows are not reviewed by people.
    from pytest_rageval.datasets.reviews import digest_with, review_files

    return digest_with(digest.hexdigest(), review_files(spec.reviews, base_dir, ""))


def _file(
    spec: DatasetSpec, path: str | None, base_dir: Path, where: Callable[[str], str], key: str
) -> DataFile:
    return data_file(spec.model_copy(update={"path": path}), base_dir, where(key), key)


def _queries(
    spec: DatasetSpec, base_dir: Path, where: Callable[[str], str]
) -> tuple[Mapping[str, str], Sequence[DataFile]]:
    """Return the texts of queries by id, and the file that they come from, if there is one."""
    if spec.queries_path is None:
        return {}, ()
    file = _file(spec, spec.queries_path, base_dir, where, "queries_path")
    return _query_texts(file, where("queries_path")), (file,)


def _query_texts(file: DataFile, where: str) -> dict[str, str]:
    """Return the texts of queries by id.

    Raises ScenarioError for rows without an id or a text, and for an id with two texts.
    """
    found: dict[str, str] = {}
    problems = []
    for row in rows_in(file, where, "queries_path"):
        message = ""
        name, text = first_of(row.fields, _QUERY_IDS), first_of(row.fields, _QUERY_TEXTS)
        if name is None or text is None:
            message = (
                f"a query needs an id (for instance under _id or qid) and a text under one of "
                f"{', '.join(_QUERY_TEXTS)}; found: {', '.join(row.fields) or 'nothing'}"
            )
        elif found.setdefault(name, text) != text:
            first = shorten(repr(found[name]))
            message = f"query {shorten(name)} is here twice, first with the text {first}; keep one"
        if message:
            problems.append(Problem(row_place(file.shown, row.line, row.number), message))
    if problems:
        more = len(problems) - _LISTED
        rest = [Problem(file.shown, f"and {more:,} more")] if more > 0 else []
        raise ScenarioError([*problems[:_LISTED], *rest])
    return found


def _check_overlap(
    qrels: Qrels, run: Mapping[str, Sequence[str]], run_file: DataFile, qrels_shown: str
) -> None:
    """Raise ScenarioError if the run has none of the judged queries: it is the wrong file."""
    if not qrels.keys() & run.keys():
        ours, theirs = shorten(next(iter(run))), shorten(next(iter(qrels)))
        raise run_file.refuse(
            f"no query of this run is judged in {qrels_shown}; queries here are like {ours!r}, "
            f"there like {theirs!r}. Is it the run that belongs to these qrels?"
        )


def _attempt(read: Callable[[], T]) -> tuple[T | None, Sequence[Problem]]:
    try:
        return read(), ()
    except ScenarioError as error:
        return None, error.problems


def _case(spec: DatasetSpec, sample: Sample, run_shown: str, *, is_missing: bool) -> Case:
    """Return a query as a case; if the run lacks it, as ``missing_queries`` says."""
    reason = f"no results for this query in {run_shown}"
    if is_missing and spec.missing_queries == "error":
        return InvalidRow(sample.id, sample.index, sample.row, None, reason)
    if is_missing and spec.missing_queries == "skip":
        return replace(sample, skip=reason)
    return sample


def _warnings(
    spec: DatasetSpec,
    qrels: Qrels,
    run: Mapping[str, Sequence[str]],
    qrels_shown: str,
    run_shown: str,
) -> Iterator[str]:
    missing = [query for query in qrels if query not in run]
    if missing and spec.missing_queries == "zero":  # otherwise their cases say so
        share = _share(missing, qrels)
        yield f"{share} no results in {run_shown}: {_list(missing)} (see missing_queries)"
    hopeless = [query for query, judged in qrels.items() if max(judged.values()) < 1]
    if hopeless:
        yield (
            f"{_share(hopeless, qrels)} no relevant document in {qrels_shown}, so that measures of "
            f"relevance are 0 there: {_list(hopeless)}"
        )


def _share(queries: Sequence[str], qrels: Qrels) -> str:
    have = "has" if len(queries) == 1 else "have"
    return f"{len(queries)} of {len(qrels)} judged queries {have}"


def _list(names: Sequence[str]) -> str:
    return listed(map(shorten, names), _LISTED)


def _judgements_digest(qrels: Qrels) -> str:
    """Return a hash of the judgements, whatever the line ends, packing and order of queries."""
    whole = hashlib.sha256()
    for query in sorted(qrels):
        judged = qrels[query]
        # No id holds a null byte or a line feed. One call for all documents: they may be millions.
        whole.update("\n".join((query, *judged)).encode())
        whole.update(f"\0{list(judged.values())}\0".encode())
    return whole.hexdigest()


def _digest(*files: DataFile) -> str:
    whole = hashlib.sha256()
    for file in files:
        whole.update(file.sha256().digest())
    return whole.hexdigest()
