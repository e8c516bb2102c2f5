"""``badge.svg``: the weighted score as a small picture, for a README or a dashboard."""

from __future__ import annotations

import re
import unicodedata
from html import escape

from pytest_rageval.errors import shorten
from pytest_rageval.model import WEIGHTED_SCORE, RunInfo, ScenarioResult
from pytest_rageval.reports.base import Report, RunFolder
from pytest_rageval.stats.caveats import band_of
from pytest_rageval.text.printable import one_line

_NO_SCORE = "no score"
# White text on each has a contrast of at least 4.5 (WCAG 2.1, level AA).
_COLOURS = {"good": "#1a7f37", "warn": "#9a6700", "bad": "#cf222e", _NO_SCORE: "#57606a"}
_LABEL_COLOUR = "#30363d"
_LABEL_WIDTH = 40
# What XML cannot hold: control characters, lone surrogates. It compiles faster than what it equals:
# [^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff].
_NOT_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

# In pixels. The text is fitted to these widths in any font.
_HEIGHT = 20
_BASELINE = 14
_PADDING = 6
_SLIM_LETTERS = frozenset("fijlrtI.,:;'|!()[] ")
_SLIM = 4
_NARROW = 7
_WIDE = 11

_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" role="img" aria-label="{title}">
<title>{title}</title>
<rect width="{width}" height="{height}" rx="3" fill="{colour}"/>
<path d="M3 0h{flat}v{height}H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="{label_colour}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Noto Sans CJK SC,sans-serif" font-size="11" \
aria-hidden="true">
<text x="{label_x}" y="{baseline}" textLength="{label_length}">{label}</text>
<text x="{value_x}" y="{baseline}" textLength="{value_length}">{value}</text>
</g>
</svg>
"""


def badge_svg(result: ScenarioResult) -> str:
    """Return the badge: the scenario's name and its weighted score, in the colour of its band.

    It says if the run is partial, sampled, or lacks scores. A red run of which scores failed, or
    samples are an ERROR, is grey, unless those that are left are bad, too. It fetches no font,
    style or script.
    """
    drawable = _NOT_XML.sub("\ufffd", result.info.title)
    label = shorten(one_line(drawable), _LABEL_WIDTH)
    value, mean = _value(result), _mean(result)
    band = band_of(result, WEIGHTED_SCORE, mean)
    lost = result.weighted_score.failed or result.counts.error
    if lost and result.is_red and band != "bad":
        band = None
    title = f"{label}: {value}" if band is None else f"{label}: weighted score {value} ({band})"
    label_length, value_length = _length(label), _length(value)
    label_width = label_length + 2 * _PADDING
    return _SVG.format(
        width=label_width + value_length + 2 * _PADDING,
        height=_HEIGHT,
        baseline=_BASELINE,
        flat=label_width - 3,
        title=escape(title),
        colour=_COLOURS[band or _NO_SCORE],
        label_colour=_LABEL_COLOUR,
        label=escape(label),
        label_x=_PADDING,
        label_length=label_length,
        value=escape(value),
        value_x=label_width + _PADDING,
        value_length=value_length,
    )


def _mean(result: ScenarioResult) -> float | None:
    """Return the mean over all rows, estimated where only a sample of them was asked."""
    estimate = result.estimates.get(WEIGHTED_SCORE)
    return result.weighted_score.mean if estimate is None else estimate.mean


def _value(result: ScenarioResult) -> str:
    mean, found = _mean(result), result.weighted_score
    parts = [_NO_SCORE if mean is None else f"{mean:.4f}"]
    counts, sample = result.counts, result.info.sample
    if not result.complete:
        parts.append(f"{counts.ran} of {counts.samples}")
    elif sample is not None:
        parts.append(f"sampled {len(sample.drawn)} of {sample.rows}")
    if found.n and found.unscored:
        parts.append(f"{found.n} of {found.n + found.unscored} scored")
    return ", ".join(parts)


def _length(text: str) -> int:
    """Return about how many pixels ``text`` takes; Chinese characters are square."""
    return max(1, sum(_width(character) for character in text))


def _width(character: str) -> int:
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDE
    return _SLIM if character in _SLIM_LETTERS else _NARROW


def _write(result: ScenarioResult, run: RunInfo, folder: RunFolder) -> None:
    folder.put("badge.svg", [badge_svg(result)])


REPORTS = (Report("badge.svg", _write, aliases=("badge",), on_request=True),)
