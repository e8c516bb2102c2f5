"""A YAML file as plain data that remembers the line of each value.

Stricter than PyYAML's safe loader where its leniency hides mistakes: duplicate keys are problems,
keys are always text; dates, 007, 1:30, yes, no, on and off stay text; alias bombs are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import yaml

from pytest_rageval.errors import Problem, ScenarioError, shorten
from pytest_rageval.model.value import as_written
from pytest_rageval.text.codec import CUT_DEPTH, MAX_DEPTH, TOO_DEEP_TO_READ, blanked, excess

YamlPath = tuple[str | int, ...]

_MAX_ALIASED_NODES = 100_000  # far more than one writes by hand, far less than fills a memory
DEEPEST = MAX_DEPTH + len(("variants", "a variant", "dataset", "rows", 0))
"""How deep a scenario file may be nested: its rows may be as deep as those of other files."""
_MAX_INT_BITS = 1000
_TOO_DEEP = f"nested too deeply to be a scenario (more than {DEEPEST} deep)"
_MOST_CUT = 60_000  # brackets and dashes, which PyYAML scans in seconds
_TAG = "tag:yaml.org,2002:"
# An answer may be "no". Where a boolean is wanted, the schema takes these words for one.
_TEXT_BOOLEANS = ("yes", "no", "on", "off", "y", "n")
_TEXT_LIKE = re.compile(r"[-+]?0[\d_]+|.*:.*")


@dataclass
class YamlTree:
    """Plain data, the line (from 1) of each path in it, and the problems found on the way."""

    data: Any
    source: str
    lines: dict[YamlPath, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    hints: dict[str, str] = field(default_factory=dict)
    """By a key of ours: what a message that it is missing adds, where something looks like it."""
    fallbacks: dict[str, str] = field(default_factory=dict)
    """Fields of a row and the column that holds them where none of their own names is filled."""
    empty: list[YamlPath] = field(default_factory=list)
    """The paths where no value is written, which YAML reads as null."""
    _origins: dict[YamlPath, str] = field(default_factory=dict)
    _moves: list[tuple[str, str]] = field(default_factory=list)

    def where(self, path: YamlPath = ()) -> str:
        """Return ``file:line`` or origin of the value at ``path``, or of the nearest around it."""
        for length in range(len(path), -1, -1):
            if (origin := self._origins.get(path[:length])) is not None:
                return origin
            if (line := self.lines.get(path[:length])) is not None:
                return f"{self.source}:{line}"
        return self.source

    def problem(self, path: YamlPath, message: str, *, is_cause: bool = False) -> None:
        """Note what is wrong with the value at ``path``; ``is_cause`` as in ``Problem``."""
        self.problems.append(Problem(self.where(path), message, is_cause))

    def move(self, old: YamlPath, new: YamlPath) -> None:
        """Move the value at ``old`` to ``new``, with its lines; parents of ``new`` are made."""
        self.put(new, self.at(old[:-1]).pop(old[-1]))
        for path in [path for path in self.lines if path[: len(old)] == old]:
            self.lines[new + path[len(old) :]] = self.lines.pop(path)
        self.note_move(old, new)

    def copy_lines(self, old: YamlPath, new: YamlPath) -> None:
        """Note that the parts of the value at ``new`` are from ``old``; ``new`` has an origin."""
        for path in [path for path in self.lines if path[: len(new)] == new]:
            del self.lines[path]
        for path, line in list(self.lines.items()):
            if path[: len(old)] == old and path != old:
                self.lines[new + path[len(old) :]] = line

    def note_move(self, old: YamlPath, new: YamlPath) -> None:
        """Note that what is at ``new`` was written at ``old``."""
        self._moves.append((dotted(old), dotted(new)))

    def as_written(self, message: str) -> str:
        """Return a message in which the path that the user wrote replaces ours at the beginning."""
        for old, new in reversed(self._moves):
            rest = message.removeprefix(new)
            if rest != message and rest.startswith((":", ".", "[")):
                message = old + rest
        return message

    def put(self, path: YamlPath, value: Any, origin: str | None = None) -> None:
        """Set the value at ``path``; ``origin`` is what ``where`` then answers for it.

        Raises LookupError when ``path`` runs through something that holds no such part.
        """
        parent = self.data
        for step, following in pairwise(path):
            parent = _descend(parent, step, [] if isinstance(following, int) else {})
        _check_step(parent, path[-1])
        parent[path[-1]] = value
        if origin is not None:
            self._origins[path] = origin

    def is_overridden(self, path: YamlPath) -> bool:
        """Return whether the value at ``path``, or one that holds it, is not from the file."""
        return any(path[:length] in self._origins for length in range(1, len(path) + 1))

    def has(self, path: YamlPath) -> bool:
        """Return whether there is a value at ``path``."""
        with suppress(LookupError, TypeError):
            self.at(path)
            return True
        return False

    def at(self, path: YamlPath) -> Any:
        """Return the value at ``path``; raises LookupError or TypeError where there is none."""
        found = self.data
        for step in path:
            found = found[step]
        return found


def dotted(path: Iterable[str | int]) -> str:
    """Return a path as messages have it, cut to 120 characters.

    >>> dotted(("metrics", 1, "f1"))
    'metrics[1].f1'
    """
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shorten("".join(parts).lstrip("."), 120)


def _descend(parent: Any, step: str | int, empty: Any) -> Any:
    _check_step(parent, step)
    if isinstance(parent, dict) and parent.get(step) is None:
        parent[step] = empty
    return parent[step]


def _check_step(parent: Any, step: str | int) -> None:
    """Raise LookupError where ``parent`` has no part ``step`` and can get none."""
    if isinstance(parent, list):
        if not (isinstance(step, int) and 0 <= step < len(parent)):
            raise LookupError(f"the list has no item {step}")
    elif not isinstance(parent, dict):
        raise LookupError(f"{shorten(repr(parent))} has no parts")


def parse_yaml(text: str, source: str, inside: YamlPath = ()) -> YamlTree:
    """Return the tree of ``text``, a value ``inside`` of a scenario; messages name its ``source``.

    Raises ScenarioError for no YAML, too deep a value, or an alias bomb; duplicate keys and
    unreadable values are in the tree's ``problems``.
    """
    return _parsed(text, source, DEEPEST, inside)


def parse_yaml_rows(text: str, source: str) -> YamlTree:
    """Return the tree of a file with rows: what is too deep is cut off, and its row is invalid."""
    return _parsed(text, source, CUT_DEPTH)


def _parsed(text: str, source: str, deepest: int, inside: YamlPath = ()) -> YamlTree:
    try:
        root = _composed(text, source)
    except _TooDeepError:
        if sum(map(text.count, ("[", "{", "- "))) > _MOST_CUT:
            raise
        root = _composed(_cut(text), source)
    tree = YamlTree(data=None, source=source)
    if root is not None:
        tree.data = _Builder(tree, deepest, inside).build(root, (), aliased=False)
    return tree


class _TooDeepError(ScenarioError):
    """A text is nested more deeply than YAML's own reader takes."""


_BEGINS: Final = (
    yaml.BlockSequenceStartToken,
    yaml.BlockMappingStartToken,
    yaml.FlowSequenceStartToken,
    yaml.FlowMappingStartToken,
)
_ENDS: Final = (yaml.BlockEndToken, yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken)


class _Scanner(yaml.SafeLoader):
    """Looks for no keys in what is cut off: at each token it would go through all levels above."""

    def save_possible_simple_key(self) -> None:
        if self.flow_level <= CUT_DEPTH:
            super().save_possible_simple_key()

    def stale_possible_simple_keys(self) -> None:
        if self.flow_level <= CUT_DEPTH:
            super().stale_possible_simple_keys()


def _cut(text: str) -> str:
    """Return YAML without what is nested far too deep; all else stays on its line.

    PyYAML's own scanner, which is slow, has no limit of depth. It stops where the text is no YAML.
    """
    spans, start, level = [], 0, 0
    with suppress(yaml.YAMLError):
        for token in yaml.scan(text, Loader=_Scanner):
            if isinstance(token, _BEGINS):
                level += 1
                start = token.start_mark.index if level == CUT_DEPTH else start
            elif isinstance(token, _ENDS):
                if level == CUT_DEPTH:
                    spans.append((start, token.end_mark.index))
                level -= 1
    return blanked(text, spans)


def _composed(text: str, source: str) -> yaml.Node | None:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_deep_text(text, source, loader)
        found: yaml.Node | None = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        # "nesting depth": libyaml's own limit, from 0.2.6 on
        kind = _TooDeepError if "nesting depth" in (error.problem or "") else ScenarioError
        raise kind([_syntax_problem(error, text, source)]) from error
    except yaml.YAMLError as error:
        first = str(error).splitlines()[0]
        raise ScenarioError([Problem(source, f"not readable as YAML: {first}")]) from error
    except RecursionError as error:
        raise _TooDeepError([Problem(source, _TOO_DEEP)]) from error
    except UnicodeEncodeError as error:
        raise ScenarioError([Problem(source, "not Unicode text (a lone surrogate)")]) from error
    return found


def refuse_depth(data: Any, where: str) -> None:
    """Raise ScenarioError where plain data are deeper than a scenario file may be."""
    if reason := excess(data, DEEPEST):
        message = _TOO_DEEP if reason == TOO_DEEP_TO_READ else reason
        raise ScenarioError([Problem(where, message)])


def _refuse_deep_text(text: str, source: str, loader: Any) -> None:
    # libyaml composes recursively in C and would end the process with a stack overflow. Its parser
    # is not recursive: it tells brackets from texts with brackets.
    depth, longest = 0, max(map(len, text.splitlines()), default=0)
    may_be = text.count("[") + text.count("{") + longest > 5_000  # a level of blocks takes a column
    for event in yaml.parse(text, Loader=loader) if may_be else ():
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > 5_000:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise _TooDeepError([Problem(f"{source}:{line}", _TOO_DEEP)])


def _syntax_problem(error: yaml.MarkedYAMLError, text: str, source: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    lines = text.splitlines()
    at_mark = lines[mark.line][mark.column :] if mark and mark.line < len(lines) else ""
    where = f"{source}:{mark.line + 1}" if mark is not None else source
    if "nesting depth" in (error.problem or ""):
        return Problem(where, _TOO_DEEP)
    parts = [part for part in (error.context, error.problem) if part]
    column = f" (column {mark.column + 1})" if mark is not None else ""
    hint = " Indent with spaces." if at_mark.startswith("\t") else ""
    return Problem(where, f"not valid YAML: {', '.join(parts)}{column}.{hint}")


_HAVE_ROWS: Final = (("dataset",), ("datasets",))  # the latter in requests of DB-GPT
_Pairs = dict[str, tuple[yaml.Node, yaml.Node, bool]]  # nodes of key and value; is it aliased?


class _Builder:
    """Turns composed nodes into plain data and notes lines and problems in a tree."""

    def __init__(self, tree: YamlTree, deepest: int, inside: YamlPath) -> None:
        self._tree, self._deepest, self._inside = tree, deepest, inside
        self._constructor = yaml.constructor.SafeConstructor()
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._aliased = 0

    def build(self, node: yaml.Node, path: YamlPath, aliased: bool) -> Any:
        self._tree.lines.setdefault(path, node.start_mark.line + 1)
        self._refuse_bombs(node, path, aliased)
        if isinstance(node, yaml.ScalarNode):
            if node.tag == f"{_TAG}null" and not node.value:
                self._tree.empty.append(path)
            return self._scalar(node, path)
        if len(path) >= self._deepest:
            return self._too_deep(node, path)
        aliased = aliased or id(node) in self._seen
        if node.tag not in (f"{_TAG}seq", f"{_TAG}map"):
            self._problem(node, f"the tag {shorten(node.tag)!r} is not allowed here")
        self._seen.add(id(node))
        self._open.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            built: Any = [
                self.build(child, (*path, at), aliased) for at, child in enumerate(node.value)
            ]
        elif isinstance(node, yaml.MappingNode):
            built = {}
            for key, (key_node, child, is_aliased) in self._pairs(node, path, aliased).items():
                self._tree.lines[(*path, key)] = key_node.start_mark.line + 1
                built[key] = self.build(child, (*path, key), is_aliased)
        self._open.discard(id(node))
        return built

    def _refuse_bombs(self, node: yaml.Node, path: YamlPath, aliased: bool) -> None:
        self._aliased += aliased
        if self._aliased > _MAX_ALIASED_NODES:
            message = f"aliases expand to more than {_MAX_ALIASED_NODES:,} values (an alias bomb?)"
            raise ScenarioError([self._problem_at(node, message)])
        if id(node) in self._open:
            raise ScenarioError([self._problem_at(node, "an alias that contains itself")])

    def _too_deep(self, node: yaml.Node, path: YamlPath) -> list[Any]:
        """Return what stands for a value that is too deep, in a row; elsewhere it is refused."""
        if not self._is_in_rows(path):
            raise ScenarioError([self._problem_at(node, _TOO_DEEP)])
        return []

    def _is_in_rows(self, path: YamlPath) -> bool:
        """Return whether a path leads into the rows of a scenario, or of a file of rows."""
        path = (*self._inside, *path)
        own = path[2:] if path[:1] == ("variants",) else path
        is_item = own[:1] in _HAVE_ROWS and any(str(step).isdecimal() for step in own[1:3])
        return is_item or self._deepest == CUT_DEPTH

    def _pairs(self, node: yaml.MappingNode, path: YamlPath, aliased: bool) -> _Pairs:
        """Return what is built, by key; what is passed over leaves no lines behind."""
        own, merged = _Pairs(), _Pairs()
        for key_node, value_node in node.value:
            if key_node.tag == f"{_TAG}merge":
                self._merge(value_node, path, merged)
            elif not isinstance(key_node, yaml.ScalarNode):
                self._problem(key_node, "a key must be text, not a list or a mapping")
            elif (key := str(key_node.value)) in own:
                first = own[key][0].start_mark.line + 1
                self._problem(key_node, f"duplicate key {shorten(key)!r} (first on line {first})")
            else:
                own[key] = (key_node, value_node, aliased)
        return {**merged, **own}

    def _merge(self, node: yaml.Node, path: YamlPath, merged: _Pairs) -> None:
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(part, yaml.MappingNode) or part.tag != f"{_TAG}map":
                self._problem(part, "only mappings can be merged with <<")
                continue
            self._refuse_bombs(part, path, aliased=True)
            self._open.add(id(part))
            for key, pair in self._pairs(part, path, aliased=True).items():
                self._aliased += key in merged  # passed over, which takes time, too
                merged.setdefault(key, pair)
            self._open.discard(id(part))

    def _scalar(self, node: yaml.ScalarNode, path: YamlPath) -> Any:
        text = str(node.value)
        kind = node.tag.removeprefix(_TAG)
        if kind in ("str", "timestamp", "value", "merge"):
            return text
        if kind not in _SCALARS:
            self._problem(node, f"the tag {shorten(node.tag)!r} is not allowed here")
            return text
        if kind in ("int", "float") and _TEXT_LIKE.fullmatch(text):
            return text
        if kind == "bool" and text.lower() in _TEXT_BOOLEANS:
            return text
        try:
            value = getattr(self._constructor, f"construct_yaml_{kind}")(node)
            is_long = isinstance(value, int) and value.bit_length() > _MAX_INT_BITS
            is_in_row = self._is_in_rows(path)  # where it may be an id
            if is_in_row or not is_long:  # "where" names rows by what is in them
                is_text = is_in_row or "where" in (*self._inside, *path)
                return as_written(value, text) if is_text else value
        except (ValueError, LookupError, yaml.YAMLError):
            if kind == "int" and self._is_in_rows(path):
                return text
        self._problem(node, f"{shorten(text)!r} cannot be read as a value")
        return text

    def _problem(self, node: yaml.Node, message: str) -> None:
        self._tree.problems.append(self._problem_at(node, message))

    def _problem_at(self, node: yaml.Node, message: str) -> Problem:
        return Problem(f"{self._tree.source}:{node.start_mark.line + 1}", message)


_SCALARS: Final = ("null", "bool", "int", "float")
_PLAIN = re.compile(r"[\w./][\w .@/+()-]*")
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def inline_text(value: Any, quote: str = "") -> str:
    r"""Return ``value`` in one line, for a block or a flow.

    ``quote`` is put around every text; without one, around those only that need it.

    >>> inline_text({"f1": 0.4, "a: b": ["x", None, True]})
    '{f1: 0.4, "a: b": [x, null, true]}'
    """
    if isinstance(value, Mapping):
        return f"{{{', '.join(pair_text(name, part, quote) for name, part in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(inline_text(part, quote) for part in value)}]"
    return _quoted(value, quote) if isinstance(value, str) else _bare(value)


def pair_text(name: str, value: Any, quote: str = "") -> str:
    """Return ``name: value`` in one line."""
    return f"{_quoted(name, quote)}: {inline_text(value, quote)}"


def _bare(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int):
        return str(value)
    # YAML 1.1 takes 1e-05 and inf for text: they need their point.
    text = re.sub("inf|nan", r".\g<0>", str(value))
    return text if "." in text else text.replace("e", ".0e")


def _quoted(text: str, quote: str) -> str:
    if quote == "'" and text.isprintable():
        return "'" + text.replace("'", "''") + "'"
    if not quote and _is_plain(text):
        return text
    return f'"{"".join(_escaped(text))}"'


def _is_plain(text: str) -> bool:
    """Return whether ``text`` needs no quotes; the parser decides, so that both agree."""
    with suppress(ScenarioError):
        return bool(_PLAIN.fullmatch(text) and parse_yaml(f"[{text}]", "").data == [text])
    return False


def _escaped(text: str) -> Iterator[str]:
    for character in text:
        if character in _ESCAPES:
            yield _ESCAPES[character]
        elif character.isprintable() or character == "\u3000" or character > "\uffff":
            yield character
        else:  # as JSON has it, too
            yield f"\\u{ord(character):04x}"
