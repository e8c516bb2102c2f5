"""Reads the values of cells: missing ones, texts, marks, lists spelled as text, and contexts.

A list may be spelled as JSON, Python, numpy and pandas write it.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pytest_rageval.errors import shorten
from pytest_rageval.model import value_text
from pytest_rageval.text.codec import MAX_DEPTH, TOO_DEEP_TO_READ, LimitError, read_json
from pytest_rageval.text.json_value import json_kind


class BadValueError(ValueError):
    """A value that cannot be what its field needs."""


def is_missing(value: Any) -> bool:
    """Return whether ``value`` is null or NaN, which data frames write for missing values."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def is_filled(value: Any) -> bool:
    """Return whether a value is more than null, NaN, blanks, an empty list or an empty object."""
    if isinstance(value, str):
        return bool(value.strip())
    return not (is_missing(value) or (isinstance(value, list | tuple | Mapping) and not value))


def is_nan_text(value: Any) -> bool:
    """Return whether ``value`` is the text NaN, as in tables."""
    return isinstance(value, str) and value.strip().lower() == "nan"


def plain_text(name: str, value: Any) -> str:
    """Return text, or a number or boolean as text (2024.0 is 2024); else raises BadValueError."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return value_text(value)
    raise BadValueError(f"{name} must be text, found {json_kind(value)}")


_FALSE_WORDS = frozenset(
    {"", "false", "no", "0", "off", "f", "n", "0.0", "-", "--", "否", "不", "无"}
    | {"none", "null", "nan", "na", "n/a"}
)
_TRUE_WORDS = frozenset({"true", "yes", "1", "on", "t", "y", "1.0", "是"})


def read_mark(name: str, value: Any) -> str | None:
    """Return the reason in a ``skip`` or ``xfail`` column: "" for a bare yes, None for a no."""
    if value is False:
        return None
    text = "" if value is True else plain_text(name, value).strip()
    if value is not True and text.lower() in _FALSE_WORDS:
        return None
    return "" if text.lower() in _TRUE_WORDS else text


_OPENS_LIST: Final = re.compile(
    r"""\[\s*['"\[{] | \(\s*['"] | \{\s*['"] | (?:np\.)?array\( | \[?Document\(""", re.VERBOSE
)
_PAIRS: Final = {"[": "]", "{": "}"}
_PLAIN_TEXT: Final = re.compile(r"""'[^'\\]*+'|"[^"\\]*+\"""")
_PLAIN_LIST: Final = re.compile(rf"\[\s*+(?:(?:{_PLAIN_TEXT.pattern})\s*+,?+\s*+)*+\]")
_MAY_SPELL: Final = ("[", "{", "(", "array(", "np.array(", "Document(")


def value_in_text(text: str, name: str = "a cell") -> Any:
    """Return the list or mapping that ``text`` spells, None if it spells none.

    Parentheses enclose a list only if a quote follows: ``(2019)`` is text. ``['a' 'b']``, as numpy
    and pandas write an array, has two items; Python would join them. Raises BadValueError, which
    calls the text ``name``, for a list that is nested too deep.

    >>> value_in_text("['a' nan 'b']"), value_in_text("[2] See the appendix")
    (['a', None, 'b'], None)
    """
    stripped = text.strip()
    if not (stripped.startswith(_MAY_SPELL) and stripped.endswith(("]", ")", "}"))):
        return None
    if stripped[0] == "(" and not _OPENS_LIST.match(stripped):
        return None
    if _PLAIN_LIST.fullmatch(stripped):  # most cells, and faster
        return [literal[1:-1] for literal in _PLAIN_TEXT.findall(stripped)]
    try:
        found = _json_or_python(stripped)
    except LimitError as error:
        raise BadValueError(f"{name}: {error}") from None
    return found if isinstance(found, list | Mapping) else None


def value_or_text(value: Any) -> Any:
    """Return the list or mapping that a text spells; the value itself where none, or too deep."""
    try:
        found = value_in_text(value) if isinstance(value, str) else None
    except BadValueError:
        return value
    return value if found is None else found


def list_in_text(text: str) -> list[Any] | None:
    """Return the list in square brackets that ``text`` spells, None if it spells none."""
    found = value_in_text(text) if text.lstrip().startswith("[") else None
    return found if isinstance(found, list) else None


def value_in_cell(name: str, text: str) -> Any:
    """Return the list or mapping that a table's cell spells; None for text.

    Raises BadValueError for a cell that begins like a list but cannot be read as one.
    """
    if not text.lstrip().startswith(_MAY_SPELL):
        return None
    found = value_in_text(text, name)
    if found is None and opens_list(text):
        raise BadValueError(
            f"{name}: the cell looks like a list and cannot be read as one (cut off?): "
            f'{shorten(repr(text))}; write a list as JSON, ["first", "second"], and a text '
            'that looks like one as a list of one text, ["[...]"]'
        )
    return found


def opens_list(text: str) -> bool:
    """Return whether ``text`` can only be a list, or the beginning of one.

    >>> opens_list("['a', 'b"), opens_list("[a, b]"), opens_list("[2] See [3]")
    (True, True, False)
    """
    stripped = text.strip()
    return bool(_OPENS_LIST.match(stripped)) or _is_enclosed(stripped)


def _is_enclosed(text: str) -> bool:
    """Return whether the last character of ``text`` closes the bracket that it begins with."""
    opening = text[:1]
    closing = _PAIRS.get(opening)
    if closing is None or not text.endswith(closing):
        return False
    depth = 0
    for bracket in re.finditer(r"[\[\]]" if opening == "[" else r"[{}]", text):
        depth += 1 if bracket[0] == opening else -1
        if depth == 0:
            return bracket.end() == len(text)
    return False


def _json_or_python(text: str) -> Any:
    """Return the value that ``text`` spells, None where it spells none; raises LimitError."""
    try:
        return read_json(text)
    except LimitError:
        raise
    except ValueError:
        pass
    try:
        return _value(ast.parse("".join(_as_source(text)), mode="eval").body)
    except LimitError:
        raise
    except (LookupError, ValueError, SyntaxError):
        return None


_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<text>[bBuUrR]{0,2}(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"))
    |(?P<number>[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<name><NA>|[A-Za-z_][\w.]*)
    |(?P<open>[\[({])
    |(?P<close>[\])}])
    |(?P<sign>[,:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_NAMES: Final = {
    **dict.fromkeys(("nan", "NaN", "NaT", "null", "np.nan")),
    "true": True,
    "false": False,
}


def _as_source(text: str) -> Iterator[str]:
    """Yield the parts of an expression of Python: with a comma between any two values of a list.

    Numpy leaves it out. Raises ValueError, or LookupError, for what is no single value.
    """
    calls: list[bool] = []
    """Of each bracket that is open, whether it holds the arguments of a call."""
    before, at = "", 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError("neither a value nor a sign")
        kind = str(found.lastgroup)
        part, is_close, at = found[kind], found.start(kind) == at, found.end()
        is_call = before == "name" and part == "("
        is_next = before in _ENDS_VALUE and kind not in ("close", "sign") and not is_call
        if not calls and (is_next or part == ","):
            raise ValueError("more than one value")
        if is_next and is_close and part[0] in "+-":  # [2020-12-31]: numpy writes blanks
            raise ValueError("a calculation, or a date")
        if kind == "open":
            calls.append(is_call)
        ends_call = kind == "close" and calls.pop()
        # ("a") is a list of one text here: Python wants a comma for that.
        is_tuple = part == ")" and not ends_call and before in _ENDS_VALUE
        if len(calls) > MAX_DEPTH:
            raise LimitError(TOO_DEEP_TO_READ)
        yield "," if is_next or is_tuple else ""
        yield repr(_text(part)) if kind == "text" else part.replace("<NA>", "None")
        before = kind


_ENDS_VALUE: Final = ("text", "number", "name", "close")


def _value(node: ast.expr) -> Any:
    """Return the value; sets and tuples become lists, nan becomes None.

    A call is worth its one argument without a name, else a mapping of its keywords. Raises
    LookupError for an unknown name, and for code that is no value.
    """
    match node:
        case ast.Constant():
            return node.value
        case ast.UnaryOp():  # a number with its sign
            return ast.literal_eval(node)
        case ast.List() | ast.Tuple() | ast.Set():
            return [_value(item) for item in node.elts]
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {str(_value(key)): _value(part) for key, part in pairs if key is not None}
        case ast.Call(args=[]):
            return {word.arg: _keyword_value(word.value) for word in node.keywords}
        case ast.Call(args=[first]):
            return _value(first)
        case _:
            return _NAMES[ast.unparse(node)]


def _keyword_value(node: ast.expr) -> Any:
    """Return a value, or the name of one, as in ``dtype=object``."""
    name = ast.unparse(node)
    is_name = isinstance(node, ast.Name | ast.Attribute) and name not in _NAMES
    return name if is_name else _value(node)


def _text(literal: str) -> str:
    """Return the text that a literal spells; bytes, as TensorFlow writes them, are UTF-8."""
    prefix, _, rest = literal.partition(literal[-1])
    if "r" in prefix.lower() or "\\" not in rest:
        return rest[:-1]  # it may hold a line break, which a literal may not
    literal = re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n", r"\1", literal)  # Python joins such lines
    with warnings.catch_warnings():  # of an escape that is none, as in a formula
        warnings.simplefilter("ignore")
        found = ast.literal_eval(literal.replace("\n", "\\n").replace("\r", "\\r"))
    return found.decode() if isinstance(found, bytes) else str(found)


# The keys of retrieval systems for the text of a passage, and for its document: the first found.
PASSAGE_KEYS = ("text", "contents", "content", "page_content", "passage")
DOCUMENT_KEYS = ("doc_name", "source", "file_name", "document", "title")


def parse_contexts(value: Any) -> tuple[str, ...]:
    r"""Return the texts of the contexts in ``value``, blank ones dropped.

    ``value`` is a list of texts, of objects with a passage, or of pairs of a title and sentences;
    an object that stands for such a list; or text, as in a CSV cell: a spelled list, paragraphs
    with blank lines between them, or one context. Raises BadValueError for an object without a
    text, and for lists that are nested too deep.

    >>> parse_contexts("['a', 'b']"), parse_contexts("a\n\nb")
    (('a', 'b'), ('a', 'b'))
    >>> parse_contexts([["Paris", ["The capital.", " Large."]], ["Lyon", ["A city."]]])
    ('The capital. Large.', 'A city.')
    """
    return tuple(text for text, _ in _passages(value))


def contexts_and_docs(
    value: Any, *, keeps_places: bool = False
) -> tuple[tuple[str, ...], tuple[str | None, ...] | None]:
    """Return the texts of the contexts, and their documents: None if no context names one.

    Both are () where there are no contexts. Blank ones are left out; with ``keeps_places``, those
    of a list stay if any has text, so that a citation ``[2]`` still means the second.
    """
    passages = _passages(value, keeps_places=keeps_places)
    docs = tuple(doc for _, doc in passages)
    named = not docs or any(doc is not None for doc in docs)
    return tuple(text for text, _ in passages), docs if named else None


def passage_document(passage: Mapping[str, Any]) -> str | None:
    """Return the document that a passage names, itself or in its ``metadata``."""
    inner = passage.get("metadata")
    for place in (passage, inner if isinstance(inner, Mapping) else {}):
        for key in DOCUMENT_KEYS:
            if isinstance(place.get(key), str) and place[key].strip():
                return str(place[key])
    return None


_BLANK: Final = ("", None)


def _passages(value: Any, *, keeps_places: bool = False) -> list[tuple[str, str | None]]:
    """Return the text and the document of each context; blank ones as in ``contexts_and_docs``."""
    if isinstance(value, str):
        if is_nan_text(value):
            return []
        spelled = list_in_text(value)
        keeps_places &= spelled is not None
        value = value.replace("\r\n", "\n").split("\n\n") if spelled is None else spelled
    elif not isinstance(value, list | tuple):
        value = _rows_of(value)
    if value and not isinstance(value[0], str) and all(map(_is_titled_or_missing, value)):
        found = [_BLANK if is_missing(part) else (_joined(part[1]), part[0]) for part in value]
    else:
        lost = (_BLANK,) if keeps_places else ()
        found = [passage for part in value for passage in _in_part(part) or lost]
    stripped = [(text.strip(), doc if doc and doc.strip() else None) for text, doc in found]
    whole = [(text, doc) for text, doc in stripped if text]
    return stripped if keeps_places and whole else whole


def _rows_of(value: Any) -> list[Any]:
    """Return the passages of an object with numbers as keys, as pandas writes a column.

    So too of an object of columns, as Hugging Face's datasets write a list of objects. Any other
    value is one passage.
    """
    if not isinstance(value, Mapping):
        return [value]
    if all(str(key).isdigit() for key in value):
        return list(value.values())
    columns = [part for part in value.values() if isinstance(part, list | tuple)]
    is_table = len(columns) == len(value) and len({*map(len, columns)}) == 1
    if not is_table or _has_sentences(value):  # one passage may have a list of sentences alone
        return [value]
    return [dict(zip(value, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _is_titled_or_missing(part: Any) -> bool:
    """Return whether a context is a title and a list of sentences, as in HotpotQA, or missing."""
    return is_missing(part) or (
        isinstance(part, list | tuple)
        and len(part) == 2
        and isinstance(part[0], str)
        and isinstance(part[1], list | tuple)
        and all(isinstance(sentence, str) for sentence in part[1])
    )


def _has_sentences(part: Mapping[str, Any]) -> bool:
    """Return whether an object is one passage, parted into the texts of its sentences."""
    sentences = part.get("sentences")
    return isinstance(sentences, list | tuple) and all(isinstance(text, str) for text in sentences)


def _joined(sentences: Sequence[str]) -> str:
    """Return joined sentences; in HotpotQA each begins with a blank already."""
    is_spaced = any(sentence[:1].isspace() for sentence in sentences[1:])
    return ("" if is_spaced else " ").join(sentences)


def is_scored(part: Any) -> bool:
    """Return whether a value is a result with its score, as LangChain's searches return pairs."""
    is_pair = isinstance(part, list | tuple) and len(part) == 2
    return is_pair and isinstance(part[0], str | int | Mapping) and type(part[1]) in (int, float)


def _in_part(part: Any) -> Sequence[tuple[str, str | None]]:
    if is_missing(part):
        return ()
    if isinstance(part, list | tuple):
        inside = part[:1] if is_scored(part) and isinstance(part[0], Mapping) else part
        return [passage for inner in inside for passage in _in_part(inner)]
    if isinstance(part, Mapping):
        texts = [part[key] for key in PASSAGE_KEYS if isinstance(part.get(key), str)]
        if _has_sentences(part):
            texts.append(_joined(part["sentences"]))
        if texts:
            text = next((text for text in texts if text.strip()), texts[0])
            return ((text, passage_document(part)),)
        raise BadValueError(
            f"a context is an object without a text under {', '.join(PASSAGE_KEYS)}"
        )
    return ((plain_text("a context", part), None),)
