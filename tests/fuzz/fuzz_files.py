"""Readers of what lies on disk: scenarios, data, labels, other tools' files, and runs."""

from __future__ import annotations

import contextlib
import datetime
import json
import random
import sqlite3
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Final

from fuzz_cases import OBJECTS, QUICK, SLOW, Reader
from fuzz_forms import (
    Form,
    as_csv,
    as_is,
    as_json,
    as_lines,
    as_parquet,
    as_sets,
    as_tsv,
    as_xlsx,
    as_yaml,
    json_text,
    lines_of,
    packed,
    recoded,
)
from fuzz_ground import RUN, Ground, evaluated, runs_of, written
from fuzz_seeds import FILES, LABELS, PROMPTFOO, ROWS, SCENARIOS, SHAPES
from fuzz_values import parts_of, places, value

from pytest_rageval.datasets.labels import (
    Labelled,
    LabelReading,
    LabelRules,
    LabelScale,
    read_label_file,
)
from pytest_rageval.datasets.load import load_dataset
from pytest_rageval.datasets.trec import load_trec
from pytest_rageval.first_scenario.propose import propose
from pytest_rageval.importing.promptfoo import import_promptfoo
from pytest_rageval.importing.written_files import rows_text, scenario_text
from pytest_rageval.model import MetricColumn, SampleResult, ScenarioInfo
from pytest_rageval.notebooks.frames import given_rows
from pytest_rageval.plugin.scaffold import needed_by
from pytest_rageval.questions.documents.read import read_documents
from pytest_rageval.reports.history import all_runs, trend_of
from pytest_rageval.results.draws import DrawRecord, StratumRecord, draws_chunks, read_records
from pytest_rageval.results.run_point import read_point
from pytest_rageval.results.saved_run import is_saved_run
from pytest_rageval.results.stored_result import stored_result
from pytest_rageval.scenario.data_specs import AnswersSpec, DatasetSpec
from pytest_rageval.scenario.yaml.tree import refuse_depth
from pytest_rageval.serving.mcp.saved_tools import (
    ExplainArguments,
    SamplesArguments,
    compared_runs,
    explained_sample,
    listed_samples,
)
from pytest_rageval.shards.merge import find_shards, merged
from pytest_rageval.shards.on_disk import changes_since
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import CaseRow, End, Head, shard_lines

# Scenarios


def _scenario(ground: Ground, raw: bytes, chance: random.Random) -> None:
    name = "s.yaml" if chance.random() < 0.7 or raw[:1] not in b"{[" else "s.json"
    evaluated(ground, ground.write(name, raw))


def _mapping(ground: Ground, tree: Any, chance: random.Random) -> None:
    if chance.random() < 0.3 and (known := places(tree)):
        at, name = chance.choice(known)
        at[name] = chance.choice(_ODD_OBJECTS)
        if isinstance(at, dict) and chance.random() < 0.3:
            at[chance.choice([None, 7, (1, 2), b"k", 0.5])] = value(chance)
    evaluated(ground, tree)


_ODD_OBJECTS: Final = (
    *(b"bytes", {1, 2}, frozenset(), object(), (1, (2,)), datetime.date(2026, 1, 1)),
    *(Decimal("0.5"), range(3), complex(1, 2), len, Ellipsis),
)


def _changes(ground: Ground, raw: bytes, chance: random.Random) -> None:
    evaluated(ground, chance.choice(SCENARIOS[:2]), [one for one in lines_of(raw) if one])


def _changed_keys(ground: Ground, tree: Any, chance: random.Random) -> None:
    changes = tree if isinstance(tree, dict) else {"top_k": tree}
    evaluated(ground, chance.choice(SCENARIOS[:2]), changes)


_SETS: Final[list[Any]] = [
    {
        "metric_weights.em": 2,
        "dataset": {"path": "rows.jsonl", "limit": 2},
        "gates.em": {"mean": {"min": 0.5}},
        'doc_weights."d1"': 0.5,
    },
    {"dataset.limit": 2, "thresholds.em": {"min": 0.5}, "top_k": 3},
    {"dataset.seed": 7, "gates.unscored": 0.5},
]

# Data


def _rows(suffix: str, ground: Ground, raw: bytes, chance: random.Random) -> None:
    keys: dict[str, Any] = {"on_invalid": chance.choice(["fail", "skip", "xfail"])}
    if chance.random() < 0.3:
        keys["key_map"] = {"answer": chance.choice(["answer", "meta.source", "meta.list[*].t"])}
    if suffix in _TEXTUAL and chance.random() < 0.1:
        raw, keys["encoding"] = recoded(chance, raw)
    if chance.random() < 0.05:
        keys["delimiter"] = chance.choice([",", ";", "tab", "|"])
    name = f"r.{suffix}"
    if chance.random() < 0.1:
        raw, name = packed(chance, raw), f"{name}.gz"
    ground.write(name, raw)
    _read(ground, {"path": name, **keys}, chance)


def _read(ground: Ground, keys: dict[str, Any], chance: random.Random) -> None:
    """Read data as a scenario's; some of them are scored, which takes ten times longer."""
    if chance.random() < 0.15:
        evaluated(ground, _plain_scenario(keys))
    else:
        load_dataset(DatasetSpec.model_validate(keys), ground.folder, "s.yaml")


_TEXTUAL: Final = ("jsonl", "json", "yaml", "csv", "tsv")


def _plain_scenario(dataset: dict[str, Any]) -> dict[str, Any]:
    metrics = ["em", "f1", "stringem", "mrr", "hit_rate@2", "ndcg", "string_similarity"]
    return {"name": "s", "dataset": dataset, "metrics": metrics, "gates": {"unscored": 1.0}}


def _inline(ground: Ground, rows: Any, chance: random.Random) -> None:
    if isinstance(rows, list) and chance.random() < 0.85:
        refuse_depth(rows, "s.yaml")  # as of every scenario
        load_dataset(DatasetSpec(rows=rows, on_invalid="skip"), ground.folder, "s.yaml")
    else:
        evaluated(ground, _plain_scenario({"rows": rows, "on_invalid": "skip"}))


def _handed(ground: Ground, rows: Any, chance: random.Random) -> None:
    if chance.random() < 0.15:
        evaluated(ground, {"metrics": ["em", "f1", "ndcg"]}, dataset=rows)
    else:
        given = given_rows(rows)
        load_dataset(DatasetSpec(path=given.shown), ground.folder, "s.yaml", given=given)


def _corpus(ground: Ground, raw: bytes, _: random.Random) -> None:
    ground.write("chunks.jsonl", raw)
    evaluated(ground, SCENARIOS[2])


def _trec(name: str, ground: Ground, raw: bytes, chance: random.Random) -> None:
    ground.write(name, raw)
    if chance.random() < 0.2:
        evaluated(ground, SCENARIOS[3])
    else:
        _judged_run(ground, {})


def _judged_run(ground: Ground, keys: dict[str, str]) -> None:
    spec = DatasetSpec.model_validate({"qrels_path": "qrels.txt", "run_path": "a.run", **keys})
    load_trec(spec, ground.folder, str)


def _judgements(ground: Ground, raw: bytes, chance: random.Random) -> None:
    """A table as judgements or as a run, in other layouts than TREC's own."""
    name = f"odd.{chance.choice(['tsv', 'jsonl', 'csv'])}"
    ground.write(name, raw)
    keys = {"qrels_path": name} if chance.random() < 0.5 else {"run_path": name}
    if chance.random() < 0.2:
        evaluated(ground, {**SCENARIOS[3], **keys})
    else:
        _judged_run(ground, keys)


def _joined(ground: Ground, raw: bytes, chance: random.Random) -> None:
    ground.write("odd.jsonl", raw)
    if chance.random() < 0.85:
        spec = DatasetSpec(path="rows.jsonl", key_map={"answer": "his_response"})
        answers = AnswersSpec(path="odd.jsonl", prefix="his_", extra_rows="ignore")
        load_dataset(spec, ground.folder, "s.yaml", answers=answers)
        return
    second = {"path": "odd.jsonl", "prefix": "his_", "extra_rows": "ignore"}
    first = {"path": "rows.jsonl", "key_map": {"answer": "his_response"}, "on_invalid": "skip"}
    evaluated(ground, {"dataset": first, "answers": second, "metrics": ["em"]})


def _first_scenario(ground: Ground, raw: bytes, chance: random.Random) -> None:
    path = ground.write(f"first.{chance.choice(['jsonl', 'csv', 'json', 'tsv'])}", raw)
    given = {} if chance.random() < 0.8 else {"key_map": {"references": "output[*].answer"}}
    proposal = propose(path, ground.folder, given)
    assert proposal.text


def _mixed(chance: random.Random, tree: Any) -> bytes:
    return chance.choice((as_lines, as_csv, as_json, as_tsv))(chance, tree)


def _labels(suffix: str, ground: Ground, raw: bytes, chance: random.Random) -> str:
    if chance.random() < 0.1:
        raw, _ = recoded(chance, raw)
    ground.write(f"labels.{suffix}", raw)
    levels = chance.choice([(0.0, 1.0), (0.0, 0.5, 1.0)])
    known = {
        "a": Labelled("x00000000000a", "five days"),
        "b": Labelled("x0123456789ab", "no"),
        "c": _C,
    }
    rules = LabelRules({"r": LabelScale(levels)}, ("em",), known, is_part=chance.random() < 0.2)
    found = LabelReading()
    spec = DatasetSpec(path=f"labels.{suffix}")
    read_label_file(spec, ground.folder, f"labels.{suffix}", "s.yaml", rules, found)
    return "problems" if found.problems else "result"


def _document(ground: Ground, raw: bytes, chance: random.Random) -> str:
    name = f"document.{chance.choice(['md', 'txt', 'rst', 'html', 'pdf', 'json', 'jsonl', 'csv'])}"
    return "problems" if read_documents(ground.write(name, raw)).left_out else "result"


_TEXTS_OF_ALL: Final = [
    b"---\ntitle: A\n---\n# B\n\n" + b"Refunds take five days. " * 60 + b"\n\nC\n-\n```\nx\n```\n",
    "第一章 退款\n一、期限\n".encode()
    + "退款需要五天。".encode() * 99
    + b"\n.. note:: a\n\n   ::\n",
    b"<title>A</title><nav>B</nav><h1>C</h1><p>"
    + b"Five days. " * 9
    + b"<table><td>D</table><pre>",
    b'{"doc_name": "d1", "title": "A", "text": "' + b"Refunds take five days. " * 9 + b'"}\n',
    b"%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\ntrailer<</Root 1 0 R>>\n%%EOF",
]


_C: Final = Labelled("x0123456789ab", "", ("a context",), "How?")

# Other tools


def _promptfoo(ground: Ground, raw: bytes, chance: random.Random) -> None:
    path = ground.write(f"bot.{chance.choice(['yaml', 'yaml', 'json'])}", raw)
    _import(ground, path)


def _named_by_promptfoo(ground: Ground, raw: bytes, chance: random.Random) -> None:
    ground.write(chance.choice(["t.csv", "t.yaml", "v.json", "prompt.txt"]), raw)
    _import(ground, ground.write("bot.json", as_json(chance, PROMPTFOO[0])))


def _import(ground: Ground, path: Path) -> None:
    imported = import_promptfoo(path, path.name, ground.folder)
    rows_text(imported.rows).encode()
    scenario_text(imported, path.name, "pytest s.yaml").encode()
    needed_by(imported.scenario)


# Saved runs


def _saved(ground: Ground, raw: bytes, chance: random.Random) -> None:
    """A file of a run as each reads it who does: a comparison, history, the tools, the page."""
    file = ground.write("base.json", raw)
    is_saved_run(file)
    run = ground.write("s/run/results.json", raw).parent
    read_point(ground.folder, "s/run")
    good = runs_of(ground)[0]
    match chance.randrange(7):
        case 0:
            evaluated(ground, SCENARIOS[1])
        case 1:
            compared_runs(*chance.choice([(run, good), (good, run)]), {"a": "a", "b": "b"})
        case 2:
            written(stored_result(run))
        case 3:
            listed_samples(run, "s/run", SamplesArguments(run="s/run"))
        case 4:
            explained_sample(ground.folder, run, "s/run", ExplainArguments(run="s/run", id="a"))
        case 5:
            base = ground.empty("runs")
            ground.write("runs/s/20260101T000000-000000/results.json", raw)
            all_runs(base)
            trend_of(base, "s")
        case _:
            compared_runs(run, run, {"a": "a", "b": "b"})


def _as_written(chance: random.Random, tree: Any) -> bytes:
    """Return a tree as ``results.json`` is written: a line for each key, and for each sample."""
    if not isinstance(tree, dict) or chance.random() < 0.2:
        return as_json(chance, tree)
    head = "".join(
        f"{json.dumps(name)}: {json_text(part)},\n"
        for name, part in tree.items()
        if name != "samples"
    )
    samples = ",\n".join(json_text(part) for _, part in parts_of(tree.get("samples")))
    return f'{{\n{head}"samples": [\n{samples}\n]}}\n'.encode()


def _beside_run(ground: Ground, raw: bytes, chance: random.Random) -> None:
    """What lies in a run folder beside results.json."""
    good = (runs_of(ground)[0] / "results.json").read_bytes()
    run = ground.write("s/run/results.json", good).parent
    if chance.random() < 0.5:
        ground.write("s/run/metadata.json", raw)
        read_point(ground.folder, "s/run")
        return
    ground.write("s/run/scenario.snapshot.yaml", raw)
    explained_sample(ground.folder, run, "s/run", ExplainArguments(run="s/run", id="a"))


def _draws(ground: Ground, raw: bytes, _: random.Random) -> None:
    for one in read_records(ground.write("draws.json", raw)):
        one.plain()
        "".join(draws_chunks([one]))


def _drawn() -> Any:
    strata = {"s-1": StratumRecord(3, 0.5, "low"), "s-2": StratumRecord(1, 0.5, "high")}
    digests, of = {"a": "x0123456789ab", "b": "x0"}, {"a": "s-1", "b": "s-2"}
    drawn = DrawRecord("qa/run", "r", 7, "2026-01-01T00:00:00Z", digests, strata, of)
    return json.loads("".join(draws_chunks([drawn])))


def _shard(ground: Ground, raw: bytes, _: random.Random) -> None:
    path = ground.write("shards/1/shard.jsonl", raw)
    for found in merged(find_shards([path.parent])):
        list(found.rows())
        assert isinstance(found.usage, dict | None)
        list(found.ends)
        list(changes_since(found.info, ground.folder))


def _shard_of_two() -> list[Any]:
    info = ScenarioInfo(
        "qa", "s.json", "s.json", (MetricColumn("em"),), total=2, selected=2,
        snapshot="name: qa\nmetrics: [em]\ndataset: {path: rows.jsonl}\n",
    )  # fmt: skip
    head = Head(Part.parse("1/1"), "1", None, None, 0, RUN.started_at, False, ("s.json",), "", info)
    cases = [
        SampleResult(f"q{at}", at, weighted_score=1.0, scores={"em": 1.0}, metadata={"a": [1]})
        for at in range(2)
    ]
    report = {"nodeid": "s.json::q0", "when": "call", "outcome": "failed", "longrepr": "text"}
    rows = [CaseRow(f"s.json::{one.sample_id}", one, (report,)) for one in cases]
    end = End(RUN.finished_at, 2, 2, ("lost",), (report,), 2, 2, {"calls": 1, "cost_usd": None})
    return [json.loads(line) for line in shard_lines(head, rows, end)]


def _history(ground: Ground, raw: bytes, chance: random.Random) -> None:
    """The file for charts, or the database of an earlier version; a run is added."""
    base = ground.empty("runs")
    (base / chance.choice(["history.csv", "history.sqlite"])).write_bytes(raw)
    evaluated(ground, SCENARIOS[0], write_to=base)
    assert len(all_runs(base)) == 1


def _histories(ground: Ground) -> list[bytes]:
    base = ground.empty("runs-before")
    evaluated(ground, SCENARIOS[0], write_to=base)
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE runs (folder, scenario, started_at, commit_sha, failed)")
        database.execute("CREATE TABLE metrics (folder, name, position, mean, failed)")
        database.execute("INSERT INTO runs VALUES ('s/1', 's', '2026-01-01', 'abc', 2)")
        database.execute("INSERT INTO metrics VALUES ('s/1', 'em', 0, 0.5, 1)")
        database.commit()
        return [(base / "history.csv").read_bytes(), database.serialize()]


FORMS: Final[dict[str, Form]] = {
    "jsonl": as_lines,
    "json": as_json,
    "yaml": as_yaml,
    "csv": as_csv,
    "tsv": as_tsv,
    "xlsx": as_xlsx,
    "parquet": as_parquet,
}
_LAYOUTS: Final = [FILES["qrels.tsv"], FILES["a.jsonl"], b"q1,d1,2\nq2,d3,1\n"]
_SEARCHED: Final[list[Any]] = [[{"doc_name": "doc", "text": "a"}, {"doc_name": "d1", "text": "b"}]]
_PLAIN: Final[list[Any]] = [
    [
        {"id": "k", "question": "How long?", "answer": "five days", "references": ["five days"]},
        {"id": "l", "question": "How much?", "answer": "nothing", "references": ["7", "7 euros"]},
    ]
]
_SECOND: Final[list[Any]] = [[{"id": one["id"], "response": one.get("answer")} for one in ROWS]]


def file_readers(ground: Ground) -> list[Reader]:
    """Return the readers of files; the ground has a saved run to begin with."""
    about = json.loads((runs_of(ground)[0] / "metadata.json").read_bytes())
    return [
        Reader("scenario", SCENARIOS, _scenario, as_yaml, turns=SLOW),
        Reader("scenario mapping", SCENARIOS, _mapping, OBJECTS, turns=SLOW),
        Reader("overrides", _SETS, _changes, as_sets, turns=SLOW),
        Reader("overrides mapping", _SETS, _changed_keys, OBJECTS, turns=SLOW),
        *(
            Reader(
                f"data {suffix}",
                [ROWS] if suffix in _TABLES else SHAPES,
                partial(_rows, suffix),
                form,
                turns=SLOW if suffix in ("yaml", "xlsx") else 3,
            )
            for suffix, form in FORMS.items()
        ),
        Reader("data inline", [ROWS], _inline, OBJECTS),
        Reader("data handed over", [ROWS], _handed, OBJECTS),
        Reader("answers", _SECOND, _joined, as_lines),
        Reader("corpus", _SEARCHED, _corpus, as_lines, turns=SLOW),
        Reader("qrels", [FILES["qrels.txt"]], partial(_trec, "qrels.txt"), as_is),
        Reader("trec run", [FILES["a.run"]], partial(_trec, "a.run"), as_is),
        Reader("judgements", _LAYOUTS, _judgements, as_is, turns=QUICK),
        Reader("first scenario", [*_PLAIN, *SHAPES], _first_scenario, _mixed),
        Reader("labels csv", LABELS, partial(_labels, "csv"), as_csv, turns=QUICK),
        Reader("labels jsonl", LABELS, partial(_labels, "jsonl"), as_lines, turns=QUICK),
        Reader("document", _TEXTS_OF_ALL, _document, as_is, turns=QUICK),
        Reader("promptfoo", PROMPTFOO, _promptfoo, as_yaml, turns=SLOW),
        Reader("promptfoo files", _named(), _named_by_promptfoo, as_is, turns=SLOW),
        Reader("saved run", [ground.base], _saved, _as_written),
        Reader("run folder", [about, PROJECT_KEYS], _beside_run, as_json),
        Reader("draws", [_drawn()], _draws, as_json, turns=QUICK),
        Reader("shard", [_shard_of_two()], _shard, as_lines, turns=QUICK),
        Reader("history", ground.once(_histories), _history, as_is),
    ]


PROJECT_KEYS: Final[dict[str, Any]] = {
    "name": "qa",
    "dataset": {"path": "rows.jsonl", "rows": None},
}
_TABLES: Final = ("csv", "tsv", "xlsx", "parquet")


def _named() -> list[bytes]:
    return [FILES[name] for name in ("t.csv", "t.yaml", "v.json", "prompt.txt")]
