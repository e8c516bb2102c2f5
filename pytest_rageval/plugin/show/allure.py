"""Reports gates to allure, which otherwise sees only pytest's items.

https://github.com/allure-framework/allure-python
"""

from __future__ import annotations

import hashlib
import time
import uuid
from pathlib import PurePosixPath
from typing import Any

import pytest


def without_allure(config: pytest.Config, hook: str) -> Any:
    """Return the caller of a hook that leaves out allure, for which a gate is no test."""
    manager = config.pluginmanager
    allure = manager.get_plugin("allure_listener")
    return manager.subset_hook_caller(hook, [] if allure is None else [allure])


def report_to_allure(config: pytest.Config, report: pytest.TestReport, message: str) -> None:
    """Have allure write the report of a gate, if allure is active (``--alluredir``).

    It belongs to the suite of the scenario's cases; its id is made from the node id, as theirs.
    """
    if not config.pluginmanager.has_plugin("allure_listener"):
        return
    import allure_commons
    from allure_commons.model2 import Label, StatusDetails, TestResult

    path, _, name = report.nodeid.partition("::")
    *folders, file = PurePosixPath(path).parts
    suite = file.rpartition(".")[0]
    package = ".".join([*folders, suite])
    full_name = f"{package}#{name}"
    digest = hashlib.md5(full_name.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    labels = {
        "parentSuite": ".".join(folders),
        "suite": suite,
        "package": package,
        "framework": "pytest",
    }
    now = int(1000 * time.time())
    result = TestResult(
        uuid=str(uuid.uuid4()),
        name=name,
        fullName=full_name,
        historyId=digest,
        testCaseId=digest,
        status=report.outcome,
        statusDetails=StatusDetails(message=message, trace=report.longreprtext),
        labels=[Label(label, value) for label, value in labels.items() if value],
        start=now,
        stop=now,
    )
    allure_commons.plugin_manager.hook.report_result(result=result)
