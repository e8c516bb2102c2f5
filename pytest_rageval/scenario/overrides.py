"""Values from the command line that replace values of the scenario file, without editing it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_rageval.errors import OptionError, Problem, ScenarioError, shorten
from pytest_rageval.scenario.targets import named_target
from pytest_rageval.scenario.yaml_tree import YamlPath, YamlTree, parse_yaml

NameOf = Callable[[str], str]
"""Returns what results call a metric that is written so; other names come back as they are."""

_STEP = r'(?:"(?:[^"\\]|\\.)*"|[^."]+)'
_PATH = re.compile(rf"{_STEP}(?:\.{_STEP})*")


SHORT_FORMS = {"judge": "model", "embedding": "model", "compare": "baseline", "corpus": "path"}
"""What a bare text under these keys is, as the schema has it."""


@dataclass(frozen=True, slots=True)
class Override:
    """``value`` goes to ``path`` of the scenario; ``flag`` is how the user wrote it.

    With ``only_present``, it goes nowhere in a scenario that says nothing about ``path[0]``.
    """

    path: tuple[str, ...]
    value: Any
    flag: str
    only_present: bool = False

    def apply(self, tree: YamlTree, name_of: NameOf = str) -> str | None:
        """Put the value into the tree and return the dotted name of what was overridden."""
        if self.only_present and not isinstance(tree.data.get(self.path[0]), str | dict):
            return None
        _make_room(tree, self.path, self.value)
        steps = _list_index(tree, as_named(tree.data, self.path, name_of))
        # A number for a gate with several checks means its mean.
        if steps[0] == "gates" and tree.has((*steps, "mean")) and not isinstance(self.value, dict):
            steps = (*steps, "mean")
        _widen_mean(tree, steps)
        try:
            tree.put(steps, self.value, origin=self.flag)
        except LookupError as error:
            raise ScenarioError([Problem(self.flag, str(error))]) from error
        return ".".join(str(step) for step in steps)


def as_named(data: Any, path: tuple[str, ...], name_of: NameOf) -> tuple[str, ...]:
    """Return ``path`` with its metric under the name by which ``data`` have it there already."""
    at = _metric_step(path)
    section = _found(data, path[:at]) if at else None
    names = _given_names(data)
    if not at or not isinstance(section, dict) or path[at] in section or path[at] in names:
        return path
    wanted = name_of(path[at])
    for key in section:
        if key not in names and name_of(key) == wanted:
            return (*path[:at], key, *path[at + 1 :])
    return path


def is_metric_gate(path: YamlPath) -> bool:
    """Return whether the checks of a metric stand at ``path``, if it names a metric."""
    is_gate = path[:1] == ("gates",) and path[1:2] != ("compare_fail",)
    return is_gate and 0 < _metric_step(path) == len(path) - 1


def _metric_step(path: YamlPath) -> int:
    """Return where ``path`` names a metric, if it does; 0 where it cannot."""
    match path:
        case ("gates", "by", *_):
            at = 3
        case ("gates", "compare_fail", *_):
            at = 2
        case ("gates" | "metric_weights" | "thresholds", *_):
            at = 1
        case _:
            at = 0
    return at if at < len(path) else 0


def _given_names(data: Any) -> set[Any]:
    """Return the names that the scenario itself gives to metrics: these mean no other metric."""
    metrics = data.get("metrics")
    given = [one for one in metrics if isinstance(one, dict)] if isinstance(metrics, list) else []
    given += [options for one in given for options in one.values() if isinstance(options, dict)]
    return {name for one in given if isinstance(name := one.get("name"), str)}


def _make_room(tree: YamlTree, path: tuple[str, ...], value: Any) -> None:
    """Widen the short forms that stand where ``path`` leads through."""
    if path[0] == "dataset" and len(path) > 1:
        widen_dataset(tree)
    short = SHORT_FORMS.get(path[0])
    if short and len(path) > 1 and isinstance(tree.data.get(path[0]), str):
        tree.data[path[0]] = {short: tree.data[path[0]]}
    if path[0] == "target" and len(path) > 1 and isinstance(tree.data.get("target"), str):
        tree.data["target"] = named_target(tree.data["target"])
    if path == ("compare", "baseline"):
        _widen_compare(tree)
    if path == ("judge", "model") and _is_profile(tree, value):
        _take_profile(tree, value)


def _is_profile(tree: YamlTree, name: Any) -> bool:
    models = tree.data.get("models")
    return isinstance(models, dict) and isinstance(name, str) and name in models


def _take_profile(tree: YamlTree, name: str) -> None:
    """Let the profile say which model is asked, where and with which key; the rest stays."""
    judge = tree.data.get("judge")
    own = judge if isinstance(judge, dict) else {}
    identity = ("profile", "model", "provider", "base_url", "api_key_env", "headers", "price")
    of_profile = tree.data["models"][name]
    taken = {*identity, *(of_profile if isinstance(of_profile, dict) else ())}
    tree.data["judge"] = {key: value for key, value in own.items() if key not in taken}


def _widen_mean(tree: YamlTree, path: YamlPath) -> None:
    """Make room for a check: a number, or ``{min: 0.5}``, is short for one of the mean."""
    at = _metric_step(path)
    if path[at + 1 :] and is_metric_gate(path[: at + 1]) and path[at + 1] not in ("min", "max"):
        gate = _found(tree.data, path[: at + 1])
        is_bound = isinstance(gate, dict) and gate.keys() and gate.keys() <= {"min", "max"}
        if isinstance(gate, int | float) or is_bound:
            _found(tree.data, path[:at])[path[at]] = {"mean": gate}


def _found(data: Any, path: YamlPath) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def _widen_compare(tree: YamlTree) -> None:
    """Make room for another baseline: out with the one that ``compare`` names so far."""
    compare = tree.data.get("compare")
    kept = compare if isinstance(compare, dict) else {}
    tree.data["compare"] = {key: value for key, value in kept.items() if key != "run_old_path"}


def widen_dataset(tree: YamlTree) -> None:
    """Turn the short form of ``dataset``, a path or a list of rows, into a mapping."""
    dataset = tree.data.get("dataset")
    if not isinstance(dataset, dict):
        tree.data["dataset"] = {"rows" if isinstance(dataset, list) else "path": dataset}


def _list_index(tree: YamlTree, path: tuple[str, ...]) -> YamlPath:
    """Turn the digits of ``path`` into positions where the tree has a list."""
    steps: YamlPath = ()
    found = tree.data
    for step in path:
        position = int(step) if isinstance(found, list) and step.isdecimal() else step
        steps = (*steps, position)
        try:
            found = found[position]
        except (LookupError, TypeError):
            found = None
    return steps


def parse_assignment(flag: str, text: str) -> tuple[str, float]:
    """Return name and number of ``NAME=NUMBER``; raises OptionError that names ``flag``."""
    name, sign, number = text.rpartition("=")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if not sign or not name.strip() or not math.isfinite(value):
        raise OptionError(
            [Problem(f"{flag} {shorten(text)}", "expected NAME=NUMBER, for instance f1=0.5")]
        )
    return name.strip(), value


def number_override(section: str) -> Callable[[str, str], Override]:
    """Return a parser of ``NAME=NUMBER`` into an override of ``section``."""

    def parse(flag: str, text: str) -> Override:
        name, value = parse_assignment(flag, text)
        path = (section, *_gate_steps(name)) if section == "gates" else (section, name)
        return Override(path, value, f"{flag} {text}")

    return parse


def _gate_steps(name: str) -> list[str]:
    """Return the steps of a gate's name; what follows ``quantile`` is one number."""
    before, quantile, number = name.partition(".quantile.")
    return [*before.split("."), *(("quantile", number) if quantile else ())]


def compare_fail_override(flag: str, text: str) -> Override:
    """Return the override that ``METRIC:DROP`` or ``METRIC:DROP:MODE`` asks for."""
    metric, _, rest = text.partition(":")
    drop, _, mode = rest.partition(":")
    try:
        sound = math.isfinite(float(drop.strip().removesuffix("%")))
    except ValueError:
        sound = False
    if not metric.strip() or not sound:
        message = "expected METRIC:DROP, for instance weighted_score:0.02 or f1:5%:any"
        raise OptionError([Problem(f"{flag} {shorten(text)}", message)])
    value = {"max_drop": drop.strip(), **({"mode": mode.strip()} if mode else {})}
    return Override(("gates", "compare_fail", metric.strip()), value, f"{flag} {text}")


def fail_under_override(flag: str, text: str) -> Override:
    """Return the override that sets the least mean of the weighted score."""
    try:
        least = float(text)
    except ValueError:
        least = math.nan
    if not 0.0 <= least <= 1.0:
        message = "expected a number from 0 to 1, for instance 0.8"
        raise OptionError([Problem(f"{flag} {shorten(text)}", message)])
    return Override(("gates", "fail_under"), least, f"{flag} {text}")


def set_override(flag: str, text: str) -> Override:
    """Return the override that ``path.to.key=value`` asks for; the value is read as YAML.

    A key with dots in it is written in double quotes: ``doc_weights."a.pdf"=2``.
    """
    where = f"{flag} {shorten(text)}"
    path_text, sign, value_text = _split_assignment(text)
    if not sign or not _PATH.fullmatch(path_text):
        raise OptionError([Problem(where, "expected PATH=VALUE, for instance dataset.limit=10")])
    path = tuple(_unquote(step) for step in re.findall(_STEP, path_text))
    if path[0] in ("judge", "embedding", "models", "target"):
        where = f"{flag} {shorten(path_text)}"  # the value may hold a key or a password
    try:
        tree = parse_yaml(value_text, where)
    except ScenarioError as error:
        raise OptionError(error.problems) from error
    return Override(path, tree.data, where)


def _split_assignment(text: str) -> tuple[str, str, str]:
    quoted = False
    for at, character in enumerate(text):
        if character == '"' and (at == 0 or text[at - 1] != "\\"):
            quoted = not quoted
        elif character == "=" and not quoted:
            return text[:at].strip(), "=", text[at + 1 :]
    return text, "", ""


def _unquote(step: str) -> str:
    if not step.startswith('"'):
        return step
    return re.sub(r"\\(.)", r"\1", step[1:-1])
