"""A pytest plugin that reads TREC files in a bare loop and scores all queries in one call."""

from __future__ import annotations

from pathlib import Path

import ir_measures
import pytest
from ir_measures import AP, RR, P, R, nDCG


def pytest_sessionstart(session: pytest.Session) -> None:
    qrels = read_qrels(Path("qrels.txt"))
    run = read_run(Path("run.txt"))
    scored = sum(1 for _ in ir_measures.iter_calc([RR, AP, nDCG @ 10, R @ 100, P @ 10], qrels, run))
    assert scored == 5 * len(qrels)


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            query, _, document, grade = line.split()
            judged = qrels.setdefault(query, {})
            if document in judged:
                raise ValueError(f"{document} is judged twice for {query}")
            judged[document] = int(grade)
    return qrels


def read_run(path: Path) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            query, _, document, _, score, _ = line.split()
            retrieved = run.setdefault(query, {})
            if document in retrieved:
                raise ValueError(f"{document} is retrieved twice for {query}")
            retrieved[document] = float(score)
    return run
