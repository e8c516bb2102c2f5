"""A JSON file as the tree that a YAML file gives: plain data with the line of each value.

JSON is nearly YAML, but not quite: tabs may indent it, an emoji may be two escapes, 1e2 a number.
"""

from __future__ import annotations

import json
import re

from pytest_rageval.errors import Problem, ScenarioError
from pytest_rageval.scenario.yaml_tree import YamlTree, parse_yaml

_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')


def parse_json(text: str, source: str) -> YamlTree:
    """Return the tree of ``text``; ``source`` is the file's name in messages.

    A file with comments or trailing commas, which only YAML allows, is read as YAML. Raises
    ScenarioError when the text is neither.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _as_yaml(text, source, error)
    try:
        tree = parse_yaml(_for_yaml(text), source)
    except ScenarioError:
        tree = YamlTree(data, source)  # its lines are not known, which costs messages their lines
    tree.data = data
    return tree


def _as_yaml(text: str, source: str, error: Exception) -> YamlTree:
    try:
        return parse_yaml(text, source)
    except ScenarioError:
        if isinstance(error, json.JSONDecodeError):
            message = f"not valid JSON: {error.msg} (column {error.colno})"
            raise ScenarioError([Problem(f"{source}:{error.lineno}", message)]) from error
        raise ScenarioError([Problem(source, f"not readable as JSON: {error}")]) from error


def _for_yaml(text: str) -> str:
    """Return ``text`` as YAML can read it: every value on its line, if not to the character."""
    parts, done = [], 0
    for found in _STRING.finditer(text):
        blanks = text[done : found.start()].replace("\t", " ")
        parts += [blanks, _HALF.sub("?", found.group())]
        done = found.end()
    return "".join([*parts, text[done:].replace("\t", " ")])
