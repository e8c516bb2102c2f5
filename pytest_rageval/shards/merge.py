"""Brings shards together: which of them count, what is missing, and what may not be merged."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from fnmatch import fnmatch
from itertools import pairwise
from pathlib import Path
from typing import Final

from pytest_rageval.model import ControlVerdict, ScenarioInfo
from pytest_rageval.model.measured import CODE, code_differences
from pytest_rageval.shards.part import Part
from pytest_rageval.shards.shard_file import (
    SHARD_FILE,
    STARTED,
    CaseRow,
    End,
    Shard,
    ShardError,
    case_rows,
    read_shard,
    read_started,
)

# What messages call the facts that all shards of a run have in common.
_SAID: Final = {
    "snapshot": "another scenario, or other options",
    "snapshot_sha256": "another scenario, or other options",
    "dataset_sha256": "other data",
    "judgements_sha256": "other judgements of documents",
    "metrics": "other definitions of the metrics",
    "baselines": "another saved run to compare with",
    "human": "other labels",
    "hooks": "other hooks of plugins or conftest.py",
    "total": "other data: another number of rows",
    "selected": "another selection of cases (-k, -m, --rag-where, --lf, or a hook that draws)",
}
# They may differ from machine to machine without a difference in any score.
# ``measured``: its code is compared by itself, and the snapshot has the rest.
_LOCAL: Final = frozenset({"warnings", "overridden_by", "measured"})


@dataclass(frozen=True, slots=True)
class Merged:
    """The shards of one scenario, or of one variant of it, that count.

    ``missing`` says which are not there, did not finish or are of an earlier run; ``remarks`` which
    copy of a shard counts, and which shards are of an earlier attempt.
    """

    info: ScenarioInfo
    shards: tuple[Shard, ...]
    missing: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def rows(self) -> Iterator[tuple[Path, CaseRow]]:
        """Yield the cases of all shards that are not cut off, each with its file.

        Raises ShardError if two shards have the same case, and as ``case_rows`` does.
        """
        seen: dict[str, Shard] = {}
        for shard in self.shards:
            if shard.end is None:
                continue
            for row in case_rows(shard):
                other = seen.get(row.nodeid)
                if other is not None:
                    message = (
                        f"shard {shard.part} has the case {row.nodeid}, and so has shard "
                        f"{other.part}, {other.path}: merge shards of one run only"
                    )
                    raise ShardError(str(shard.path), message)
                seen[row.nodeid] = shard
                yield shard.path, row

    @property
    def lost(self) -> tuple[str, ...]:
        """The cases that were lost in a shard, for instance because a worker crashed."""
        return tuple(name for shard in self.shards if shard.end for name in shard.end.lost)

    @property
    def ends(self) -> list[tuple[Shard, End]]:
        """The shards that are not cut off, each with its end."""
        return [(shard, shard.end) for shard in self.shards if shard.end is not None]

    @property
    def controls(self) -> dict[str, ControlVerdict]:
        """What control rows say of each judge; raises ShardError if shards say it differently.

        A shard that did not ask them says nothing: what another found holds; where none did, a
        reason that leaves the judge doubtful does.
        """
        found: dict[str, tuple[Shard, ControlVerdict]] = {}
        for shard in self.shards:
            for name, verdict in (shard.end.controls if shard.end else {}).items():
                first, known = found.get(name, (shard, verdict))
                if None not in (known.passed, verdict.passed) and known.passed != verdict.passed:
                    message = (
                        f"the judge of {name} {_ended(verdict)} its control rows in shard "
                        f"{shard.part}, and {_ended(known)} them in shard {first.part}, "
                        f"{first.path}: is it the same model? Run both shards again"
                    )
                    raise ShardError(str(shard.path), message)
                is_news = verdict.passed is not None or not known.is_doubtful
                found[name] = (
                    (shard, verdict) if known.passed is None and is_news else (first, known)
                )
        return {name: verdict for name, (_, verdict) in found.items()}

    @property
    def workers(self) -> int:
        """How many workers of xdist the shards had together."""
        return sum(shard.end.workers for shard in self.shards if shard.end is not None)

    @property
    def usage(self) -> dict[str, float | None] | None:
        """What all shards asked models for, None if no model was asked."""
        return sum_usage(shard.end.usage for shard in self.shards if shard.end is not None)


def _ended(verdict: ControlVerdict) -> str:
    return "passed" if verdict.passed else "failed"


def sum_usage(
    parts: Iterable[Mapping[str, float | None] | None],
) -> dict[str, float | None] | None:
    """Return the sums of what was used, None for a figure that one part does not know.

    Parts that are None asked no model; None if all are. Where the calls without a price are
    counted, the cost is that of the others.
    """
    known = [part for part in parts if part is not None]
    if not known:
        return None
    found: dict[str, float | None] = {}
    for name in known[0]:
        values = [part.get(name) for part in known]
        numbers = [value for value in values if value is not None]
        is_part = name == "cost_usd" and all("unpriced" in part for part in known) and numbers
        found[name] = sum(numbers) if is_part or len(numbers) == len(values) else None
    return found


def find_shards(places: Sequence[Path]) -> list[Shard]:
    """Return the shards in these folders, at any depth; raises ShardError.

    A place may also be the file of a shard itself.
    """
    files: dict[Path, Path] = {}
    starts: list[Path] = []
    for place in places:
        if not place.exists():
            raise ShardError(str(place), "no such folder")
        below = [place] if place.is_file() else sorted(_below(place))
        found = [path for path in below if path.name == SHARD_FILE or path == place]
        starts += [path for path in below if path not in found]
        if not found:
            raise ShardError(
                str(place),
                f"no {SHARD_FILE} in it. A run with --rag-shard=I/N writes one into its run folder",
            )
        files |= {one.resolve(): one for one in found}
    return [_as_begun_again(read_shard(path), starts) for path in files.values()]


def _as_begun_again(shard: Shard, starts: Iterable[Path]) -> Shard:
    """Return a shard as cut off if one of ``starts`` says that it began again, and wrote no cases.

    What it would have found is not known; the older cases may be of another state of the system.
    """
    for path in starts:
        part, at = read_started(path)
        if part == shard.part and at > shard.head.started_at:
            return replace(shard, path=path, end=None)
    return shard


def _below(place: Path) -> Iterator[Path]:
    """Yield the files of shards, and those that say that one began, at any depth; follows links.

    Raises ShardError for a folder that cannot be read, and for such a file that is no regular one:
    a shard may be hidden there.
    """

    def refuse(error: OSError) -> None:
        raise ShardError(str(error.filename), error.strerror or str(error)) from error

    known: set[str] = set()
    for folder, folders, names in os.walk(place, onerror=refuse, followlinks=True):
        real = os.path.realpath(folder)
        if real in known:
            folders.clear()  # a link that leads back
            continue
        known.add(real)
        for name in names:
            if name != SHARD_FILE and not fnmatch(name, STARTED):
                continue
            path = Path(folder, name)
            if not path.is_file():
                raise ShardError(str(path), "is no regular file, or a link that leads nowhere")
            yield path


def merged(shards: Sequence[Shard]) -> list[Merged]:
    """Return these shards by scenario and variant; raises ShardError where they do not fit."""
    _check_scenarios(shards)
    by_scenario: dict[str, list[Shard]] = defaultdict(list)
    for shard in shards:
        by_scenario[shard.head.info.nodeid].append(shard)
    _check_names(by_scenario.values())
    return [_merged(found, shards) for found in by_scenario.values()]


def _check_scenarios(shards: Sequence[Shard]) -> None:
    """Refuse shards of a run of several scenarios if nothing is there of one of them."""
    here = {shard.head.info.nodeid for shard in shards}
    for shard in shards:
        lacking = [nodeid for nodeid in shard.head.scenarios if nodeid not in here]
        if lacking:
            message = (
                f"the same run had the scenario {lacking[0]}, and no shard of it is here: give "
                "--rag-merge the whole output folder of each shard"
            )
            raise ShardError(str(shard.path), message)


def _check_names(groups: Iterable[Sequence[Shard]]) -> None:
    """Refuse two scenarios of one name: they would share the run folder."""
    known: dict[tuple[str, str | None], Shard] = {}
    for first, *_ in groups:
        info = first.head.info
        other = known.setdefault((info.title, info.output_dir), first)
        if other.head.info.path != info.path:
            message = (
                f"another scenario of the name {info.name!r} ({info.path}) than {other.path} "
                f"({other.head.info.path}): merge them one after the other"
            )
            raise ShardError(str(first.path), message)


def _merged(shards: Sequence[Shard], every: Sequence[Shard]) -> Merged:
    """Return the shards of one scenario merged; ``every`` has those of all scenarios."""
    _check_same(shards)
    by_part: dict[Part, list[Shard]] = defaultdict(list)
    for shard in shards:
        by_part[shard.part].append(shard)
    copies = [_in_order(found) for _, found in sorted(by_part.items())]
    chosen = [counted for *_, counted in copies]
    remarks = [
        f"shard {counted.part}: {counted.path} counts, not {one.path}"
        for *replaced, counted in copies
        for one in replaced
    ]
    remarks += _older_attempts(chosen)
    missing = *_missing(chosen), *_left_behind(copies, every)
    return Merged(shards[0].head.info, tuple(chosen), missing, tuple(remarks))


def _left_behind(copies: Sequence[Sequence[Shard]], every: Sequence[Shard]) -> Iterator[str]:
    """Yield which shards are of an earlier run than the others.

    ``copies`` has a list for each shard: all files of it, in the order in which they ran.
    """
    runs = [_runs(found, every) for found in copies]
    for found, own in zip(copies, runs, strict=True):
        shard = found[-1]
        for others in (one for one in runs if len(one) > len(own)):
            older, newer = others[-2][-1], others[-1][0]
            is_of_older = _is_of_older(shard, older, newer, is_fewer=len(found) < len(others))
            if is_of_older and not _is_repeated(newer, shard):
                yield (
                    f"shard {shard.part} is of {shard.head.started_at}, before shard {newer.part} "
                    "ran again: did its job start? Run it again, or merge from an empty folder; "
                    f"if they are of one run, delete {older.path}"
                )
                break


def _runs(copies: Sequence[Shard], every: Sequence[Shard]) -> list[list[Shard]]:
    """Return the copies of a shard by the run that each is of, in order.

    A copy is of the run of the one before it if that had to run again, for any of its scenarios, or
    if both are of one CI run.
    """
    runs = [[copies[0]]]
    for older, newer in pairwise(copies):
        job = (older.part, older.head.started_at)
        of_job = (one for one in every if (one.part, one.head.started_at) == job)
        if not _is_repeated(newer, older) and all(map(_is_green, of_job)):
            runs.append([])
        runs[-1].append(newer)
    return runs


def _is_of_older(shard: Shard, older: Shard, newer: Shard, *, is_fewer: bool) -> bool:
    """Return whether a shard is of the run of the older of two copies of another shard.

    ``is_fewer``: it has fewer copies than that one.
    """
    began, before, after = (
        datetime.fromisoformat(one.head.started_at) for one in (shard, older, newer)
    )
    ended = datetime.fromisoformat(shard.end.finished_at) if shard.end is not None else began
    pause = after - max(began, ended)
    is_nearer = abs(began - before) < after - began
    # In a queue, shards of one run follow each other: only a pause that is long, measured by the
    # time from the older copy to the shard, divides two runs.
    return began < after and (is_fewer or is_nearer or pause > (began - before) / 4)


def _is_repeated(shard: Shard, older: Shard) -> bool:
    """Return whether a shard is of the CI run of an older one."""
    return shard.head.ci_run is not None and shard.head.ci_run == older.head.ci_run


def _is_green(shard: Shard) -> bool:
    """Return whether nothing in a shard was a reason to run it again."""
    end = shard.end
    if end is None or not end.is_whole or end.status or end.reports:
        return False
    return all(row.result.outcome not in ("failed", "error") for row in case_rows(shard))


def _older_attempts(shards: Sequence[Shard]) -> Iterator[str]:
    """Yield which shards are of an earlier attempt than others of their CI run."""
    newest: dict[str | None, int] = {}
    for shard in shards:
        head = shard.head
        newest[head.ci_run] = max(newest.get(head.ci_run, 0), head.attempt)
    for shard in shards:
        if 0 < shard.head.attempt < newest[shard.head.ci_run]:
            yield (
                f"shard {shard.part} is of attempt {shard.head.attempt} of the CI run, and others "
                f"of {newest[shard.head.ci_run]}: if it ran again, what it wrote is not here"
            )


def _in_order(shards: Sequence[Shard]) -> list[Shard]:
    """Return the copies of a shard as they ran: the last one counts, even if it is not whole.

    An older one in its place could be of another state of the system under test. Within a CI run
    the number of the attempt decides, for the clocks of machines differ.
    """
    last_start: dict[str | None, str] = {}
    for shard in shards:
        run = shard.head.ci_run
        last_start[run] = max(last_start.get(run, ""), shard.head.started_at)

    def key(shard: Shard) -> tuple[str, int, str, str]:
        head = shard.head
        return (
            head.started_at if head.ci_run is None else last_start[head.ci_run],
            head.attempt,
            head.started_at,
            str(shard.path),
        )

    return sorted(shards, key=key)


def _check_same(shards: Sequence[Shard]) -> None:
    """Raise ShardError if shards of one scenario cannot be of one run."""
    first, *others = shards
    for other in others:
        if (one := first.head.version) != (two := other.head.version):
            why = f"version {two} of pytest-rageval wrote it, and version {one}"
            raise ShardError(str(other.path), f"{why} {first.path}")
        ours, theirs = (one.head.info.measured.get(CODE, {}) for one in (first, other))
        if changed := ", ".join(code_differences(ours, theirs)):
            said = (
                f"shard {other.part} was scored by other code of {changed} than shard {first.part}"
            )
            raise ShardError(str(other.path), f"{said}, {first.path}. {_HINT}")
        found = _difference(first.head.info, other.head.info)
        if not found and first.head.selection != other.head.selection:
            found = _SAID["selected"]  # as many cases, but others
        if found:
            raise ShardError(str(other.path), f"{found} than {first.path}. {_HINT}")


_HINT: Final = (
    "Merge the shards of one run only: delete the folders of other runs, or have each run write "
    "into an empty one (--rag-output)"
)


def _difference(one: ScenarioInfo, two: ScenarioInfo) -> str:
    """Return what two shards do not have in common, in words, "" if they are of one run."""
    differing = {
        field.name
        for field in fields(one)
        if field.name not in _LOCAL and getattr(one, field.name) != getattr(two, field.name)
    }
    if not differing:
        return ""
    # Other data first: rows that the scenario itself holds change the snapshot, too.
    told = [_SAID[name] for name in ("dataset_sha256", *_SAID) if name in differing]
    name = min(differing)
    return told[0] if told else f"another {name.replace('_', ' ')}"


def check_commits(shards: Sequence[Shard]) -> None:
    """Raise ShardError for shards of different commits or CI runs; one that names none fits any.

    Else a shard of an earlier run could take the place of one that is missing.
    """
    for name, what in (("commit", "commit"), ("ci_run", "CI run")):
        named = {shard.path: value for shard in shards if (value := getattr(shard.head, name))}
        first = next(iter(named), None)
        for path, value in named.items():
            if first is not None and value != named[first]:
                message = (
                    f"of {what} {value[:12]}, and {first} of {named[first][:12]}. {_HINT}, or "
                    "allow it: --rag-merge-commits"
                )
                raise ShardError(str(path), message)


def _missing(shards: Sequence[Shard]) -> Iterator[str]:
    """Yield which shards are not there, cut off, or stopped early.

    Shards of several divisions may make up one run: then what counts is that no case is missing.
    """
    for shard in shards:
        if shard.end is None:
            yield f"shard {shard.part} is cut off ({shard.path})"
        elif not shard.end.is_whole:
            yield f"shard {shard.part} is unfinished, {shard.end.rows} of {shard.end.selected} ran"
    present = {shard.part for shard in shards}
    ran = sum(shard.end.rows for shard in shards if shard.end is not None)
    divisions = {part.of for part in present}
    if len(divisions) > 1 and ran >= shards[0].head.info.selected:
        return
    for of in sorted(divisions):
        for index in range(1, of + 1):
            if Part(index, of) not in present:
                yield f"shard {index}/{of} is missing"
