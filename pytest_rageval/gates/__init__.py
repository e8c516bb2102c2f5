"""Verdicts over a whole scenario. A module of this folder that defines GATES adds a gate.

``NAMES`` lists what its modules define: a run is spared those whose names it does not use. A
module that is not listed is always loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "agreement": ("agreement",),
    "bound": ("lower_bound", "quantile"),
    "confidence": ("aurc", "selective"),
    "early_regression": (),
    "invalid": ("invalid",),
    "mean": ("fail_under", "mean"),
    "no_regression": ("compare_fail", "no_regression"),
    "pass_rate": ("pass_rate",),
    "regression": (),
    "slices": ("by",),
    "unscored": ("unscored",),
    "worst_samples": (),
}
