"""[E20] Variants that ask a judge: equal questions once, one dead judge seen by all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judged_project import JudgedProject

from tests.plugin.conftest import red

pytest_plugins = ["judged_project"]
pytestmark = pytest.mark.full

ONE = [f"0.{at % 9}{at:02}" for at in range(12)]
# The last four of twelve answers are others: 12 + 4 questions.
OTHER = [*ONE[:8], *(f"0.5{at}" for at in range(4))]


def _rows(answers: list[str]) -> list[dict[str, Any]]:
    return [{"id": f"s{at}", "answer": answer} for at, answer in enumerate(answers)]


def two(judged: JudgedProject, **keys: Any) -> Path:
    return judged.scenario(
        ONE,
        variants={"one": {}, "other": {"dataset": _rows(OTHER)}, "same": {}},
        gates={"graded": 0.01},
        **keys,
    )


def test_equal_questions_are_asked_once_over_all_workers(judged: JudgedProject) -> None:
    """Whichever process comes first; the ranking is that of a single process."""
    two(judged)
    judged.server.options.latency_s = 0.02
    judged.distributed()
    assert len(judged.asked) == 16
    found = [json.loads((judged.path / ".rageval/qa/variants.json").read_text("utf-8"))]
    judged.pytest()
    found.append(json.loads((judged.path / ".rageval/qa/variants.json").read_text("utf-8")))
    runs = [one.pop("runs") for one in found]
    assert (found[0], runs[0].keys()) == (found[1], runs[1].keys())
    assert runs[0].values() != runs[1].values()


def test_equal_questions_are_asked_once_from_python(judged: JudgedProject) -> None:
    """Without a cache folder, too: replies are kept until the call ends."""
    from pytest_rageval import evaluate_variants

    judged.load_conftest()
    found = evaluate_variants(two(judged))
    assert len(judged.asked) == 16
    assert [one.letters for one in found.ranking.variants] == ["a", "a", "a"]
    assert not list(judged.temporary.iterdir())


def test_a_dead_judge_of_one_variant_leaves_nothing_to_compare(judged: JudgedProject) -> None:
    """Its samples have no score: errors, no letters, and ``best`` fails with its name."""
    dead = [f"500|{answer}" for answer in ONE]
    judged.scenario(
        ONE,
        variants={"alive": {}, "dead": {"dataset": _rows(dead)}},
        best={"of": "graded", "at_least": "alive"},
    )
    result = red(judged.pytest())
    result.stdout.fnmatch_lines(["gate best * FAILED *dead lacks 12*"])
    found = json.loads((judged.path / ".rageval/qa/variants.json").read_text("utf-8"))
    assert found["variants"]["dead"]["mean"] is None


def test_other_judges_are_other_yardsticks(judged: JudgedProject) -> None:
    """Scores of two judges are not compared, unless it is asked for."""
    keys: dict[str, Any] = {
        "variants": {"one": {}, "other": {"judge": {"model": "m2"}}},
        "best": {"of": "graded", "at_least": "one"},
    }
    judged.scenario(ONE, **keys)
    result = judged.pytest()
    result.stdout.fnmatch_lines(["gate best * FAILED *graded*anyway*"])
    keys["best"]["anyway"] = True
    judged.scenario(ONE, **keys)
    assert judged.pytest().ret == pytest.ExitCode.OK
