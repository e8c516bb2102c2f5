"""Values from the command line that replace values of the scenario file, without editing it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final
from unicodedata import normalize

from pytest_rageval.errors import OptionError, Problem, ScenarioError, shorten, unknown_name
from pytest_rageval.model import Value
from pytest_rageval.scenario.short_forms import (
    OF_MEAN,
    ROLES,
    beside_number,
    expand_short_forms,
    is_metric_gate,
    metric_step,
    names_profile,
    short_key,
    type_of_target,
    value_at,
)
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree, dotted, parse_yaml

_LIMITS = (
    *(("dataset", "limit"), ("runtime", "max_samples")),
    *(("benchmark", "limit"), ("benchmark", "benchmark", "limit")),
)

NameOf = Callable[[str], str]
"""Returns what results call the metric of a name; a name of no metric comes back as it is."""

_WITH_SECRETS = (("judge",), ("embedding",), ("models",), ("target",))

_STEP = r'(?:"(?:[^"\\]|\\.)*"|[^."]+)'
_PATH = re.compile(rf"{_STEP}(?:\.{_STEP})*")


class Override(Value, frozen=True):
    """``value`` goes to ``path`` of the scenario; ``flag`` is how the user wrote it.

    With ``only_present``, it goes nowhere in a scenario that says nothing about ``path[0]``.
    ``written_at`` is where the file itself has the value, in a variant.
    """

    path: tuple[str, ...]
    value: Any
    flag: str
    only_present: bool = False
    written_at: YamlPath = ()

    @property
    def source(self) -> str:
        """The option or variable that gave the value, without the value."""
        return self.flag.partition(" ")[0].partition("=")[0]

    @property
    def limits(self) -> bool:
        """Whether the value cuts the data: only a part of the samples runs.

        Not those that evaluate_variants() is given: they are as in a file, where the data is less.
        """
        return self.flag != "variants" and _limits(self.path, self.value)

    def apply(self, tree: YamlTree, name_of: NameOf = str) -> str | None:
        """Put the value into the tree and return the dotted name of what was overridden.

        None where ``only_present`` forbids it. Raises ScenarioError for what has no place.
        """
        if self.only_present and not isinstance(tree.data.get(self.path[0]), str | dict):
            return None
        self._check_variant(tree)
        compare = tree.data.get("compare")
        if self.path == ("compare", "baseline") and _are_several(compare, self.value):
            names = self.value if isinstance(self.value, list) else [self.value]
            tree.put(("compare",), compared_with(compare, names), origin=self.flag)
            return key_name(self.path)
        _make_room(tree, self.path, self.value)
        self._change_models(tree)
        steps = _list_index(tree, as_named(tree.data, self.path, name_of))
        if self.value is None and _take_away(tree, steps):
            return key_name(steps)
        # A number for a gate with several checks means its mean.
        present = value_at(tree.data, steps)
        if is_metric_gate(steps) and isinstance(present, dict) and not isinstance(self.value, dict):
            steps = (*steps, *filter(None, [short_key(steps, present)]))
        _expand_mean(tree, steps)
        try:
            value = beside_number(steps, value_at(tree.data, steps), self.value)
            # A copy: what translates the tree moves keys, and the value is laid over others, too.
            tree.put(steps, _copied(value), origin=self.flag)
        except LookupError as error:
            raise ScenarioError([Problem(self.flag, str(error))]) from error
        if self.written_at:
            tree.copy_lines(self.written_at, steps)
        return key_name(steps)

    def _change_models(self, tree: YamlTree) -> None:
        if self.path[0] in ROLES and self.path[1:] in (("model",), ("profile",)):
            self._change_model(tree)
        elif (self.path[0], *self.path[2:]) == ("models", "model"):
            from pytest_rageval.scenario.other_model import leave_price_of_profile

            if self.flag != key_name(self.path):  # else a patch, which says what it changes
                leave_price_of_profile(tree, self.path[1], self.value)

    def _change_model(self, tree: YamlTree) -> None:
        """Make room in a role for the profile that the value names, if it names one.

        A model that an option names is asked at the server of the profile that was named before.
        """
        # Not at the top: most runs are given no model.
        from pytest_rageval.scenario.other_model import leave_price, stay_with_profile, take_profile

        role, step = self.path
        section = tree.data.get(role)
        present = section if isinstance(section, dict) else {}
        is_told_already = present.get(step) == self.value
        # A profile and a model beside it: the variant says both.
        is_beside = step == "model" and self.written_at and tree.is_overridden((role, "profile"))
        kind = present.get("type") or type_of_target(present) or "chat"
        if role == "target" and kind != "chat":
            return
        if names_profile(tree.data, self.value):
            if not (is_told_already or is_beside):
                take_profile(tree, self.path, present, self.value)
        elif step == "model" and self.value is not None:
            if not self.written_at:
                stay_with_profile(tree, role, present)
            if self.flag != key_name(self.path):  # else a patch, which says what it changes
                leave_price(tree, role, self.value)

    def _check_variant(self, tree: YamlTree) -> None:
        """Refuse a key of a variant that the scenario lacks: its name may be misspelt."""
        known = tree.data.get("variants")
        if self.path[0] != "variants" or not self.path[2:] or not isinstance(known, dict):
            return
        name = self.path[1]
        if known and name not in known:
            message = unknown_name("variant", name, known)
            add = f"; to add it, give all of it: variants.{shorten(name)}={{...}}"
            raise ScenarioError([Problem(self.flag, message + add)])


def _limits(path: tuple[str, ...], value: Any) -> bool:
    own = path[2:] if path[:1] == ("variants",) else path
    if own in _LIMITS:
        return value is not None
    is_above = any(own == limit[: len(own)] for limit in _LIMITS)
    return (
        is_above
        and isinstance(value, dict)
        and any(_limits((*path, key), part) for key, part in value.items())
    )


def key_name(path: YamlPath) -> str:
    """Return a path as results list what was overridden: ``dataset.limit``."""
    return ".".join(map(str, path))


def _take_away(tree: YamlTree, steps: YamlPath) -> bool:
    """Remove the key at ``steps`` if null means no more than its absence; return whether it does.

    False too for an absent key that the schema does not know: it is put, for the schema to judge.
    """
    # Not at the top: the controller of xdist reads overrides, and needs no schema for them.
    from pytest_rageval.scenario.schema import null_says_something

    parent = _found(tree.data, steps[:-1])
    is_there = isinstance(parent, dict) and steps[-1] in parent
    says_something = null_says_something(steps)
    if says_something or (says_something is None and not is_there):
        return False
    if is_there:
        del parent[steps[-1]]
    return True


def as_named(data: Any, path: tuple[str, ...], name_of: NameOf) -> tuple[str, ...]:
    """Return ``path`` with its metric or document by the name that ``data`` uses already."""
    if path[:-1] == ("doc_weights",):
        found = _found(data, path[:1])
        listed = list(found) if isinstance(found, dict) and path[1] not in found else []
        wanted = normalize("NFC", path[1]).strip()
        same = (name for name in listed if normalize("NFC", name).strip() == wanted)
        return ("doc_weights", next(same, path[1]))
    at = metric_step(path)
    section = _found(data, path[:at]) if at else None
    if not isinstance(section, dict) or path[at] in section:
        return path
    names = _given_names(data)
    if path[at] in names and name_of(path[at]) != path[at]:
        return path
    wanted = name_of(path[at])
    for key in section:
        if (key not in names or name_of(key) == key) and name_of(key) == wanted:
            return (*path[:at], key, *path[at + 1 :])
    return path


def _given_names(data: Any) -> set[Any]:
    """Return the names that the scenario itself gives to metrics: these mean no other metric."""
    # Not at the top: the controller of xdist reads overrides, and needs no schema for them.
    from pytest_rageval.scenario.model_specs import MetricSpec

    metrics = data.get("metrics")
    names: set[Any] = set()
    for metric in metrics if isinstance(metrics, list) else ():
        with suppress(ValueError):  # what is no metric has no name
            spec = MetricSpec.model_validate(metric)
            names.add(spec.name or spec.attribute)
    return names


def merged(overrides: Sequence[Override]) -> Override:
    """Return overrides of one path as a single one, whose value is the list of theirs."""
    flags = " ".join(override.flag for override in overrides)
    values = [override.value for override in overrides]
    return Override(overrides[0].path, values, flags)


def _are_several(compare: Any, value: Any) -> bool:
    """Return whether either argument lists runs, or ``compare`` is pinned; not for null."""
    are_listed = isinstance(value, list) or isinstance(compare, list)
    return value is not None and (_is_pinned(compare) or are_listed)


def compared_with(present: Any, names: Sequence[str]) -> Any:
    """Return ``compare`` with these runs in place of those that it has, one alone as a mapping.

    A run that it has already keeps its keys; another one gets those of the only run that it takes
    the place of. A run with ``looks`` other than 1 is pinned, and stays: else an option of every CI
    run would take it away unseen.

    >>> compared_with({"baseline": "main", "alpha": 0.01}, ["other"])
    {'baseline': 'other', 'alpha': 0.01}
    >>> compared_with(["main", {"baseline": "v1", "looks": 50}], ["other"])
    [{'baseline': 'other'}, {'baseline': 'v1', 'looks': 50}]
    """
    listed = present if isinstance(present, list) else [] if present is None else [present]
    runs = [run if isinstance(run, dict) else {"baseline": run} for run in listed]
    known = {name: run for run in runs if isinstance(name := run.get("baseline"), str)}
    pinned = [run for run in runs if _is_pinned(run) and run.get("baseline") not in names]
    replaced = [run for run in runs if run not in pinned]
    usual = replaced[0] if len(replaced) == 1 else {}
    keys = {key: value for key, value in usual.items() if key not in _OF_ONE_RUN}
    made = [known.get(name) or {"baseline": name, **keys} for name in dict.fromkeys(names)]
    found = [*made, *pinned] or [{"baseline": []}]  # which is refused with its place
    return found if len(found) > 1 else found[0]


def pinned_runs(compare: Any) -> list[str]:
    """Return the runs with ``looks`` other than 1 in ``compare`` as a file has it.

    >>> pinned_runs(["main", {"baseline": "v1", "looks": 50}])
    ['v1']
    """
    runs = compare if isinstance(compare, list) else [compare]
    pinned = filter(_is_pinned, runs)
    return [name for run in pinned if isinstance(name := run.get("baseline"), str)]


def _is_pinned(run: Any) -> bool:
    return isinstance(run, dict) and run.get("looks") not in (None, 1, "1")


_OF_ONE_RUN: Final = ("baseline", "run_old_path", "looks")
"""Keys that a run does not hand on to the one that takes its place."""


def _make_room(tree: YamlTree, path: tuple[str, ...], value: Any) -> None:
    """Expand the short forms on ``path``; drop what ``value`` takes the place of."""
    if path[0] != "gates":  # their metrics are named later: ``_expand_mean``
        expand_short_forms(tree, path)
    compare = tree.data.get("compare")
    if path == ("compare", "baseline") and value is not None and isinstance(compare, dict):
        compare.pop("run_old_path", None)


def _copied(value: Any) -> Any:
    """Return a copy of mappings and lists; rows of a program may hold what has none."""
    if type(value) is dict:
        return {key: _copied(part) for key, part in value.items()}
    return [_copied(part) for part in value] if type(value) is list else value


def _expand_mean(tree: YamlTree, path: YamlPath) -> None:
    """Make room for a check: a number, or ``{min: 0.5}``, is short for one of the mean.

    Beside what else a bound has, ``not_applicable``, the number is its value; not beside an end,
    for whether it is a minimum follows from the metric.
    """
    at = metric_step(path)
    if not (path[at + 1 :] and is_metric_gate(path[: at + 1])):
        return
    gate, step = _found(tree.data, path[: at + 1]), path[at + 1]
    is_number = isinstance(gate, int | float | str)
    keys = [key for key in gate if not str(key).startswith("x-")] if isinstance(gate, dict) else []
    is_bound = bool(keys) and OF_MEAN.issuperset(keys)
    if step not in OF_MEAN and (is_number or is_bound):
        _found(tree.data, path[:at])[path[at]] = {"mean": gate}
    elif is_number and step not in ("min", "max"):
        _found(tree.data, path[:at])[path[at]] = {"value": gate}


def _found(data: Any, path: YamlPath) -> Any:
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


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
    """Return a parser of ``NAME=NUMBER`` into an override of ``section``; it raises OptionError."""

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
    """Return the override for ``METRIC:DROP`` or ``METRIC:DROP:MODE``, else raise OptionError."""
    metric, _, rest = text.partition(":")
    drop, colon, mode = rest.partition(":")
    try:
        sound = math.isfinite(float(drop.strip().removesuffix("%")))
    except ValueError:
        sound = False
    if not metric.strip() or not sound or (colon and not mode.strip()):
        message = "expected METRIC:DROP, for instance weighted_score:0.02 or f1:5%:any"
        raise OptionError([Problem(f"{flag} {shorten(text)}", message)])
    value = {"max_drop": drop.strip(), **({"mode": mode.strip()} if mode else {})}
    return Override(("gates", "compare_fail", metric.strip()), value, f"{flag} {text}")


def fail_under_override(flag: str, text: str) -> Override:
    """Return the override for the least mean of weighted_score, 0 to 1; else raise OptionError."""
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

    A key with dots in it is written in double quotes: ``doc_weights."a.pdf"=2``. Raises
    OptionError.
    """
    where = f"{flag} {shorten(text)}"
    path_text, sign, value_text = _split_assignment(text)
    if not sign or not _PATH.fullmatch(path_text):
        raise OptionError([Problem(where, "expected PATH=VALUE, for instance dataset.limit=10")])
    path = tuple(_unquote(step) for step in re.findall(_STEP, path_text))
    key = (path[2:] if path[0] == "variants" else path)[:1]
    if key in ((), *_WITH_SECRETS):
        where = f"{flag} {shorten(path_text)}"  # the value may hold a key or a password
    if path[-1] == "rows_at" and value_text.lstrip().startswith("["):
        return Override(path, value_text.strip(), where)  # a path, never a list: [*].rows
    try:
        tree = parse_yaml(value_text, where, path)
    except ScenarioError as error:
        raise OptionError(error.problems) from error
    if tree.problems:
        raise OptionError(replace(problem, where=where) for problem in tree.problems)
    _refuse_empty(tree, path, where)
    return Override(path, tree.data, where)


def _refuse_empty(tree: YamlTree, path: tuple[str, ...], where: str) -> None:
    """Raise OptionError for a value that is not there; perhaps a script did not set a variable."""
    if tree.data is None and (not tree.lines or () in tree.empty):
        message = "found no value; expected one, or null to remove the key"
        raise OptionError([Problem(where, message)])
    if tree.empty:
        # Not at the top: the controller of xdist reads overrides, and needs no schema for them.
        from pytest_rageval.scenario.schema import must_be_filled

        found = [(*path, *steps) for steps in tree.empty if must_be_filled((*path, *steps))]
        message = "is empty; expected a value, or null to remove the key"
        if found:
            raise OptionError(
                [Problem(where, f"{dotted(missing)}: {message}") for missing in found]
            )


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
