"""Values that are not there, ``gates: {em: }``: refused where YAML would read them as null.

Null removes a gate, and nobody who leaves a value out by mistake means that.
"""

from __future__ import annotations

from typing import Final

from pytest_rageval.scenario.schema import Scenario
from pytest_rageval.scenario.yaml.tree import YamlPath, YamlTree, dotted

_DATA: Final = ("dataset", "answers")
_VARIANTS: Final = "variants"


def refuse_empty(tree: YamlTree) -> None:
    """Note a problem for each key of ours without a value; other systems' keys may be empty."""
    for path in tree.empty:
        if must_be_filled(path):
            message = (
                "is empty; write a value, or take the key out. Where you mean null, write null"
            )
            tree.problem(path, f"{dotted(path)}: {message}")


def must_be_filled(path: YamlPath) -> bool:
    """Return whether an empty value at ``path`` of a scenario is a mistake.

    Not in a row, where it is a missing one; nor is a variant that changes nothing.

    >>> must_be_filled(("gates", "em")), must_be_filled(("dataset", 0, "answer"))
    (True, False)
    """
    if path[:1] == (_VARIANTS,) and path[1:]:
        return must_be_filled(path[2:])
    is_ours = bool(path) and (path[0] in Scenario.model_fields or path[0] == _VARIANTS)
    return is_ours and not _is_of_row(path)


def _is_of_row(path: YamlPath) -> bool:
    return path[0] in _DATA and len(path) > 1 and (isinstance(path[1], int) or path[1] == "rows")
