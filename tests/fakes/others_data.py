"""Finds other people's data in a folder next to the repository; skips the tests that need it."""

from __future__ import annotations

from pathlib import Path

import pytest

BESIDE = Path(__file__).resolve().parents[3] / "shared"
WHOSE = {
    "data": "several public data sets",
    "data/clapnq": "ClapNQ (IBM)",
    "data/cmrc2018": "CMRC 2018 (Cui et al.)",
    "data/evouna-nq": "EVOUNA (Wang et al.)",
    "data/expertqa": "ExpertQA (Malaviya et al.)",
    "data/mtrag-human": "MTRAG with the marks of people (IBM)",
    "data/nq-format-samples": "Natural Questions as UltraRAG and FlashRAG publish them",
    "data/nq-oracle": "Natural Questions (Google)",
    "data/openqa-eval": "OpenQA-eval (Kamalloo et al.)",
    "data/ragas-annotated": "judgements that ragas publishes with corrections",
    "data/ragchecker-human": "RAGChecker's numbers and the preferences of people (Amazon)",
    "data/real-exports": "files that other tools wrote (arize-phoenix, deepeval, inspect_ai, ...)",
    "data/robust03": "TREC 2003 Robust, as trectools publishes it",
    "data/trec-eval": "trec_eval's own tests (NIST)",
    "data/urbano-significance": "scores of TREC-8 runs (Urbano et al.)",
    "reference/answers.json": "figures of upstream scoring code for answers and holes",
    "reference/trec_eval_test_data.json": "figures for trec_eval's own tests (NIST)",
    "reference/ultrarag_nq_sample.json": "rows of Natural Questions with UltraRAG's figures",
}


def others_data(name: str) -> Path:
    """Return a file or folder of other people's data, or skip the test or the module that asks.

    ``name`` begins with a key of ``WHOSE``.
    """
    whose = next(text for key, text in reversed(WHOSE.items()) if name.startswith(key))
    path = BESIDE / name
    if not path.exists():
        pytest.skip(f"needs {whose}, no part of the repository: no {path}", allow_module_level=True)
    return path
