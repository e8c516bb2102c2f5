"""[A24, E20] What the page writes above the variants of a file holds for each of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_rageval.run_paths import RunPaths
from pytest_rageval.scenario.loader import inspect_scenario
from pytest_rageval.serving.project import FoundScenarios, Outline, Project, ScenarioEntry
from pytest_rageval.serving.web.app_service import AppService
from pytest_rageval.serving.web.refusals import Refused

HEAD = "name: s\ndataset: r.jsonl\nmetrics: [em, f1]\n"
EM = {"metric_weights": {"em": 3}}
LEAST = {"thresholds": {"f1": {"min": 0.9}}}
MEAN = {"gates": [[["f1"], 0.8]]}


@dataclass(frozen=True)
class Files(Project):
    """A project with one scenario, which is read without pytest."""

    figures: Any = None

    async def scenarios(self) -> FoundScenarios:
        path = self.folder / "s.rageval.yaml"
        names = tuple(filter(None, self.figures))
        return FoundScenarios([ScenarioEntry(path, path.name, "s", None, None, names)], None, path)

    async def outline(self, scenario: ScenarioEntry) -> Outline:
        return Outline(self.figures)


def outline(gates: dict[str, Any]) -> dict[str, Any]:
    metrics = [
        {"name": name, "weight": 1.0, "threshold": None, "higher_is_better": True}
        for name in ("em", "f1")
    ]
    empty: dict[str, Any] = {
        "compare": [],
        "asks": [],
        "warnings": [],
        "groups": [],
        "overridden": [],
    }
    counts = {"name": "s", "output_dir": None, "samples": 1, "invalid": 0}
    documents: dict[str, Any] = {"doc_weights": {}, "docs": {"a.pdf": 1}}
    rest = {"weighted_threshold": None, "gates": gates}
    return {"metrics": metrics, **empty, **counts, **documents, **rest}


def write(folder: Path, text: str, body: dict[str, Any], gates: dict[str, Any]) -> list[Any]:
    """Write the changes; return the scenario of each variant as it is then."""
    path = folder / "s.rageval.yaml"
    path.write_text(f"{HEAD}{text}", "utf-8")
    (folder / "r.jsonl").write_text('{"answer": "a", "references": ["a"], "doc_name": "a.pdf"}\n')
    names = inspect_scenario(path)[0].variants or ("",)
    figures = {name: {**outline(gates), "variant": name} for name in names}
    project = Files("python", folder, (), RunPaths(folder), figures=figures)

    async def written() -> None:
        service = AppService(project)
        [entry] = await service.entries()
        read = await service.scenario(entry.id)
        await service.write(entry.id, {**body, "digest": read["digest"]})

    asyncio.run(written())
    return [inspect_scenario(path, variant=name)[0].scenario for name in names]


@pytest.mark.parametrize(
    ("text", "body", "gates"),
    [
        ("", EM, {}),
        ("variants: {a: {}, b: }\n", EM, {}),
        ("variants: {a: {metric_weights: {f1: 2}}, b: {}}\n", EM, {}),
        ("variants: {a: {metric_weights: {f1: 1}}, b: {metric_weights: {f1: 1}}}\n", EM, {}),
        ("variants: {a: {thresholds: {em: 0.5}}, b: {gates: {}}}\n", LEAST, {}),
        ("variants: {a: {thresholds: {exact_match: 0.5}}, b: {}}\n", LEAST, {}),
        ("variants: {a: {gates: {f1: 0.5}}, b: {dataset: r.jsonl}}\n", LEAST, {}),
        ("variants: {a: {gates: {em: 0.5}}, b: {gates: {em: 0.5}}}\n", MEAN, {"em": 0.5}),
        (
            "variants: {a: {gates: {f1: {lower_bound: 0.1}}}}\n",
            MEAN,
            {"f1": {"lower_bound": 0.1}},
        ),
        ("doc_weights: {a.pdf: 2}\nvariants: {a: {doc_weights: {b.pdf: 3}}, b: {}}\n", EM, {}),
        ("x-old: {thresholds: {f1: 0.5}}\nvariants: {a: {}, b: {}}\n", LEAST, {}),
    ],
)
def test_settings_are_written_where_no_variant_says_them(
    tmp_path: Path, text: str, body: dict[str, Any], gates: dict[str, Any]
) -> None:
    for scenario in write(tmp_path, text, body, gates):
        if body is EM:
            assert scenario.metric_weights["em"] == 3.0
        elif body is LEAST:
            assert scenario.thresholds["f1"].value == 0.9
        else:
            f1 = scenario.gates["f1"]
            assert (f1["mean"] if isinstance(f1, dict) else f1) == 0.8


@pytest.mark.parametrize(
    ("text", "body", "message"),
    [
        (
            "variants: {a: {metric_weights: {em: 1}}, b: {metric_weights: {em: 1}}}\n",
            EM,
            "metric_weights.em: written in variants (a, b), where it would stay as it is: "
            "change it there, in the file",
        ),
        ("variants: {a: {metric_weights: {em: 1}}, b: {}}\n", EM, "metric_weights.em: "),
        ("variants: {a: {}, b: {thresholds: {f1: 0.5}}}\n", LEAST, "thresholds.f1: "),
        ("variants: {a: {}, b: {thresholds: {f1: {min: 0.5}}}}\n", LEAST, "thresholds.f1: "),
        ("thresholds: {f1: 0.5}\nvariants: {a: {thresholds: null}, b: {}}\n", LEAST, "thresholds."),
        ("variants: {a: {gates: {f1: 0.5}}, b: {gates: {f1: 0.5}}}\n", MEAN, "gates.f1: "),
        (
            "variants: {a: {gates: {f1: 0.5}}}\n",
            {"gates": [[["f1"], None]]},
            "gates.f1: written in variants (a)",
        ),
    ],
)
def test_what_a_variant_says_itself_is_changed_in_the_file(
    tmp_path: Path, text: str, body: dict[str, Any], message: str
) -> None:
    """It was written above, said to be, and had no effect: a higher bound judged nothing."""
    with pytest.raises(Refused) as caught:
        write(tmp_path, text, body, {"f1": 0.5} if "gates" in body else {})
    assert str(caught.value).startswith(message)
    assert (tmp_path / "s.rageval.yaml").read_text("utf-8") == f"{HEAD}{text}"
