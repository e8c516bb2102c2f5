"""Builds the replies of MCP tools: compact JSON that fits into a token budget."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, overload

from pydantic import BaseModel, ConfigDict

from pytest_rageval.clients.tokens import estimate_tokens
from pytest_rageval.errors import Problem, UserError, shorten
from pytest_rageval.model import TOLERANCE, WEIGHTED_SCORE, GateResult, SampleResult, ScenarioResult
from pytest_rageval.reports.run_view import RunView, is_bad
from pytest_rageval.reports.what_is_wrong import WhatIsWrong, WrongAnswer, lowest
from pytest_rageval.run_paths import run_folder
from pytest_rageval.serving.project import Project, ScenarioEntry
from pytest_rageval.stats.weights import is_scored
from pytest_rageval.stats.wording import remark_of

MOST_TOKENS: Final = 1800
"""How long a reply may be; an estimate, below the 2,000 that are promised."""

LONGEST: Final = 1000
"""How many characters of a text are shown at most."""

_WIDTHS: Final = (LONGEST, 600, 300, 150, 80, 40, 20)


class Arguments(BaseModel):
    """The arguments of a tool; others than it knows are refused."""

    model_config = ConfigDict(extra="forbid")


def packed(reply: Mapping[str, Any]) -> str:
    """Return ``reply`` as compact JSON, without the keys of what is None, or no finite number.

    >>> packed({"run": None, "gates": [{"bound": None, "name": "f1"}]})
    '{"gates":[{"name":"f1"}]}'
    """
    return json.dumps(_known(reply), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _known(value: Any) -> Any:
    if isinstance(value, Mapping):
        known = ((key, _known(part)) for key, part in value.items())
        return {key: part for key, part in known if part is not None}
    if isinstance(value, float) and not math.isfinite(value):  # a file may have been changed
        return None
    return [_known(part) for part in value] if isinstance(value, list | tuple) else value


def fitted(build: Callable[[int], Mapping[str, Any]], most: int = MOST_TOKENS) -> str:
    """Return what ``build`` makes of the longest width of texts that fits into a reply.

    Where none does, it is what the shortest makes, too long as it is.
    """
    found = ""
    for width in _WIDTHS:
        found = packed(build(width))
        if _fits(found, most):
            break
    return found


def paged(
    head: Mapping[str, Any], key: str, rows: Iterable[Mapping[str, Any]], offset: int, total: int
) -> str:
    """Return ``head`` with as many ``rows`` as fit, one at least, and ``next`` if there are more.

    ``rows`` begin at ``offset`` of ``total``; ``next`` is the offset to go on from.
    """
    shown: list[Mapping[str, Any]] = []
    text = packed({**head, "total": total})
    for row in rows:
        at = offset + len(shown) + 1
        more = {"next": at} if at < total else {}
        longer = packed({**head, "total": total, key: [*shown, row], **more})
        if shown and not _fits(longer, MOST_TOKENS):
            break
        shown.append(row)
        text = longer
    return text


@overload
def cut(text: str, width: int) -> str: ...
@overload
def cut(text: None, width: int) -> None: ...
@overload
def cut(text: str | None, width: int) -> str | None: ...
def cut(text: str | None, width: int) -> str | None:
    """Return ``text`` cut to ``width`` characters; a longer one ends with how many more it has.

    >>> cut("abcdef", 4)
    'abcd… (2 more)'
    """
    if text is None or len(text) <= width:
        return text
    return f"{text[:width]}… ({len(text) - width} more)"


def short(text: str) -> str:
    """Return a text that is no JSON, such as an error, cut to the length of a reply."""
    width = len(text)
    while not _fits(found := cut(text, width), MOST_TOKENS):
        width //= 2
    return found


def rounded(value: float | None) -> float | None:
    """Return a figure with four decimals."""
    return None if value is None else round(value, 4)


def significant(value: float | None) -> float | None:
    """Return a figure with two digits that count: a small one is never 0.

    >>> significant(0.000012345), significant(1234.5)
    (1.2e-05, 1200.0)
    """
    return None if value is None else float(f"{value:.2g}")


def _fits(text: str, most: int) -> bool:
    return estimate_tokens(text) <= most


WORST: Final = 5
"""How many of the worst samples, of errors, and of reasons for a sample a reply has at most."""
METRICS: Final = 40
"""How many metrics a reply has at most."""
COMPARED_METRICS: Final = METRICS // 4
"""How many metrics it has for each of several runs."""
VARIANTS: Final = 12
"""How many variants a reply has at most."""
REMARKS: Final = 10
"""How many remarks a reply has at most."""
NAME: Final = 200
"""How many characters of a name a reply has at most."""
_LISTED: Final = 8
"""How many gates of one outcome, or overridden keys, a reply has at most."""
_QUESTION: Final = 120
"""How many characters of a question it has at most beside a sample's figures."""


_HAN: Final = "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""A character of Chinese or Japanese."""


def relative(project: Project, text: str) -> str:
    """Return a text of pytest's with paths relative to the rootdir."""
    root = str(project.paths.root)
    if root.endswith(os.sep):  # of the file system: each path begins with it
        return text
    sep, path = re.escape(os.sep), re.escape(root)
    end = rf"(?:(?P<below>{sep})|(?![\w@+~-]|\.\w))"  # not of its neighbour, rag-venv
    # Chinese has no blank before a path; but a folder may have a Chinese name, too.
    start = rf"(?P<other>{sep}{_HAN}+{path})|(?:(?<![\w.~-])|(?<={_HAN}))"
    return re.sub(
        rf"{start}{path}{end}",
        lambda found: found["other"] or ("" if found["below"] else "."),
        text,
    )


def base_of(project: Project, entry: ScenarioEntry) -> Path:
    """Return the base folder of a scenario's runs.

    Raises UserError if it is outside of the rootdir. A folder that the user gave when the server
    was started may be anywhere.
    """
    base = project.paths.run_base(entry.output_dir)
    top = project.paths.root if project.paths.output is None else base
    for home in (base, *(base / run_folder(title) for title in entry.titles)):
        if not is_inside(home, top):
            where = f"the runs are in {home.resolve()}, outside of the rootdir"
            raise UserError([Problem(entry.shown, f"{where}: not read or written")])
    return base


def is_inside(path: Path, top: Path) -> bool:
    """Return whether a path is below ``top`` once its links are followed."""
    return path.resolve().is_relative_to(top.resolve())


def figures_of(result: ScenarioResult) -> dict[str, Any]:
    """Return the means of a run with intervals: where ``sample`` chose rows, those of all rows."""
    figures = {
        shorten(name, NAME): _figure(result, name) for name in list(result.metrics)[:METRICS]
    }
    return {
        "weighted_score": _figure(result, WEIGHTED_SCORE),
        "metrics": figures,
        "more_metrics": len(result.metrics) - len(figures) or None,
    }


def _figure(result: ScenarioResult, name: str) -> dict[str, Any]:
    summary, estimate = result.summary_of(name), result.estimates.get(name)
    mean, low, high = result.mean_of(name), summary.ci_low, summary.ci_high
    if estimate is not None:
        mean, low, high = estimate.mean, estimate.beyond_low, estimate.beyond_high
    ends = [rounded(low), rounded(high)]
    interval = None if None in ends else ends
    return {"mean": rounded(mean), "ci": interval, "n": summary.n}


def overridden_of(names: Sequence[str]) -> dict[str, Any]:
    """Return what of a run was not as the scenario's file says."""
    shown = [cut(name, NAME) for name in names[:_LISTED]]
    return {"overridden": shown or None, "more_overridden": len(names[_LISTED:]) or None}


def compared_of(view: RunView) -> dict[str, Any] | None:
    """Return the run against each baseline, by its name; None without one."""
    found = {
        shorten(run.baseline, NAME): {
            "alpha": run.figures.alpha,
            "looks": run.figures.looks if run.figures.looks > 1 else None,
            "metrics": {
                shorten(metric.name, NAME): {
                    "diff": rounded(metric.figures.diff),
                    "p_adjusted": significant(metric.figures.p_adjusted),
                    "verdict": metric.word,
                    "remark": shorten(remark_of(metric.figures), NAME) or None,
                }
                for metric in run.metrics[:COMPARED_METRICS]
            },
            "more_metrics": max(0, len(run.metrics) - COMPARED_METRICS) or None,
        }
        for run in view.compared
    }
    return found or None


def counts_of(result: ScenarioResult) -> dict[str, int]:
    """Return how many cases ended how, without what is 0 but for ``ran`` and ``samples``."""
    counts = asdict(result.counts)
    return {key: n for key, n in counts.items() if n or key in ("samples", "ran")}


def gates_of(gates: Sequence[GateResult], width: int) -> dict[str, Any]:
    """Return the failed gates with messages, the names of the passed, how many are undecided."""
    failed, passed, skipped = (
        [gate for gate in gates if gate.outcome == outcome]
        for outcome in ("failed", "passed", "skipped")
    )
    return {
        "gates_failed": [
            {
                "name": shorten(gate.name, NAME),
                "observed": gate.observed,  # whole, as the bound is that it misses
                "bound": gate.bound,
                "message": cut(gate.message, width),
            }
            for gate in failed[:_LISTED]
        ],
        "more_gates_failed": max(0, len(failed) - _LISTED) or None,
        "gates_passed": [shorten(gate.name, NAME) for gate in passed[:_LISTED]],
        "more_gates_passed": max(0, len(passed) - _LISTED) or None,
        "gates_undecided": len(skipped) or None,
    }


def worst_of(view: RunView, width: int, most: int = WORST) -> dict[str, Any]:
    """Return what is wrong: the errors of a red run, the ``most`` worst samples with the reasons.

    Of samples that could not be judged for one and the same reason only the first is there, with
    the number of those ``alike``. Last, how many more failed. Of a run that is not red the worst
    are those that could be better.
    """
    found = WhatIsWrong(view)
    errors = [cut(error, width) for error in found.errors[:WORST]] or None
    if not view.result.is_red:
        best = view.result.info.weighted_range[1]
        low = view.worst(lambda sample: could_be_better(sample, best))[:most]
        return {"errors": errors, "worst": [row_of(sample, view, width) for sample in low]}
    answers = found.answers[:most]
    shown = sum(is_bad(answer.sample) + answer.alike for answer in answers)
    return {
        "errors": errors,
        "more_errors": len(found.errors[WORST:]) or None,
        "worst": [_row_of_answer(answer, width) for answer in answers],
        "more_failed": max(0, sum(map(is_bad, view.result.samples)) - shown) or None,
    }


def _row_of_answer(answer: WrongAnswer, width: int) -> dict[str, Any]:
    return {
        **_head_of(answer.sample, width),
        "why": [cut(reason, width) for reason in answer.missed[:WORST]],
        "alike": answer.alike or None,
    }


def could_be_better(sample: SampleResult, best: float) -> bool:
    """Return whether a sample failed, could not be judged, or is below the ``best`` score."""
    score = sample.weighted_score
    is_below = sample.outcome != "skipped" and is_scored(score) and score < best - TOLERANCE
    return is_below or is_bad(sample)


def row_of(sample: SampleResult, view: RunView, width: int) -> dict[str, Any]:
    """Return a sample in short, with what it misses."""
    reasons = [cut(reason, width) for reason in why(sample, view)[:WORST]]
    return {**_head_of(sample, width), "why": reasons}


def _head_of(sample: SampleResult, width: int) -> dict[str, Any]:
    return {
        "id": cut(sample.sample_id, NAME),
        "outcome": sample.outcome,
        "weighted_score": rounded(sample.weighted_score),
        "question": cut(sample.question, min(width, _QUESTION)),
        **cause_of(sample, width),
    }


def cause_of(sample: SampleResult, width: int) -> dict[str, str | None]:
    """Return why an answer is low and by what that is known; None where there is no cause."""
    reason = None if sample.cause is None else cut(sample.cause_reason, width)
    return {"cause": sample.cause, "cause_reason": reason}


def why(sample: SampleResult, view: RunView) -> list[str]:
    """Return what is wrong with a sample: errors, missed thresholds, else its lowest score."""
    is_to_be_low = sample.outcome in ("skipped", "xfailed")
    return view.why(sample) or ([] if is_to_be_low else lowest(view.result, sample))
