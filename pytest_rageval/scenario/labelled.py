"""Which answers the labels in a column of the data are about: by a file, and by its variants."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from os.path import normpath
from typing import Any, Final, NamedTuple

from pytest_rageval.errors import ScenarioError
from pytest_rageval.scenario.column_names import read_field
from pytest_rageval.scenario.short_forms import expanded_short_form
from pytest_rageval.scenario.variants import SOURCES, VARIANTS, variant_overrides
from pytest_rageval.scenario.yaml.tree import YamlTree

_SECTIONS: Final = ("human", "dataset")
_SEEN: Final = ("answer", "contexts")
"""The fields that a label is about."""


class LabelledAnswers(NamedTuple):
    """Which answers people labelled: columns of labels, sources of rows, columns of answers.

    ``columns`` are those of the answer and of its contexts, None for one that no ``key_map`` names:
    it is found by its name.
    """

    labels: list[Any]
    rows: list[Any]
    columns: list[str | None]

    def are_others(self, known: Iterable[LabelledAnswers], columns: Collection[str]) -> bool:
        """Return whether the labels are known to be of other answers in these rows than of these.

        What people said of one system's answers would pass for what they say of another's. The
        first of ``known`` with the same labels that names a column of answers decides, and so for
        contexts. ``columns`` are those of the rows.
        """
        same = [_found(one.columns, columns) for one in (*known, self) if one.is_of_labels_in(self)]
        firsts = (next(filter(None, of_field), None) for of_field in zip(*same, strict=True))
        return any(ours and ours != first for ours, first in zip(same[-1], firsts, strict=True))

    def is_of_labels_in(self, other: LabelledAnswers) -> bool:
        """Return whether both have a column of labels in common, and the same rows."""
        return self.rows == other.rows and any(one in other.labels for one in self.labels)


def _found(named: Sequence[str | None], columns: Collection[str]) -> list[str | None]:
    """Return the columns of the fields that a label is about: ``named``, or else by their names.

    None for a field that no column, or more than one, is named after.
    """
    read = [field[0] if (field := read_field(name)) else "" for name in columns]
    by_name = dict(zip(read, columns, strict=True))
    alone = {field: name for field, name in by_name.items() if read.count(field) == 1}
    return [column or alone.get(field) for column, field in zip(named, _SEEN, strict=True)]


def known_labels(tree: YamlTree, variants: Sequence[str]) -> list[LabelledAnswers]:
    """Return which answers labels are about, by a file and by its ``variants``.

    Variants with a section ``human`` of their own come first, then the file, then the others.
    """
    given = tree.data.get(VARIANTS) or {}
    own = [name for name in variants if isinstance(given[name], dict) and given[name].get("human")]
    others = [name for name in variants if name not in own]
    laid = [_laid(tree, name) for name in own]
    laid += [tree.data, *(_laid(tree, name) for name in others)]
    return [found for data in laid if (found := labelled_answers(data)) is not None]


def _laid(tree: YamlTree, variant: str) -> Mapping[str, Any]:
    """Return the labels and the data of a file as one of its variants has them."""
    sections = {name: deepcopy(tree.data[name]) for name in _SECTIONS if name in tree.data}
    laid = YamlTree(sections, tree.source)
    for override in variant_overrides(tree, variant):
        if override.path[0] in _SECTIONS:
            with suppress(ScenarioError):  # told where that variant runs
                override.apply(laid)
    return sections


def labelled_answers(data: Mapping[str, Any]) -> LabelledAnswers | None:
    """Return which answers the labels of a scenario are about; None if no column holds labels."""
    human = data.get("human")
    dataset = expanded_short_form(("dataset",), data.get("dataset"))
    if not dataset or not isinstance(human, dict) or not human.get("column"):
        return None
    mapped = dataset.get("key_map")
    columns = mapped if isinstance(mapped, dict) else {}
    places = [dataset.get(key) for keys in SOURCES for key in keys]
    labels = human["column"]
    return LabelledAnswers(
        labels if isinstance(labels, list) else [labels],
        [normpath(one) if isinstance(one, str) else one for one in places],  # ./a.csv is a.csv
        [name if isinstance(name := columns.get(field), str) else None for field in _SEEN],
    )
