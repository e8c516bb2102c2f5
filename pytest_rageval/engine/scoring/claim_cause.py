"""The cause of a low answer by its claims: which ones the contexts lack, and which they had."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pytest_rageval.model import Cause
from pytest_rageval.stats.wording import counted

_LISTED: Final = 3


@dataclass(frozen=True)
class _Claim:
    """A claim, and what each source that was asked is to it, by its name."""

    of: str
    levels: Mapping[str, str]

    def found_in(self, contexts: Sequence[str]) -> list[str] | None:
        """Return the contexts that support it; None if some of them did not say."""
        levels = [self.levels.get(name, "failed") for name in contexts]
        found = [name for name, level in zip(contexts, levels, strict=True) if level == "full"]
        return None if not found and "failed" in levels else found

    def lacks(self, source: str) -> bool:
        """Return whether a source is known not to support it."""
        return self.levels.get(source) in ("none", "partial")


def cause_of_claims(table: Mapping[str, Any], contexts: int) -> tuple[Cause, str] | None:
    """Return the cause of most claims, and how many have which; None where no claim has any.

    ``table`` is the support table of a result, ``contexts`` how many there are.
    What the judge failed at has no cause. Of causes with as many claims, ``retrieval`` comes first,
    then ``unfaithful``: what was not retrieved could not be said.
    """
    names = _names(contexts)
    claims = list(_claims(table))
    missing = [claim for claim in claims if claim.of == "reference_claim" and claim.lacks("answer")]
    lost = [claim for claim in missing if claim.found_in(names) == []]
    unused = [claim for claim in missing if claim.found_in(names)]
    made_up = [claim for claim in claims if claim.of == "claim" and _is_made_up(claim, names)]
    where = [
        name for name in names if any(name in (claim.found_in(names) or ()) for claim in unused)
    ]
    parts: dict[Cause, tuple[int, str, str]] = {
        "retrieval": (len(lost), "reference claim", "in no context"),
        "unfaithful": (len(made_up), "answer claim", "in no context and not in the reference"),
        "generation": (
            len(unused),
            "reference claim",
            f"in {_listed(where)} and not in the answer",
        ),
    }
    order = sorted(
        (cause for cause in parts if parts[cause][0]), key=lambda cause: -parts[cause][0]
    )
    return (order[0], _told([parts[cause] for cause in order])) if order else None


def makes_all_claims(table: Mapping[str, Any]) -> bool:
    """Return whether the answer is known to make each claim of the reference."""
    levels = {
        claim.levels.get("answer") for claim in _claims(table) if claim.of == "reference_claim"
    }
    return levels == {"full"}


def is_all_founded(table: Mapping[str, Any], contexts: int) -> bool:
    """Return whether each claim of the answer is known to be in a context, or an earlier turn."""
    names = [*_names(contexts), "history"]
    claims = [claim for claim in _claims(table) if claim.of == "claim"]
    return bool(claims) and all("full" in map(claim.levels.get, names) for claim in claims)


def _is_made_up(claim: _Claim, contexts: Sequence[str]) -> bool:
    by_history = claim.levels.get("history", "none")
    is_unfounded = claim.found_in(contexts) == [] and by_history not in ("full", "failed")
    return is_unfounded and claim.lacks("reference")


def _claims(table: Mapping[str, Any]) -> Iterator[_Claim]:
    sources = [_name(source) for source in table["sources"]]
    for statement, cells in zip(table["statements"], table["cells"], strict=True):
        levels = {
            name: cell[0] for name, cell in zip(sources, cells, strict=True) if cell is not None
        }
        yield _Claim(statement["of"], levels)


def _names(contexts: int) -> list[str]:
    return [f"contexts[{place}]" for place in range(1, contexts + 1)]


def _name(source: Mapping[str, Any]) -> str:
    places = ", ".join(map(str, source["index"]))
    return f"{source['kind']}[{places}]" if places else str(source["kind"])


def _told(parts: Sequence[tuple[int, str, str]]) -> str:
    texts: list[str] = []
    before = ""
    for count, what, where in parts:
        number = f"{count}" if what == before else counted(count, what)
        texts.append(f"{number} {'is' if count == 1 else 'are'} {where}")
        before = what
    return ", ".join(texts)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {more} more" if more > 0 else "")
