"""What of a row goes into texts (``{question}``, ``${NAME}``), and to a function's parameters."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from pytest_rageval.errors import shorten, unknown_name
from pytest_rageval.model import Sample
from pytest_rageval.model.result import own_sample
from pytest_rageval.model.value import own, texts_in
from pytest_rageval.scenario.fields import FIELD_ALIASES, FIELD_OF, OF_ANSWERS
from pytest_rageval.targets.base import TargetError
from pytest_rageval.text.json_value import change_texts

METADATA: Final = "metadata."

_NAME = r"[A-Za-z_]\w*(?:\.[^{}]+)?"
_PLACE = re.compile(
    rf"\$\{{(?P<variable>\w+)\}}|\{{(?P<literal>\{{{_NAME}\}})\}}|\{{(?P<name>{_NAME})\}}"
)
HISTORY: Final = "history"
_FIELDS = sorted({*FIELD_ALIASES, HISTORY} - {"skip", "xfail"})


class Template:
    """A value of JSON whose texts may name fields of a row, and variables of the environment.

    ``fields`` and ``variables`` are those that it names. A text that is nothing but the place of a
    field becomes the field itself: contexts stay a list, numbers stay numbers, and what the row
    lacks is null. Anywhere else a field is put as text: of a list of texts, these with a blank line
    between them; of ``{history}``, a line for each message, and nothing in a first turn; of other
    values, their JSON. ``{{question}}`` is the text ``{question}`` itself. Raises
    TargetError for a name that is no field.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        self.fields = frozenset(_field(place["name"]) for place in places(value) if place["name"])
        self.variables = frozenset(
            place["variable"] for place in places(value) if place["variable"]
        )

    def fill(
        self,
        sample: Sample,
        variables: Mapping[str, str],
        escape: Callable[[str], str] = str,
    ) -> Any:
        """Return the value with the sample's fields; ``escape`` is for their texts, not variables'.

        Raises TargetError where the row lacks the question or what a longer text names.
        """
        return change_texts(self.value, _Filling(sample, variables, escape).text)

    def fill_text(self, sample: Sample, variables: Mapping[str, str]) -> str:
        """Return the value, a text, with the sample's fields as text, also a field that is alone.

        Raises TargetError where the row lacks one, other than ``{history}``.
        """
        return _PLACE.sub(_Filling(sample, variables, str).put, self.value)


@dataclass(frozen=True, slots=True)
class _Filling:
    """What the places of a template get."""

    sample: Sample
    variables: Mapping[str, str]
    escape: Callable[[str], str]

    def text(self, template: str) -> Any:
        whole = _PLACE.fullmatch(template)
        if whole is None or not whole["name"]:
            return _PLACE.sub(self.put, template)
        found = _value(self.sample, whole["name"])
        return self.escape(found) if isinstance(found, str) else found

    def put(self, place: re.Match[str]) -> str:
        """Return what stands in a place of a longer text."""
        if place["literal"]:
            return str(place["literal"])
        if place["variable"]:
            return self.variables.get(place["variable"], "")
        if place["name"] == HISTORY:
            return self.escape(history_text(self.sample.history or ()))
        value = _value(self.sample, place["name"])
        if value is None:
            raise TargetError(f"not asked: the row has no {place['name']}")
        return self.escape(_as_text(value))


def places(value: Any) -> Iterator[re.Match[str]]:
    """Yield the places in all texts of a value of JSON."""
    for text in texts_in(value):
        yield from _PLACE.finditer(text)


def outline(text: str, variables: Mapping[str, str]) -> str:
    """Return a text with its variables filled in, and a letter for each field."""

    def put(found: re.Match[str]) -> str:
        return variables.get(found["variable"], "") if found["variable"] else "x"

    return _PLACE.sub(put, text)


def _field(name: str) -> str:
    """Return the field that a place names, ``metadata.<column>`` for metadata."""
    if name.startswith(METADATA):
        return name
    field = HISTORY if name == HISTORY else FIELD_OF.get(name)
    if field is None or field not in _FIELDS:
        hint = f"{unknown_name('field', name, _FIELDS)}"
        columns = f"a column of your own is {{{METADATA}{shorten(name, 40)}}}"
        raise TargetError(f"{hint}; {columns}, and {{{{...}}}} is the text in braces itself")
    return field


def _value(sample: Sample, name: str) -> Any:
    """Return what a row has in a place, as JSON can say it."""
    field = _field(name)
    if field.startswith(METADATA):
        return _metadata(sample, field.removeprefix(METADATA))
    found = _in_field(sample, field)
    if isinstance(found, tuple):
        return list(found)
    return dict(found) if isinstance(found, Mapping) else found


def _metadata(sample: Sample, column: str) -> Any:
    if column in sample.metadata:
        return sample.metadata[column]
    found: Any = sample.metadata
    for step in column.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def history_of(sample: Sample) -> list[dict[str, str]]:
    """Return the messages before the question, oldest first; none in a first turn."""
    return [dict(message) for message in sample.history or ()]


def history_text(history: Iterable[Mapping[str, str]]) -> str:
    """Return messages as text, a line ``role: content`` for each."""
    return "\n".join(f"{message['role']}: {message['content']}" for message in history)


SAMPLE: Final = "sample"
_SAMPLE_FIELDS: Final = tuple(
    found.name
    for found in fields(Sample)
    if found.name == HISTORY or found.name not in {*OF_ANSWERS, "cited_sentences", "context_ids"}
)
"""What a parameter may be called to get that field; none of citations, refusals and nuggets."""
_OPEN = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.KEYWORD_ONLY,
)

Arguments = Callable[[Sample], tuple[list[Any], dict[str, Any]]]
"""From a sample to what a function is called with: (by position, by name)."""


def arguments_of(
    function: Callable[..., object], options: Mapping[str, Any]
) -> tuple[Arguments, bool, str]:
    """Return how ``function`` is called for a sample, and whether it gets the history.

    That is: the messages before the question, or the sample with them. ``options`` go to every call
    by name; to a parameter that is filled by position alone, in its place. Last comes what is to be
    said where no parameter gets anything of the sample, or "".

    A parameter called ``sample``, or annotated as a Sample, gets the sample; one called as a field
    of a sample, that field; the only other one without a default, the question, unless a parameter
    gets that or the sample. ``history`` keeps its default in a first turn; other defaults
    stay, and ``*args`` get nothing. A function without any signature gets the question. Raises
    TargetError for a parameter that nothing fills and for an option without a parameter.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions in C do not say
        return (lambda sample: ([question_of(sample)], own(dict(options)))), False, ""
    _check_options(signature, options)
    sources = _sources([part for name, part in signature.parameters.items() if name not in options])
    positional, of_rest = _by_position(signature, options)

    def arguments(sample: Sample) -> tuple[list[Any], dict[str, Any]]:
        sample, given = own_sample(sample), own(dict(options))
        filled = {name: value for name, value in given.items() if name not in of_rest}
        for parameter, source in sources:
            has_default = parameter.default is not inspect.Parameter.empty
            if source == HISTORY and has_default and not sample.history:
                continue
            filled[parameter.name] = sample if source == SAMPLE else _in_field(sample, source)
        last = max((at for at, one in enumerate(positional, 1) if one.name in filled), default=0)
        by_position = [filled.pop(one.name, one.default) for one in positional[:last]]
        return by_position, {**filled, **{name: given[name] for name in of_rest}}

    is_told = any(source not in (HISTORY, "id", "tags") for _, source in sources)
    doubt = "" if is_told else "no parameter receives what a row asks; call one 'question'"
    return arguments, any(source in (SAMPLE, HISTORY) for _, source in sources), doubt


def _by_position(
    signature: inspect.Signature, options: Mapping[str, Any]
) -> tuple[list[inspect.Parameter], dict[str, Any]]:
    """Return the parameters that have no name for callers, and the options that pass them by.

    Python hands an option that is called as one of these to ``**rest``; so it does here, where the
    parameter has a default.
    """
    parameters = signature.parameters.values()
    found = [one for one in parameters if one.kind is inspect.Parameter.POSITIONAL_ONLY]
    has_rest = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    optional = [one.name for one in found if one.default is not inspect.Parameter.empty]
    passed_by = {name: options[name] for name in optional if has_rest and name in options}
    return found, passed_by


def question_of(sample: Sample) -> str:
    """Return the question of a sample; TargetError where it has none."""
    if sample.question is None:
        raise TargetError("not asked: the row has no question")
    return sample.question


def _sources(parameters: Sequence[inspect.Parameter]) -> list[tuple[inspect.Parameter, str]]:
    """Return what fills each parameter that is filled, in their order."""
    found = [(parameter, _source(parameter)) for parameter in parameters]
    unknown = [
        parameter
        for parameter, source in found
        if source is None
        and parameter.kind in _OPEN
        and parameter.default is inspect.Parameter.empty
    ]
    has_question = any(source in (SAMPLE, "question") for _, source in found)
    if unknown and (has_question or len(unknown) > 1):
        names = ", ".join(repr(parameter.name) for parameter in unknown)
        raise TargetError(
            f"its parameter {names} cannot be filled: parameters are called 'sample' or as a field "
            f"of a sample ({', '.join(_SAMPLE_FIELDS[3:7])}, ...), or are given under 'options'"
        )
    filled = [(one, "question" if one in unknown else source) for one, source in found]
    return [(parameter, source) for parameter, source in filled if source is not None]


def _source(parameter: inspect.Parameter) -> str | None:
    """Return the field that fills a parameter, ``sample`` for the whole, None for neither."""
    if parameter.kind not in _OPEN:
        return None
    if parameter.annotation in (Sample, "Sample") or parameter.name == SAMPLE:
        return SAMPLE
    return parameter.name if parameter.name in _SAMPLE_FIELDS else None


def _in_field(sample: Sample, field: str) -> Any:
    if field == "question":
        return question_of(sample)
    return history_of(sample) if field == HISTORY else getattr(sample, field)


def _check_options(signature: inspect.Signature, options: Mapping[str, Any]) -> None:
    kinds = [parameter.kind for parameter in signature.parameters.values()]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    for name in options:
        if name not in signature.parameters:
            raise TargetError(f"options: {unknown_name('parameter', name, signature.parameters)}")
