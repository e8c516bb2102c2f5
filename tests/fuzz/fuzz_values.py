"""Values as no user should write them, and trees of JSON with one to four of them put in."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

MOST_DEEP: Final = 3000
MOST_DIGITS: Final = 5000

TEXTS: Final = (
    *("", " ", "x", "x" * 5000, "\ud800", "\x00", "\x1b[31m", "\u202e", "é", "e\u0301", "北京"),
    *("null", "1e-2", "5%", "0x10", "1_000", "nan", "inf", "a.b", "a[0].b", "hits[*].t", "${HOME}"),
    *("[", "{}", "['a' 'b']", '["a"]', "array([1])", "{'d1': nan}", "=1+1", "../..", "/", "."),
    *("a:b", "fuzz_app:none", "fuzz_app", "f1", "em", "ndcg@10", "P(rel=2)@5", "f1(", "@", "rouge"),
    *("rows.jsonl", "rows.csv", "base.json", "qrels.txt", "utf-16", "idna", "rot13", "zlib", ";"),
    *("worst", "max-t", "any", "exceeds", "non_inferior", "wilcoxon", "bootstrap", "t", "doc_name"),
    *("char", "jieba", "skip", "error", "contains", "exact", "fail", "pass", "none", "fixture"),
    *("yes", "0,5", "٣", "１", "²", "1e999", "-0", "file://t.csv", "file://" + "y" * 400, "{{q}}"),
)
KEYS: Final = (
    *("min", "max", "mean", "by", "em", "f1", "doc_name", "where", "model", "path", "rows", "use"),
    *("type", "name", "options", "quantile", "lower_bound", "q", "profile", "price", "x-", "url"),
    *("answer", "references", "contexts", "id", "reference_ids", "retrieved_ids", "weighted_score"),
    *("k", "rel", "gains", "tokenizer", "baseline", "metrics", "mode", "max_drop", "test"),
    *("score", "grade", "relevance", "label", "annotator", "digest", "drawn", "messages", "role"),
)
NUMBERS: Final = (
    *(0, 1, -1, 2, 7, 10**6, 2**31, 2**63, 10**18, 10**30, 10**400, -(10**30)),
    *(0.5, -0.0, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf),
)


@dataclass(frozen=True, slots=True)
class Odd:
    """A value that no writer of JSON gets through: its JSON text, and the object itself."""

    text: str
    made: Any


def deep(chance: random.Random, depth: int, inside: Any = "x") -> Odd:
    """Return ``inside``, a JSON scalar, below so many lists, mappings, or both in turn."""
    kind = chance.choice(("[", "{", "[{"))
    text, made = ('"x"' if inside == "x" else _literal(inside)), inside
    opened = [kind[level % len(kind)] for level in range(depth)]
    for mark in opened:
        made = [made] if mark == "[" else {"a": made}
    begin = "".join("[" if mark == "[" else '{"a": ' for mark in reversed(opened))
    end = "".join("]" if mark == "[" else "}" for mark in opened)
    return Odd(f"{begin}{text}{end}", made)


def digits(chance: random.Random, count: int) -> Odd:
    """Return a whole number of so many digits."""
    text = (
        chance.choice(("", "", "-")) + str(chance.randrange(1, 10)) + "0123456789" * (count // 10)
    )
    text = text[: count + text.startswith("-")].ljust(count + text.startswith("-"), "7")
    return Odd(text, int(Decimal(text)))


def number(chance: random.Random) -> Odd:
    """Return a number that is no whole one: of any size, not a number, or nearly nothing."""
    pick = chance.random()
    if pick < 0.5:
        text = f"{chance.choice(('', '-'))}{chance.choice(('1', '9.99', '0.1', '2.5'))}"
        text += f"e{chance.choice(('', '-', '+'))}{chance.randrange(420)}"
    elif pick < 0.65:
        text = f"{chance.choice(('1', '0', '-1'))}.{'0' * chance.randrange(1, 5000)}1"
    else:
        text = chance.choice(
            (
                *("NaN", "Infinity", "-Infinity", "-0.0", "-0", "4.9e-324", "2.2e-308", "1e5000"),
                *("1.8e308", "1e-5000", "9007199254740993", "9223372036854775808", "1E400"),
            )
        )
    return Odd(text, _float(text))


def _float(text: str) -> float:
    return float(text.replace("Infinity", "inf"))


def _literal(value: Any) -> str:
    return {None: "null", True: "true", False: "false"}.get(value, str(value))


def value(chance: random.Random, depth: int = 3) -> Any:
    """Return a value of any of JSON's types, the odd ones more often than the usual."""
    pick = chance.random()
    if pick < 0.3:
        return chance.choice(TEXTS)
    if pick < 0.55:
        return chance.choice(NUMBERS)
    if pick < 0.68:
        return chance.choice([None, True, False, [], {}, [None], [[]], {"": None}, [{}]])
    if pick < 0.7:
        return deep(chance, chance.choice((30, 60, 70, 300, 3000)))
    if depth == 0:
        return chance.randrange(100)
    if pick < 0.85:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {key(chance): value(chance, depth - 1) for _ in range(chance.randrange(4))}


def key(chance: random.Random) -> str:
    """Return a name that some mapping has, at times a text that none has."""
    return chance.choice(TEXTS if chance.random() < 0.3 else KEYS)


def parts_of(tree: Any) -> list[tuple[Any, Any]]:
    """Return the keys or places of what is in a tree, and that."""
    if isinstance(tree, dict):
        return list(tree.items())
    return list(enumerate(tree)) if isinstance(tree, list) else []


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a tree; not below 50 levels."""
    found, level = [], [tree]
    for _ in range(50):
        inner = [(part, parts_of(part)) for part in level]
        found += [(part, at) for part, known in inner for at, _ in known]
        level = [child for _, known in inner for _, child in known]
    return found


def mutated(chance: random.Random, tree: Any) -> Any:
    """Return a copy of a tree with one to four changes."""
    tree = copy.deepcopy(tree)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        known = places(tree)
        if not known:
            return value(chance)
        at, name = chance.choice(known)
        how = chance.random()
        if how < 0.6:
            at[name] = value(chance)
        elif how < 0.7:
            del at[name]
        elif how < 0.8:
            at[name] = [at[name]]
        elif how < 0.9 and isinstance(at, dict):
            at[key(chance)] = at.pop(name)
        elif isinstance(at, dict):
            at[key(chance)] = value(chance)
        else:
            at.append(value(chance))
    return tree


def with_one(chance: random.Random, tree: Any, odd: Callable[[Any], Odd]) -> Any:
    """Return a copy of a tree in which ``odd(what was there)`` is at one of its places."""
    tree = copy.deepcopy(tree)
    known = places(tree)
    if not known or chance.random() < 0.03:
        return odd(tree)
    at, name = chance.choice(known)
    at[name] = odd(at[name])
    return tree


def plain(tree: Any) -> Any:
    """Return a tree with the objects that its odd values stand for; Python code hands such over."""
    if isinstance(tree, Odd):
        return tree.made
    if isinstance(tree, dict):
        return {name: plain(part) for name, part in tree.items()}
    return [plain(part) for part in tree] if isinstance(tree, list) else tree
