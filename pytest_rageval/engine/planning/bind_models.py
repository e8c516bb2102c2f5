"""The models of a scenario: who judges, who embeds, and whether they can be asked at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_rageval.clients.settings import ClientSettings, Price
from pytest_rageval.engine.bound import BoundMetric, ModelPlan
from pytest_rageval.engine.planning.binding import Binding, carried_over
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.import_path import find_file
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.model_specs import EmbeddingSpec, ModelSpec

if TYPE_CHECKING:
    from pytest_rageval.run_paths import ImportMode


def bind_models(binding: Binding, metrics: Sequence[BoundMetric]) -> ModelPlan:
    """Return the models that the metrics ask; what is missing or wrong with them is a problem."""
    scenario = binding.scenario
    asked = {role for metric in metrics for role in metric.info.asks}
    for metric in metrics:
        for role in sorted(metric.info.asks):
            if getattr(scenario, role) is None and not binding.loaded.has(role):
                hint = "for instance 'judge: gpt-4o-mini'" if role == "judge" else _EMBEDDING_HINT
                message = f"metric {metric.column.name!r} asks a model: name it under '{role}'"
                message = f"{message}, {hint}{binding.loaded.tree.hint(role)}"
                binding.problem(message, "metrics", metric.position)
    judge, embedding = scenario.judge, scenario.embedding
    plan = ModelPlan(
        judge=_settings("judge", judge) if judge is not None and "judge" in asked else None,
        embedding=_embedding_settings(embedding, binding)
        if embedding is not None and "embedding" in asked
        else None,
        language=judge.language if judge is not None else "auto",
        repeats=judge.repeats if judge is not None and asked else 1,
    )
    for role in ("judge", "embedding"):
        if getattr(scenario, role) is not None and role not in asked:
            binding.warnings.append(f"{role} is not used: no metric of this scenario asks it")
    _check(binding, plan)
    return plan


_EMBEDDING_HINT = "for instance 'embedding: text-embedding-3-small'"


def _check(binding: Binding, plan: ModelPlan) -> None:
    if plan.judge is None and plan.embedding is None:
        return
    # Not at the top: a scenario without a judge need not load what asks one.
    from pytest_rageval.clients.clients import check_chat, check_embedding

    checks = (("judge", plan.judge, check_chat), ("embedding", plan.embedding, check_embedding))
    for role, settings, check in checks:
        if settings is None:
            continue
        try:
            problems = check(settings, binding.run)
        except UnknownNameError as error:
            problems = [f"provider: {error}"]
        except MissingExtraError as error:
            problems = [str(error)]
        for problem in problems:
            field = problem.partition(":")[0]
            binding.problem(f"{role}.{problem}", role, field)


def _embedding_settings(spec: EmbeddingSpec, binding: Binding) -> ClientSettings:
    made = _settings("embedding", spec)
    if spec.provider.lower() not in _IMPORTED:
        return made  # one client for all folders, with its limits
    run_paths = binding.run_paths
    folders = (binding.loaded.path.parent, run_paths.root)
    source = source_digest(made.model, folders, run_paths.import_mode)
    return replace(made, folders=folders, import_mode=run_paths.import_mode, source_sha256=source)


_IMPORTED = ("python", "callable")
"""The provider whose models are functions of the user's, by its names."""


def _settings(role: str, spec: ModelSpec) -> ClientSettings:
    price = None if spec.price is None else Price(spec.price.input, spec.price.output)
    return carried_over(spec, ClientSettings, role=role, api_key_env=spec.key_variable, price=price)


_SEEN: dict[Path, str] = {}


def source_digest(path: str, folders: Sequence[Path], mode: ImportMode) -> str:
    """Return the SHA-256 of the file that ``pkg.mod:attr`` names, "" where there is none.

    Nothing is imported, and what that file imports is not part of the digest. For a loaded module
    it is that of the file as first seen: a notebook goes on with that code when the file changes.
    """
    name = path.partition(":")[0]
    file = find_file(name, folders, mode)
    if file is None:
        return ""
    if name not in sys.modules or file not in _SEEN:
        _SEEN[file] = _digest(file)
    return _SEEN[file]


def _digest(file: Path) -> str:
    try:
        raw = file.read_bytes()
    except OSError:  # of a module in an archive
        return ""
    return sha256(raw.replace(b"\r\n", b"\n")).hexdigest()
