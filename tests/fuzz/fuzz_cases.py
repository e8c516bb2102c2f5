"""Scenarios, rows and saved runs as no user should write them: valid ones with something wrong."""

from __future__ import annotations

import copy
import csv
import datetime
import gzip
import io
import json
import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

import yaml
from fuzz_seeds import FILES, ROWS, SCENARIOS

TEXTS: Final = (
    *("", " ", "x", "x" * 5000, "\ud800", "\x00", "\x1b[31m", "\u202e", "é", "e\u0301", "北京"),
    *("null", "1e-2", "5%", "0x10", "1_000", "nan", "inf", "a.b", "a[0].b", "hits[*].t", "${HOME}"),
    *("[", "{}", "['a' 'b']", '["a"]', "array([1])", "{'d1': nan}", "=1+1", "../..", "/", "."),
    *("a:b", "fuzz_app:none", "fuzz_app", "f1", "em", "ndcg@10", "P(rel=2)@5", "f1(", "@", "rouge"),
    *("rows.jsonl", "rows.csv", "base.json", "qrels.txt", "utf-16", "idna", "rot13", "zlib", ";"),
    *("worst", "max-t", "any", "exceeds", "non_inferior", "wilcoxon", "bootstrap", "t", "doc_name"),
    *("char", "jieba", "skip", "error", "contains", "exact", "fail", "pass", "none", "fixture"),
)
KEYS: Final = (
    *("min", "max", "mean", "by", "em", "f1", "doc_name", "where", "model", "path", "rows", "use"),
    *("type", "name", "options", "quantile", "lower_bound", "q", "profile", "price", "x-", "url"),
    *("answer", "references", "contexts", "id", "reference_ids", "retrieved_ids", "weighted_score"),
    *("k", "rel", "gains", "tokenizer", "baseline", "metrics", "mode", "max_drop", "test"),
)
NUMBERS: Final = (
    *(0, 1, -1, 2, 7, 10**6, 2**31, 2**63, 10**18, 10**30, 10**400, -(10**30)),
    *(0.5, -0.0, 1e-320, 1e308, -1e308, math.nan, math.inf, -math.inf),
)
ENCODINGS: Final = ("utf-8", "utf-16", "gb18030", "cp1252", "utf-7", "utf-8-sig", "shift_jis")


@dataclass
class Case:
    """What is fed: a scenario as a file (``name``) or as a mapping, and the files next to it."""

    kind: str
    files: dict[str, bytes] = field(default_factory=dict)
    name: str = "s.yaml"
    mapping: Any = None
    overrides: list[str] | dict[str, Any] = field(default_factory=list)


def make_case(seed: int, number: int, base: Mapping[str, Any]) -> Case:
    """Return case ``number`` of a seed, always the same one; ``base`` is a real results.json."""
    chance = random.Random(f"{seed}/{number}")
    kinds = list(KINDS)
    return KINDS[kinds[number % len(kinds)]](chance, base)


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
        return _nested(chance.choice([30, 300, 3000]), chance.choice([list, dict]))
    if depth == 0:
        return chance.randrange(100)
    if pick < 0.85:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {_key(chance): value(chance, depth - 1) for _ in range(chance.randrange(4))}


def _key(chance: random.Random) -> str:
    return chance.choice(TEXTS if chance.random() < 0.3 else KEYS)


def _nested(depth: int, kind: type) -> Any:
    found: Any = "x"
    for _ in range(depth):
        found = [found] if kind is list else {"a": found}
    return found


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a tree; not below 50 levels."""
    found, level = [], [tree]
    for _ in range(50):
        below = []
        for part in level:
            inner = (
                list(part.items())
                if isinstance(part, dict)
                else list(enumerate(part))
                if isinstance(part, list)
                else []
            )
            found += [(part, key) for key, _ in inner]
            below += [child for _, child in inner]
        level = below
    return found


def mutated(chance: random.Random, tree: Any) -> Any:
    """Return a copy of a tree with one to four changes."""
    tree = copy.deepcopy(tree)
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        known = places(tree)
        if not known:
            return value(chance)
        at, key = chance.choice(known)
        how = chance.random()
        if how < 0.6:
            at[key] = value(chance)
        elif how < 0.7:
            del at[key]
        elif how < 0.8:
            at[key] = [at[key]]
        elif how < 0.9 and isinstance(at, dict):
            at[_key(chance)] = at.pop(key)
        elif isinstance(at, dict):
            at[_key(chance)] = value(chance)
        else:
            at.append(value(chance))
    return tree


def shaken(chance: random.Random, raw: bytes) -> bytes:
    """Return bytes with a few of them changed, cut or put in."""
    made = bytearray(raw)
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(made) + 1)
        how = chance.random()
        if how < 0.4:
            made[at:at] = chance.choice(_PIECES)
        elif how < 0.7:
            made[at : at + 1] = bytes([chance.randrange(256)])
        elif how < 0.9:
            del made[at : at + chance.choice([1, 3, 20])]
        else:
            made[at:at] = made[: chance.randrange(60)]
    return bytes(made)


_PIECES: Final = (
    *(b"\n", b"\r", b"\t", b": ", b"- ", b"&a ", b"*a ", b"<<: ", b"!!set ", b"{", b"]", b'"'),
    *(b"'", b"#", b"|\n", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\\ud800", b"NaN", b"1e999"),
    *(b"9" * 5000, b"[" * 2000, b"{'a':" * 500, b";", b",", b"\xed\xa0\x80", b"?", b"%", b"---\n"),
)


def _as_file(chance: random.Random, tree: Any) -> tuple[str, bytes]:
    """Return a tree as YAML or JSON; lone surrogates are escapes, or what is no UTF-8."""
    if chance.random() < 0.4:
        try:
            text = yaml.safe_dump(tree, allow_unicode=True, sort_keys=False)
            return "s.yaml", text.encode("utf-8", "surrogatepass")
        except (RecursionError, yaml.YAMLError):
            pass
    return chance.choice([("s.json"), ("s.yaml")]), _json(tree).encode()


def _json(tree: Any) -> str:
    try:
        return json.dumps(tree)
    except RecursionError:
        return "[" * 3000 + "]" * 3000


def _scenario_file(chance: random.Random, base: Mapping[str, Any]) -> Case:
    name, raw = _as_file(chance, mutated(chance, chance.choice(SCENARIOS)))
    return Case("scenario file", {name: raw}, name)


def _shaken_scenario(chance: random.Random, base: Mapping[str, Any]) -> Case:
    name, raw = _as_file(chance, chance.choice(SCENARIOS))
    return Case("scenario text", {name: shaken(chance, raw)}, name)


def _scenario_mapping(chance: random.Random, base: Mapping[str, Any]) -> Case:
    tree = mutated(chance, chance.choice(SCENARIOS))
    if chance.random() < 0.3 and (known := places(tree)):
        at, key = chance.choice(known)
        at[key] = chance.choice(_OBJECTS)
        if isinstance(at, dict) and chance.random() < 0.3:
            at[chance.choice([None, 7, (1, 2), b"k", 0.5])] = value(chance)
    return Case("scenario mapping", mapping=tree)


_OBJECTS: Final = (
    *(b"bytes", {1, 2}, frozenset(), object(), (1, (2,)), datetime.date(2026, 1, 1)),
    *(Decimal("0.5"), range(3), complex(1, 2), len, Ellipsis),
)


def _override(chance: random.Random, base: Mapping[str, Any]) -> Case:
    tree = chance.choice(SCENARIOS)
    name, raw = _as_file(chance, tree)
    paths = _paths(tree)
    changes: list[str] = []
    for _ in range(chance.choice([1, 2])):
        path = list(chance.choice(paths)) if chance.random() < 0.8 else [_key(chance)]
        if chance.random() < 0.2:
            path.append(_key(chance))
        changes.append(f"{'.'.join(map(str, path))}={_json(value(chance))}")
    if chance.random() < 0.3:
        return Case("override", {name: raw}, name, overrides={_key(chance): value(chance)})
    return Case("override", {name: raw}, name, overrides=changes)


def _paths(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [path for key, part in inner for path in ((*here, key), *_paths(part, (*here, key)))]


def _rows(chance: random.Random, base: Mapping[str, Any]) -> Case:
    rows = [mutated(chance, row) if chance.random() < 0.7 else row for row in ROWS]
    suffix = chance.choice(["jsonl", "json", "csv", "tsv", "inline"])
    keys: dict[str, Any] = {"on_invalid": chance.choice(["fail", "skip", "xfail"])}
    if chance.random() < 0.3:
        keys["key_map"] = {"answer": chance.choice(["answer", "meta.source", "meta.list[*].t"])}
    if suffix == "inline":
        return Case("rows", mapping=_plain_scenario({"rows": rows, **keys}))
    encoding = chance.choice(ENCODINGS) if chance.random() < 0.2 else "utf-8"
    text = _table(chance, rows, suffix) if suffix in ("csv", "tsv") else _records(rows, suffix)
    raw = text.encode(encoding, "surrogatepass" if "utf" in encoding else "replace")
    if chance.random() < 0.4:
        raw = shaken(chance, raw)
    path = f"r.{suffix}"
    if chance.random() < 0.1:
        raw, path = gzip.compress(raw, 1, mtime=0), f"{path}.gz"
        raw = shaken(chance, raw) if chance.random() < 0.3 else raw
    keys |= {"path": path, "encoding": encoding}
    if chance.random() < 0.1:
        keys["delimiter"] = chance.choice([",", ";", "tab", "|"])
    return Case("rows", {path: raw}, mapping=_plain_scenario(keys))


def _plain_scenario(dataset: dict[str, Any]) -> dict[str, Any]:
    metrics = ["em", "f1", "stringem", "mrr", "hit_rate@2", "ndcg", "string_similarity"]
    return {"name": "s", "dataset": dataset, "metrics": metrics, "gates": {"unscored": 1.0}}


def _records(rows: list[Any], suffix: str) -> str:
    if suffix == "json":
        return _json(rows)
    return "".join(f"{_json(row)}\n" for row in rows)


def _table(chance: random.Random, rows: list[Any], suffix: str) -> str:
    """Return rows as a table, lists as JSON or as Python writes them."""
    mappings = [row for row in rows if isinstance(row, dict)]
    names = list(dict.fromkeys(name for row in mappings for name in row))
    write = chance.choice([_json, str])
    mark = "\t" if suffix == "tsv" else chance.choice([",", ",", ";", "|"])
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=mark, lineterminator=chance.choice(["\n", "\r\n"]))
    writer.writerow(names)
    for row in mappings:
        cells = (row.get(name) for name in names)
        writer.writerow([cell if isinstance(cell, str) else _cell(write, cell) for cell in cells])
    return stream.getvalue()


def _cell(write: Callable[[Any], str], cell: Any) -> str:
    try:
        return "" if cell is None else write(cell)
    except (RecursionError, ValueError):  # too deep, or a number with too many digits
        return "[" * 3000


def _saved_run(chance: random.Random, base: Mapping[str, Any]) -> Case:
    if chance.random() < 0.2:
        raw = shaken(chance, _json(base).encode())
    else:
        raw = _json(mutated(chance, base)).encode()
    scenario = SCENARIOS[1] if chance.random() < 0.7 else mutated(chance, SCENARIOS[1])
    return Case("saved run", {"base.json": raw}, mapping=scenario)


def _neighbour(chance: random.Random, base: Mapping[str, Any]) -> Case:
    """A corpus, qrels, a run, or rows that were shaken."""
    at, name = chance.choice([(2, "chunks.jsonl"), (2, "rows.csv"), (3, "qrels.txt"), (3, "a.run")])
    return Case("files", {name: shaken(chance, FILES[name])}, mapping=SCENARIOS[at])


KINDS: Final[dict[str, Callable[[random.Random, Mapping[str, Any]], Case]]] = {
    "scenario file": _scenario_file,
    "rows": _rows,
    "scenario mapping": _scenario_mapping,
    "saved run": _saved_run,
    "scenario text": _shaken_scenario,
    "override": _override,
    "files": _neighbour,
}
