"""Binds a scenario and scores its cases; prints the microseconds of CPU a row that each takes."""

from __future__ import annotations

import gc
import sys
import time
from pathlib import Path

from pytest_rageval.engine.evaluate import run_case
from pytest_rageval.engine.planning.plan_scenario import make_plan
from pytest_rageval.engine.scoring.warm_up import warm_up


def main(path: Path) -> None:
    """Bind twice: the first time loads the modules."""
    gc.disable()  # as a run does while it loads
    make_plan(path)
    began = time.process_time()
    plan = make_plan(path)
    bound = time.process_time()
    warm_up(plan, plan.cases[0])
    warm = time.process_time()
    for case in plan.cases:
        run_case(plan, case)
    scored = time.process_time()
    for name, took_s in (("load and bind", bound - began), ("scoring", scored - warm)):
        sys.stdout.write(f"{name} {took_s / len(plan.cases) * 1e6:.2f}\n")


main(Path(sys.argv[1]))
