"""A9, B11: the names that others rely on."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_rageval


def test_every_public_name_can_be_had() -> None:
    """A9."""
    for name in pytest_rageval.__all__:
        assert getattr(pytest_rageval, name) is not None
    assert {
        "evaluate",
        "compute_weighted_score",
        "weighted_metric_means",
        "resolve_weight",
        "Sample",
        "Score",
    } <= set(dir(pytest_rageval))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'evaluat'"):
        pytest_rageval.evaluat  # noqa: B018


def test_importing_the_package_loads_nothing_heavy() -> None:
    """E13: the plugin is imported by every pytest of the environment."""
    heavy = {"pydantic", "yaml", "numpy", "rouge_score", "scipy", "pyarrow", "openpyxl", "jieba"}
    code = "import sys, pytest_rageval; print(*sorted(m.partition('.')[0] for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pytest_rageval" in done.stdout.split()
    assert heavy.isdisjoint(done.stdout.split())
