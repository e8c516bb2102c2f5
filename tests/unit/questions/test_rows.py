"""E26: what the files of a made test set hold already."""

from __future__ import annotations

import time

from pytest_rageval.questions.base import Passage
from pytest_rageval.questions.rows import Known


def test_rows_whose_quotes_no_document_holds_any_more_are_found_fast() -> None:
    """2,000 quotes were looked for in 10,000 passages one by one: 15 s in each run."""
    texts = [f"{'The mill grinds rye and oats. ' * 30}Mill {at} is shut." for at in range(10_000)]
    passages = [Passage("mills.md", "", text, at) for at, text in enumerate(texts)]
    rows = [
        {
            "id": str(at),
            "made_by": "model",
            "reference_contexts": [texts[-at]],
            "evidence": [f"Mill {10_000 - at} is shut."],
        }
        for at in range(1, 2_000)
    ]
    moved = {**rows[0], "id": "moved", "reference_contexts": ["What the passage was before."]}
    gone = {**rows[0], "id": "gone", "evidence": ["Mill 17 is open."]}
    changed = {**gone, "id": "changed", "reference_contexts": ["Mill 17 is open."]}
    of_people = {**gone, "id": "of people", "made_by": "Ann"}
    known = Known(rows=[*rows, moved, gone, changed, of_people])
    start = time.process_time()
    assert known.outdated(passages) == ["gone", "changed"]
    assert time.process_time() - start < 2.0
