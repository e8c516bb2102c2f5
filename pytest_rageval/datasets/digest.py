"""The hash of a scenario's data files as they are now, without reading their rows."""

from __future__ import annotations

from pathlib import Path

from pytest_rageval.datasets.load import answers_file, data_file
from pytest_rageval.datasets.trec import trec_digest
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec


def data_digest(spec: DatasetSpec, base_dir: Path, answers: AnswersSpec | None = None) -> str:
    """Return what ``load_dataset`` or ``load_trec`` give as the hash of these files.

    "" for rows that are no file. Raises ScenarioError where one is missing.
    """
    if spec.qrels_path is not None:
        return trec_digest(spec, base_dir)
    if spec.path is None:
        return ""
    digest = data_file(spec, base_dir, "", "dataset").sha256()
    if answers is not None:
        digest.update(answers_file(answers, base_dir, "").sha256().digest())
    return digest.hexdigest()
