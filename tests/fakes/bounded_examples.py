"""Settings of Hypothesis for all properties: few examples, the same each time, and no clock."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "rageval",
    max_examples=int(os.environ.get("PROPERTY_EXAMPLES", "15")),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("rageval")
