"""What ``--rag-dry-run`` prints: what a run would ask and decide, and that nothing was judged."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from pytest_rageval.clients.http import credential_problems
from pytest_rageval.engine.plan import Plan
from pytest_rageval.engine.scoring.counting_models import ModelUse
from pytest_rageval.engine.scoring.forecast import Forecast
from pytest_rageval.gates.base import UndecidedGate
from pytest_rageval.gates.unscored import gates_of
from pytest_rageval.model import Case, InvalidRow, Sample
from pytest_rageval.reports.needed_rows import rows_of_saved_run
from pytest_rageval.stats.wording import counted
from pytest_rageval.text.printable import one_line

NOTHING: Final = "DRY RUN: nothing was asked, scored or judged"
"""What the last line begins with."""

_PRICES = "in the scenario: write price: {input: USD, output: USD} a million"


@dataclass(frozen=True)
class DryScenario:
    """A scenario, or a variant, as it was collected; ``cases`` would run.

    ``selected`` also counts cases that a mark skips. ``left_out`` names the deselected gates.
    """

    plan: Plan
    selected: int
    cases: Collection[Case]
    found: Forecast
    left_out: Collection[str] = ()

    @property
    def is_whole(self) -> bool:
        """Whether every case of the data set is selected."""
        return self.selected >= self.plan.info.total


def scenario_lines(dry: DryScenario, *, strict: bool) -> Iterator[str]:
    """Yield what a run of one scenario would ask, and which of its gates it would decide."""
    info = dry.plan.info
    yield f"samples   {_samples(dry)}"
    target = dry.found.target
    if target is not None:
        cached = f", {counted(target.cached, 'answer')} in the cache" if target.cached else ""
        yield f"target    {target.shown}: {counted(target.calls, 'question')}{cached}"
    for use in dry.found.models:
        yield model_line(use, may_stop=info.stop is not None)
    for use in dry.found.models:
        missing = credential_problems(use.settings) if use.calls else ()
        yield from (f"needs     {use.settings.role}.{problem}" for problem in missing)
    if target is None and not dry.found.models:
        yield "asks      nobody"
    yield from _gates(dry, strict=strict)
    yield from _needed_rows(dry)


def best_line(variants: Collection[DryScenario], *, strict: bool, is_left_out: bool) -> str:
    """Return a line on whether the gate over all variants of a scenario would be decided."""
    contest = next(iter(variants)).plan.info.contest
    names = {variant.plan.info.variant for variant in variants if variant.is_whole}
    is_whole = contest is not None and names >= set(contest.names)
    text = "deselected, " * is_left_out + _decided(is_whole and not is_left_out, strict)
    return f"gate best of {next(iter(variants)).plan.info.name}: {text}"


def last_line(all_of_them: Collection[DryScenario]) -> str:
    """Return the sum over all scenarios, behind the words that nothing was asked or judged."""
    uses = [use for dry in all_of_them for use in dry.found.models]
    targets = [dry.found.target for dry in all_of_them if dry.found.target is not None]
    has_variants = any(dry.plan.info.variant for dry in all_of_them)
    parts = [counted(len(all_of_them), "variant" if has_variants else "scenario")]
    parts += [counted(sum(len(dry.cases) for dry in all_of_them), "sample")]
    if targets:
        parts.append(f"{counted(sum(target.calls for target in targets), 'question')} to targets")
    if uses:
        parts += [f"{_calls(uses)} of models", _tokens(uses), _whole_cost(uses)]
    return f"{NOTHING}. A run: {', '.join(parts)}"


def budget_lines(all_of_them: Iterable[DryScenario], budget: float | None) -> Iterator[str]:
    """Yield a remark on a budget (USD) that the run would or may exceed."""
    uses = [use for dry in all_of_them for use in dry.found.models]
    fewest, most = _ends(uses)
    least_usd, most_usd = _usd(fewest)[0], _usd(most)[1]
    if budget is not None and most_usd > budget:
        does = "would" if least_usd > budget else "may"
        cost = _usd_words(uses, is_least=False)
        yield f"--rag-budget {budget:g} {does} stop this run: it costs {cost}"


def _samples(dry: DryScenario) -> str:
    total, invalid = dry.plan.info.total, sum(isinstance(case, InvalidRow) for case in dry.cases)
    skipped = dry.selected - len(dry.cases)
    text = f"{len(dry.cases)} of {total} would run"
    text += f", {skipped} skipped" * bool(skipped)
    return text + f", {counted(invalid, 'invalid row')} among them" * bool(invalid)


def model_line(use: ModelUse, *, may_stop: bool = False, prices: str = _PRICES) -> str:
    """Return what a model would be asked, and the cost; ``prices`` says where to write a price."""
    named = f"{use.settings.role:<9} {use.settings.model}:"
    cached = f", {counted(use.cached, 'answer')} in the cache" if use.cached else ""
    if not use.calls:
        return f"{named} 0 calls{cached}, 0 tokens, 0 USD"
    cost = _usd_words([use], is_least=use.is_least)
    if use.usd is None:
        cost = f"cost not known (no price {prices})"
    test = f", {use.controls} of them for control rows" if use.controls else ""
    return f"{named} {_calls([use], may_stop=may_stop)}{test}{cached}, {_tokens([use])}, {cost}"


def _calls(uses: Collection[ModelUse], *, may_stop: bool = False) -> str:
    """Return the number of calls, with its least and most where replies decide it.

    Of a run that may stop early (``may_stop``), only the most is known.
    """
    likely, *ends = [sum(use.calls for use in each) for each in (uses, *_ends(uses))]
    about = _about(uses)
    if may_stop:
        rest = f", about {likely:,} without an early stop" * (likely < ends[1])
        return f"at most {_counted(ends[1])}{rest}"
    if ends == [likely, likely]:
        return f"{about} {_counted(likely)}"
    least, most = ends
    if about == "at least":
        return f"at least {_counted(least)}" + f", more likely {likely:,}" * (likely > least)
    return f"about {_counted(likely)} ({least:,} to {most:,} as replies turn out)"


def _counted(calls: int) -> str:
    return f"{calls:,} call{'s' * (calls != 1)}"


def _ends(uses: Iterable[ModelUse]) -> tuple[list[ModelUse], list[ModelUse]]:
    ends = [use.ends for use in uses]
    return [fewest for fewest, _ in ends], [most for _, most in ends]


def _about(uses: Iterable[ModelUse]) -> str:
    return "at least" if any(use.is_least for use in uses) else "about"


def _tokens(uses: Collection[ModelUse]) -> str:
    """Return the tokens of prompts, and the least and most tokens of replies."""
    text = f"{_about(uses)} {sum(use.prompt_tokens for use in uses):,.0f} tokens"
    least, most = (sum(ends) for ends in zip(*(use.reply_tokens for use in uses), strict=True))
    return f"{text} of prompts and {least:,.0f} to {most:,.0f} of replies" if most else text


def _usd(uses: Iterable[ModelUse]) -> tuple[float, float]:
    known = [use.usd for use in uses if use.usd is not None]
    return sum(least for least, _ in known), sum(most for _, most in known)


def _usd_words(uses: Collection[ModelUse], *, is_least: bool) -> str:
    """Return the likely cost, and what it would be with the fewest and the most calls."""
    fewest, most = _ends(uses)
    likely, ends = _range(*_usd(uses)), _range(_usd(fewest)[0], _usd(most)[1])
    other = f" ({ends})" if ends != likely and not is_least else ""
    return f"{likely} USD{' or more' * is_least}{other}"


def _range(least: float, most: float) -> str:
    low, high = f"{least:.4f}", f"{most:.4f}"
    return low if low == high else f"{low} to {high}"


def _whole_cost(uses: Collection[ModelUse]) -> str:
    """Return the sum of the known costs; a model without a price is named, and never free."""
    unknown = dict.fromkeys(
        one_line(use.settings.model) for use in uses if use.usd is None and use.calls
    )
    known = [use.usd for use in uses if use.usd is not None or not use.calls]
    usd = _usd_words(uses, is_least=any(use.is_least for use in uses))
    if not unknown:
        return usd
    names = f"what {', '.join(unknown)} costs (no price)"
    return f"{usd} and {names}" if known else names


def _gates(dry: DryScenario, *, strict: bool) -> Iterator[str]:
    gates = gates_of(dry.plan.info)
    # `leaf`: a gate for each value of a field holds another gate.
    later = [gate.name for gate in gates if isinstance(gate.leaf, UndecidedGate)]
    later = [name for name in later if name not in dry.left_out]
    named = [gate.name for gate in gates if gate.name not in (*later, *dry.left_out)]
    if dry.left_out:
        yield f"gates     deselected, {_decided(False, strict)}: {', '.join(dry.left_out)}"
    if named:
        part = "" if dry.is_whole else f" ({dry.selected} of {dry.plan.info.total} samples)"
        yield f"gates     {_decided(dry.is_whole, strict)}{part}: {', '.join(named)}"
    if later:
        yield f"gates     not decided, there is no saved run yet: {', '.join(later)}"
    if not gates:
        yield "gates     none"


def _needed_rows(dry: DryScenario) -> Iterator[str]:
    """Yield how many rows it takes to see a fall against each saved run, if that is known."""
    samples = [case for case in dry.cases if isinstance(case, Sample)]
    for baseline in dry.plan.info.baselines.values():
        if text := rows_of_saved_run(dry.plan.info, samples, baseline):
            yield f"rows      against {one_line(baseline.name)}, {one_line(text)}"


def _decided(is_whole: bool, strict: bool) -> str:
    if is_whole:
        return "would be decided"
    return "would fail, being undecided (strict)" if strict else "not decided"
