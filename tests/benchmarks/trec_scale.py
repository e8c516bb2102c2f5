"""TREC files of the size of a large evaluation, and what our cases cost against a bare loop."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.measure import PYTEST, Command, compare, wanted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HERE = Path(__file__).resolve().parent
_QUERIES = 7_000
_DOCUMENTS = 1_000
_COLLECTION = 8_841_823
_JUDGED = 20
_SCENARIO = """\
name: trec
qrels_path: qrels.txt
run_path: run.txt
metrics: [mrr, map, ndcg@10, recall@100, precision@10]
"""


def trec(folder: Path, repeat: int) -> None:
    """7,000 queries of 1,000 documents, 5 metrics, against no-op items and one call for all."""
    scenario, yardstick = folder / "scenario", folder / "noop"
    for place in (scenario, yardstick):
        place.mkdir()
    write_trec(scenario, _QUERIES, _DOCUMENTS, seed=7)
    for name in ("qrels.txt", "run.txt"):
        (yardstick / name).hardlink_to(scenario / name)
    (scenario / "trec.rageval.yaml").write_text(_SCENARIO, encoding="utf-8")
    shutil.copy(_HERE / "noop_conftest.py", yardstick / "conftest.py")
    shutil.copy(_HERE / "trec_loop.py", yardstick)
    (yardstick / "cases.noop").write_text(str(_QUERIES), encoding="utf-8")
    found = compare(
        Command(PYTEST, scenario),
        Command([*PYTEST, "-p", "no:rageval", "-p", "trec_loop"], yardstick),
        repeat,
    )
    cpu = [min(usage.cpu_s for usage in side) for side in (found.a, found.b)]
    name = f"TREC, {_QUERIES:,} queries of {_DOCUMENTS:,}, 5 metrics"
    sys.stdout.write(
        f"{name:<44} median {found.ratio:.3f}  best {found.best_ratio:.3f}  "
        f"{wanted(name, found.ratio, 1.3)}  "
        f"CPU {cpu[0]:.2f} s against {cpu[1]:.2f} s\n"
        f"{'':<44} peak memory over the loop {found.extra_kib / 1024:,.0f} MiB\n"
    )
    sys.stdout.flush()


def write_trec(folder: Path, queries: int, documents: int, seed: int) -> None:
    """Write ``qrels.txt`` and ``run.txt`` with ``documents`` for each query, by score descending.

    A query has about 20 judgements, graded 0 to 3: one half is of documents that are retrieved,
    the other of documents that are most likely not.
    """
    import numpy as np

    chance = np.random.default_rng(seed)
    with (
        (folder / "qrels.txt").open("w", encoding="utf-8") as qrels,
        (folder / "run.txt").open("w", encoding="utf-8") as run,
    ):
        for query in range(queries):
            ids = chance.choice(_COLLECTION, documents, replace=False)
            scores = np.sort(chance.normal(20.0, 5.0, documents))[::-1]
            ranked = enumerate(zip(ids.tolist(), scores.tolist(), strict=True), start=1)
            run.write(
                "".join(
                    f"q{query} Q0 {name} {at} {score:.6f} bm25\n" for at, (name, score) in ranked
                )
            )
            qrels.writelines(_judgements(query, ids, chance))


def _judgements(query: int, ids: NDArray[np.int64], chance: np.random.Generator) -> list[str]:
    # Early documents are relevant more often, so that no metric is about zero.
    half = _JUDGED // 2
    places = (chance.beta(0.5, 4.0, half) * len(ids)).astype(int)
    judged = [*ids[places].tolist(), *chance.integers(_COLLECTION, size=half).tolist()]
    unique = list(dict.fromkeys(judged))
    grades = chance.integers(0, 4, len(unique)).tolist()
    return [f"q{query} 0 {name} {grade}\n" for name, grade in zip(unique, grades, strict=True)]
