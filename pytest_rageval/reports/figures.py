"""Formats figures for reports and the terminal: four decimals, or a dash for a missing one."""

from __future__ import annotations


def figure(value: float | None) -> str:
    """Return a score, a mean, or a dash.

    >>> figure(0.75), figure(None)
    ('0.7500', '-')
    """
    return "-" if value is None else f"{value:.4f}"


def change(value: float | None) -> str:
    """Return a difference with its sign, or a dash.

    >>> change(0.75), change(-0.75), change(None)
    ('+0.7500', '-0.7500', '-')
    """
    return "-" if value is None else f"{value:+.4f}"


def interval(low: float | None, high: float | None) -> str:
    """Return the two ends of an interval, or a dash.

    >>> interval(0.25, 0.75), interval(None, None)
    ('0.2500..0.7500', '-')
    """
    return "-" if low is None or high is None else f"{figure(low)}..{figure(high)}"


def change_interval(low: float | None, high: float | None) -> str:
    """Return the two ends of the interval of a difference with their signs, or a dash.

    >>> change_interval(-0.25, 0.75)
    '-0.2500..+0.7500'
    """
    return "-" if low is None or high is None else f"{change(low)}..{change(high)}"
