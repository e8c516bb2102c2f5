"""Rows to measure with: real predictions where shared data is at hand, else made ones."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

SHARED = Path(__file__).resolve().parents[3] / "shared"
_WORDS = (
    "the river returns after a long winter and opens into wide fields where people build small "
    "houses of stone and wood near an old bridge that carries trade from one coast to another"
).split()


def write_rows(count: int, path: Path) -> str:
    """Write ``count`` rows as JSON Lines and return what they are."""
    tool = SHARED / "tools" / "make_scale.py"
    if tool.is_file():
        arguments = [str(tool), str(SHARED / "data"), str(count), str(path)]
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        return "real predictions (OpenQA-eval); above 36,100 rows they repeat"
    chance = random.Random(7)
    with path.open("w", encoding="utf-8") as stream:
        for number in range(count):
            stream.write(json.dumps(_row(number, chance)) + "\n")
    return "made rows (the folder of shared data is absent)"


def _row(number: int, chance: random.Random) -> dict[str, object]:
    reference = chance.sample(_WORDS, chance.randint(1, 5))
    answer = [word for word in reference if chance.random() < 0.8] or ["nothing"]
    return {
        "id": f"made-{number}",
        "question": " ".join(chance.choices(_WORDS, k=9)),
        "answer": " ".join(answer),
        "references": [" ".join(reference), " ".join(chance.sample(_WORDS, 2))],
    }
