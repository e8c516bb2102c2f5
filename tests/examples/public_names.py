"""Lists the names that others may build on: ``python tests/examples/public_names.py``.

A line is a kind and a name. ``tests/kept/public_names.txt`` has those of this version, so that
none comes or goes unseen, and ``tests/kept/0.1.0`` those of the version before. How each kind may
change is on ``docs/reference/promises.md``.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import pytest

import pytest_rageval
from pytest_rageval import evaluate
from pytest_rageval.clients.base import CHAT_REGISTRY, EMBEDDING_REGISTRY
from pytest_rageval.datasets.base import READER_REGISTRY
from pytest_rageval.executors.base import EXECUTOR_REGISTRY
from pytest_rageval.gates.base import GATE_REGISTRY
from pytest_rageval.metrics.base import METRIC_REGISTRY
from pytest_rageval.plugin import hookspecs
from pytest_rageval.questions.documents.base import FORMAT_REGISTRY
from pytest_rageval.reports.base import REPORT_REGISTRY
from pytest_rageval.targets.base import TARGET_REGISTRY

ROOT: Final = Path(__file__).parents[2]
LIST: Final = ROOT / "tests" / "kept" / "public_names.txt"
COMMAND: Final = "python tests/examples/public_names.py"
SUBMODULES: Final = {
    "importing.templates": ("as_json_text", "as_text"),  # modules that --rag-import wrote use them
    "metrics.base": ("NoOptions", "ScoringContext"),
    "metrics.dbgpt": ("EvaluationResult", "LLMEvaluationMetric", "RetrieverEvaluationMetric"),
    "stats.permutation": ("paired_permutation_test",),
}
"""What is public besides the names of the package itself."""

REGISTRIES: Final = {
    "document format": FORMAT_REGISTRY,
    "embedding provider": EMBEDDING_REGISTRY,
    "judge provider": CHAT_REGISTRY,
    "engine": EXECUTOR_REGISTRY,
    "format": READER_REGISTRY,
    "gate": GATE_REGISTRY,
    "metric": METRIC_REGISTRY,
    "report": REPORT_REGISTRY,
    "target": TARGET_REGISTRY,
}
MADE_BY_USERS: Final = {
    *("GateResult", "Message", "MetricDefinition", "MetricInfo", "RunSettings", "Sample", "Score")
}
"""Classes that are called, and not only received: what these pages tell of them is public."""
DOCS: Final = ROOT / "docs"
ABOUT_CLASSES: Final = (
    *(DOCS / "reference" / f"{name}.md" for name in ("hooks", "python", "scenario-file")),
    DOCS / "how-to" / "custom-metrics.md",
)
EXAMPLE: Final = ROOT / "examples" / "quickstart" / "quickstart.rageval.yaml"
FILES_PAGE: Final = DOCS / "reference" / "files.md"


def main() -> None:
    """Write the list of this version."""
    LIST.write_text("".join(f"{line}\n" for line in public_names()), encoding="utf-8")


def public_names() -> list[str]:
    """Return every line, sorted."""
    named = (f"{kind} {name}" for kind, found in _kinds().items() for name in found)
    return sorted(set(named))


def _kinds() -> dict[str, Iterable[str]]:
    printed = _printed("--help")
    return {
        "import": _imports(),
        "option": re.findall(r"^ +(--rag-[a-z-]+)", printed, re.MULTILINE),
        "ini": re.findall(r"^ +(rageval_\w+)", printed, re.MULTILINE),
        "hook": _hooks(),
        "mark": re.findall(r"^@pytest.mark.(rag_\w+)", _printed("--markers"), re.MULTILINE),
        "fixture": _fixtures(),
        "key": _keys(json.loads(_printed("--rag-schema"))),
        **{kind: registry.names() for kind, registry in REGISTRIES.items()},
        "metric option": (
            f"{entry.name}.{option}"
            for entry in METRIC_REGISTRY
            for option in entry.options.model_fields
        ),
        "file": _files(),
    }


def _imports() -> Iterator[str]:
    """Yield names, and for what users call ``NAME(PARAMETER)``."""
    for name in pytest_rageval.__all__:
        yield from _with_parameters(name, getattr(pytest_rageval, name))
    for module, names in SUBMODULES.items():
        for name in names:
            value = getattr(import_module(f"pytest_rageval.{module}"), name)
            yield from _with_parameters(f"{module}.{name}", value)


def _hooks() -> Iterator[str]:
    for name, hook in vars(hookspecs).items():
        if name.startswith("pytest_"):
            yield from _with_parameters(name, hook)


def _fixtures() -> list[str]:
    with tempfile.TemporaryDirectory() as empty:
        printed = _printed("--fixtures", empty)
    return re.findall(r"^(\w+) -- .*pytest_rageval", printed, re.MULTILINE)


def _with_parameters(name: str, value: Any) -> Iterator[str]:
    yield name
    if inspect.isfunction(value):
        yield from (f"{name}({parameter})" for parameter in inspect.signature(value).parameters)
    elif name in MADE_BY_USERS:
        told = set(
            re.findall(r"`(\w+)`", "".join(page.read_text("utf-8") for page in ABOUT_CLASSES))
        )
        fields = told.intersection(inspect.signature(value).parameters)
        yield from (f"{name}({field})" for field in fields)


def _keys(schema: Any) -> Iterator[str]:
    """Yield the keys of a scenario, and below ``KIND.`` those of each mapping in it."""
    yield from schema["properties"]
    for kind, part in schema["$defs"].items():
        if kind.endswith("Spec"):
            below = kind.removesuffix("Spec").lower()
            yield from (f"{below}.{key}" for key in _keys_in(part))


def _keys_in(schema: Any) -> Iterator[str]:
    """Yield the keys of a mapping, in whichever of its forms."""
    if isinstance(schema, dict):
        yield from schema.get("properties", ())
        for name in ("anyOf", "oneOf", "allOf", "then", "else"):
            yield from _keys_in(schema.get(name))
    elif isinstance(schema, list):
        for form in schema:
            yield from _keys_in(form)


def _files() -> Iterator[str]:
    """Yield the files of a run, the columns of tables, and the keys that the page of files names.

    That ``results.json`` has these keys and no others is tested with that page.
    """
    with tempfile.TemporaryDirectory() as folder:
        evaluate(EXAMPLE, write_to=folder, reports=["html", "badge", "dbgpt"])
        for path in Path(folder).rglob("*.*"):
            if path.is_file() and not path.is_symlink():
                yield path.name
                columns = path.read_text("utf-8-sig").splitlines()[0].split(",")
                yield from (f"{path.name}: {name}" for name in columns if path.suffix == ".csv")
    for section in re.split("^## ", FILES_PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        for cells in re.findall(r"^\| ((?:`[\w.<>]+`(?:, )?)+) \|", section, re.MULTILINE):
            heading = section.partition("\n")[0]
            yield from (f"{heading}: {name}" for name in re.findall(r"[\w.<>]+", cells))


def _printed(*options: str) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        pytest.main([*options, "-p", "no:cacheprovider", "-c", os.devnull])
    return printed.getvalue()


if __name__ == "__main__":
    main()
