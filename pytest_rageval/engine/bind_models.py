"""The models of a scenario: who judges, who embeds, and whether they can be asked at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_rageval.clients.settings import ClientSettings, Price
from pytest_rageval.clients.source_digest import source_digest
from pytest_rageval.engine.binding import Binding, BoundMetric
from pytest_rageval.errors import MissingExtraError
from pytest_rageval.registry import UnknownNameError
from pytest_rageval.scenario.model_specs import EmbeddingSpec, JudgeSpec, ModelSpec


@dataclass(frozen=True, slots=True)
class ModelPlan:
    """The models that the metrics of a scenario ask; None where none of them asks it."""

    judge: ClientSettings | None = None
    embedding: ClientSettings | None = None
    language: str = "auto"
    repeats: int = 1

    @property
    def concurrency(self) -> int:
        """How many calls may be in flight at once, over all processes of a run."""
        asked = (self.judge, self.embedding)
        return max((model.concurrency for model in asked if model is not None), default=1)


def bind_models(binding: Binding, metrics: Sequence[BoundMetric]) -> ModelPlan:
    """Return the models that the metrics ask; what is missing or wrong with them is a problem."""
    scenario = binding.scenario
    asked = {role for metric in metrics for role in metric.info.asks}
    for metric in metrics:
        for role in sorted(metric.info.asks):
            if getattr(scenario, role) is None and not binding.loaded.tree.has((role,)):
                hint = "for instance 'judge: gpt-4o-mini'" if role == "judge" else _EMBEDDING_HINT
                message = f"metric {metric.column.name!r} asks a model: name it under '{role}'"
                binding.problem(f"{message}, {hint}", "metrics", metric.position)
    judge, embedding = scenario.judge, scenario.embedding
    plan = ModelPlan(
        judge=_judge_settings(judge) if judge is not None and "judge" in asked else None,
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
    from pytest_rageval.clients.stack import check_chat, check_embedding

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


def _judge_settings(spec: JudgeSpec) -> ClientSettings:
    return ClientSettings(
        role="judge",
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
        seed=spec.seed,
        form=spec.form,
        reasks=spec.reasks,
        **_common(spec),
    )


def _embedding_settings(spec: EmbeddingSpec, binding: Binding) -> ClientSettings:
    made = ClientSettings(role="embedding", batch_size=spec.batch_size, **_common(spec))
    if spec.provider.lower() not in _IMPORTED:
        return made  # one client for all folders, with its limits
    places = binding.places
    folders = (binding.loaded.path.parent, places.root)
    source = source_digest(made.model, folders, places.import_mode)
    return replace(made, folders=folders, import_mode=places.import_mode, source_sha256=source)


_IMPORTED = ("python", "callable")
"""The provider whose models are functions of the user's, by its names."""


def _common(spec: ModelSpec) -> dict[str, Any]:
    price = spec.price
    return {
        "model": spec.model,
        "provider": spec.provider,
        "base_url": spec.base_url,
        "api_key_env": spec.key_variable,
        "headers": spec.headers,
        "extra_body": spec.extra_body,
        "concurrency": spec.concurrency,
        "rpm": spec.rpm,
        "tpm": spec.tpm,
        "timeout_s": spec.timeout_s,
        "retries": spec.retries,
        "max_wait_s": spec.max_wait_s,
        "price": Price(price.input, price.output) if price is not None else None,
    }
