"""Prints how often intervals hold and gates are wrong, as tables for the documentation.

    python -m tests.simulations [--draws N] [NAME ...]

Names: coverage, intervals, groups, modes, margins, turns, corrections, labels, agreement, stop,
falls, causes, variants, controls, rows, flips, sampled, history; all when none is given. With the
2,000 draws of the documentation it takes minutes, ``coverage``, ``falls`` and ``variants`` half an
hour; ``agreement`` and ``turns`` are shown there with 1,000. It needs the data that
``populations.py`` names.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fakes"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import agreeing
import causes as made_causes
import contests
import controls as control_rows
import coverage
import flips
import history as years
import labelled
import made_questions
import needed
import people_and_judges
import populations
import sampled as of_rows
import stopped_falls
import turns as worse
from labelled import ByVerdict, Changed, ChangedByVerdict, Grouped, Uniform, compared
from simulated import (
    WEIGHTS,
    Coverage,
    Pairs,
    equal,
    failures,
    found_shares,
    grouped_alarms,
    grouped_coverage,
    interval_coverage,
    loss_failures,
    stopped,
)

SIZES = (20, 50, 100, 300)
LABELLED = (20, 30, 50, 100)


def intervals(draws: int) -> None:
    """Coverage of the interval of a mean, plain and weighted."""
    f1 = populations.openqa("f1", "FiD-KD")
    good = populations.openqa("em", "FiD-KD")
    people = populations.judged_by_question().scores
    _table("coverage of 95 % intervals, in brackets those wholly above the truth", SIZES)
    for name, scores in (
        (f"F1, mean {f1.mean():.3f}", f1),
        (f"EM, mean {good.mean():.3f}", good),
        (f"judged by people, mean {people.mean():.3f}", people),
        ("a good system: 0.9 + F1/10", 0.9 + f1 / 10),
        ("a good system: F1, nine of ten wrong answers mended", _mended(f1)),
    ):
        for kind, weights in (("", (1.0,)), (", weights 1, 1.5, 2", WEIGHTS)):
            found = [interval_coverage(scores, n, draws, weights=weights) for n in SIZES]
            _row(name + kind, map(_covered, found))


def _mended(scores: np.ndarray) -> np.ndarray:
    random = np.random.default_rng(0)
    return np.where(random.random(len(scores)) < 0.9, np.maximum(scores, 1.0), scores)


def cells(draws: int) -> None:
    """Coverage with uneven weights, rare failures and uneven groups; yes/no at equal weights exact.

    Five times as many draws as elsewhere.
    """
    many, found = 5 * draws, []
    head = (
        "coverage (wholly above the truth), width|that of Wilson's interval at the effective size"
    )
    _table(head, SIZES, 32)
    for name, draw, truth in coverage.score_populations():
        for weights in coverage.WEIGHTS:
            is_exact = name.startswith("yes/no") and weights == "equal"
            row = [
                coverage.exact_cell(truth, n)
                if is_exact
                else coverage.weighted_cell(draw, truth, weights, n, many)
                for n in SIZES
            ]
            found += row
            _row(f"{name}, weights {weights}", map(str, row), 32)
    sys.stdout.write(f"{coverage.summary(found)}\n")
    counts, found = (10, 20, 50), []
    _table("the same by group, yes/no, at so many groups", counts, 32)
    for share in (0.9, 0.5):
        for sizes in coverage.SIZES_OF_GROUPS:
            for correlation in (0.0, 0.3, 1.0):
                row = [coverage.grouped_cell(sizes, k, correlation, share, many) for k in counts]
                found += row
                _row(f"{share:g}, {sizes}, ICC {correlation:g}", map(str, row), 32)
    sys.stdout.write(f"{coverage.summary(found)}\n")


def margins(draws: int) -> None:
    """How often non_inferior passes a fall of exactly its margin, and no fall, by weights."""
    right = populations.openqa("em", "FiD-KD")
    for fall, title in ((True, "a true fall of the margin, losses only"), (False, "no difference")):
        _table(f"non_inferior passes at {title}", SIZES)
        for kind in ("equal", "1:2:5", "1:10"):
            for margin in (0.02, 0.05, 0.1):
                options = {"mode": "non_inferior", "max_drop": margin}
                passed = (
                    1
                    - loss_failures(
                        right,
                        margin * fall,
                        n,
                        draws,
                        options,
                        weights=coverage.WEIGHTS[kind],
                    )
                    for n in SIZES
                )
                _row(f"weights {kind}, margin {margin:g}", _shares(passed))


def turns(draws: int) -> None:
    """How often a worse answer turns a failed no_regression green."""
    sys.stdout.write("\nfailed gates that pass once an answer is worse\n")
    one, two = ("f1",), ("f1", "em")
    for name, metrics, options, sampled in (
        ("one metric, exact permutation", one, {}, False),
        ("one metric, sampled permutation", one, {}, True),
        ("two metrics, max-T", two, {}, False),
        ("two metrics, Holm", two, {"correction": "holm"}, False),
        ("one metric, t", one, {"test": "t"}, False),
        ("one metric, wilcoxon", one, {"test": "wilcoxon"}, False),
        ("one metric, bootstrap", one, {"test": "bootstrap"}, False),
        ("one metric, non_inferior", one, {"mode": "non_inferior", "max_drop": 0.1}, False),
        ("one metric, exceeds", one, {"mode": "exceeds", "max_drop": 0.02}, False),
    ):
        found = worse.turned(metrics, options, draws, sampled=sampled)
        sys.stdout.write(f"{name:<40} {found}\n")
        sys.stdout.flush()


def groups(draws: int) -> None:
    """Coverage and false alarms where samples belong together."""
    counts = (10, 20, 50)
    _table("coverage by group | as if by sample, at so many groups", counts)
    for name, found in (
        ("openqa-eval, F1 of ten systems by question", populations.openqa_by_question()),
        ("openqa-eval, answers judged by people by question", populations.judged_by_question()),
        ("halluqa, five systems by question", populations.halluqa_by_question()),
        ("expertqa, claims by question", populations.expertqa_by_question()),
    ):
        by_group = found.by_group
        cells = (
            " | ".join(
                f"{100 * grouped_coverage(by_group, n, draws, by_group=grouped).held:.1f}"
                for grouped in (True, False)
            )
            for n in counts
        )
        _row(name, cells)
    _table("false alarms by group | as if by sample, alpha 0.05", counts)
    systems = [populations.openqa("f1", name) for name in populations.SYSTEMS]
    other = np.stack([one - systems[-1] for one in systems[:-1]], axis=1).tolist()
    cells = (
        " | ".join(
            f"{100 * grouped_alarms(other, n, draws // 2, by_group=grouped):.1f}"
            for grouped in (True, False)
        )
        for n in counts
    )
    _row("openqa-eval, nine systems against one", cells)


def modes(draws: int) -> None:
    """How often each mode of no_regression fails."""
    best = {"f1": populations.openqa("f1", "FiD-KD")}
    small = Pairs({"f1": populations.openqa("f1", "FiD")}, best)
    large = Pairs({"f1": populations.openqa("f1", "DPR")}, best)
    same = equal(small)
    _table("fails, per cent of runs", SIZES)
    for what, pairs, drop in (
        ("no difference, max_drop 0", same, 0.0),
        ("no difference, max_drop 0.05", same, 0.05),
        (f"fall {small.fall('f1'):.3f} = max_drop", small, small.fall("f1")),
        (f"fall {large.fall('f1'):.3f} = max_drop", large, large.fall("f1")),
        (f"fall {large.fall('f1'):.3f}, max_drop 0.05", large, 0.05),
    ):
        for mode in ("significant", "exceeds", "non_inferior", "any"):
            options = {"mode": mode, "max_drop": drop}
            _row(f"{what}: {mode}", _shares(failures(pairs, n, draws, options) for n in SIZES))


def corrections(draws: int) -> None:
    """What max-T finds of falls, and Holm's method."""
    random = np.random.default_rng(11)
    names = ("f1", "em", "acc", "stringem")
    before = {name: populations.openqa(name, "FiD-KD") for name in names}
    weaker = {name: populations.openqa(name, "DPR") for name in names}
    # Half of the questions are answered by the weaker system: a fall of about 0.05.
    half = random.random(len(before["f1"])) < 0.5
    pairs = Pairs({name: np.where(half, weaker[name], before[name]) for name in names}, before)
    none = equal(pairs)
    _table("share of metrics found | runs in which any is", SIZES)
    falls = ", ".join(f"{name} {pairs.fall(name):.3f}" for name in names)
    for what, given in ((f"falls: {falls}", pairs), ("no difference", none)):
        for correction in ("none", "holm", "max-t"):
            found = (found_shares(given, n, draws, correction) for n in SIZES)
            cells = (f"{100 * each:.1f} | {100 * some:.1f}" for each, some in found)
            _row(f"{what}: {correction}", cells)


def labels(draws: int) -> None:
    """Coverage and width of corrected means, and of kappa."""
    gpt_4, fid = people_and_judges.openqa("gpt-4"), people_and_judges.evouna("fid")
    davinci = people_and_judges.openqa("text-davinci-003")
    chatgpt, f1 = people_and_judges.evouna("chatgpt"), people_and_judges.openqa_f1()
    _table("coverage (width) of means of 300 samples with so many labels", (10, *LABELLED))
    for name, draw in (
        ("openqa, gpt-4", Uniform(gpt_4)),
        ("evouna, fid", Uniform(fid)),
        ("openqa, F1", Uniform(f1)),
        ("openqa, gpt-4, a good system", Uniform(labelled.good(gpt_4))),
        ("evouna, fid, a good system", Uniform(labelled.good(fid))),
        ("openqa, gpt-4, weights 1, 1.5, 2", Uniform(gpt_4, WEIGHTS)),
        ("evouna, fid, weights 1, 1.5, 2", Uniform(fid, WEIGHTS)),
        ("openqa, gpt-4 by question", Grouped(labelled.openqa_groups("gpt-4"))),
        ("evouna, five systems by question", Grouped(labelled.evouna_groups())),
    ):
        found = [compared(draw, n, draws) for n in (10, *LABELLED)]
        _row(f"{name}: corrected", (str(one.corrected) for one in found))
        _row(f"{name}: labels only", (str(one.labels_only) for one in found))
        _row(f"{name}: judge only", (str(one.judge_only) for one in found))
    _table("strata, differences: corrected", LABELLED)
    three = ChangedByVerdict(labelled.good(gpt_4), labelled.good(davinci))
    for name, draw in (
        ("openqa, gpt-4, 60 of text-davinci-003 changed", Changed(gpt_4, davinci)),
        ("evouna, fid, 60 of chatgpt changed", Changed(fid, chatgpt)),
        ("evouna, fid, 10 of chatgpt changed, all labelled", Changed(fid, chatgpt, 10)),
        ("openqa, gpt-4, by verdict", ByVerdict(gpt_4)),
        ("openqa, gpt-4, a good system, by verdict", ByVerdict(labelled.good(gpt_4))),
        ("evouna, fid, by verdict", ByVerdict(fid)),
        ("evouna, fid, a good system, by verdict", ByVerdict(labelled.good(fid))),
        ("a good system by verdict, and 60 changed", three),
    ):
        _row(name, (str(compared(draw, n, draws).corrected) for n in LABELLED))
    differences = Uniform(labelled.evouna_differences("gpt4", "chatgpt"))
    for name, of in (("corrected", "corrected"), ("labels only", "labels_only")):
        found = (compared(differences, n, draws, differences=True) for n in LABELLED)
        _row(f"evouna, gpt4 - chatgpt: {name}", (str(getattr(one, of)) for one in found))
    _table("coverage (width) of quadratic kappa", (20, 50, 100, 200))
    for name, table in labelled.TABLES.items():
        cells = (str(labelled.kappa_coverage(table, n, draws)) for n in (20, 50, 100, 200))
        _row(name, cells)


def agreement(draws: int) -> None:
    """Coverage of every coefficient of agreement, by sample and where whole questions are drawn."""
    two = ("kappa", "ac1", "sensitivity", "specificity", "bias", "spearman", "kendall", "auc")
    scores = ("spearman", "kendall", "auc")
    more = ("kappa", "weighted_kappa", "ac1", "ac2", "spearman", "kendall", "bias")
    among = ("alpha", "ceiling")
    gpt_4, f1 = labelled.openqa_groups("gpt-4"), agreeing.f1_groups()
    people = agreeing.annotators()
    alone = (
        ("openqa, gpt-4", agreeing.together(gpt_4), two),
        ("openqa, gpt-4, a good system", agreeing.together(agreeing.good(gpt_4)), two),
        ("evouna, fid", agreeing.alone(people_and_judges.evouna("fid")), two),
        ("openqa, F1", agreeing.together(f1, cut=0.5), scores),
        ("openqa, F1, a good system", agreeing.together(agreeing.good(f1), cut=0.5), scores),
        ("expertqa, five levels", agreeing.alone(people_and_judges.expertqa(), range(5)), more),
        ("five levels, most next to each other", agreeing.five_levels(), more),
        ("openqa, two or three people", people, among),
    )
    sizes = (30, 50, 100, 200)
    _table("coverage of 95 % intervals of agreement, in brackets those wholly above", sizes)
    for what, found, names in alone:
        _agreement_rows(what, agreeing.ungrouped(found), names, sizes, draws)
    for what, found, names in alone:
        if "auc" in names:
            held = (agreeing.bootstrap_coverage(found, n, draws // 5) for n in sizes)
            _row(f"{what}: auc, percentile bootstrap", map(str, held))
    grouped = (
        ("openqa, gpt-4", agreeing.together(gpt_4), two),
        ("openqa, gpt-4, a good system", agreeing.together(agreeing.good(gpt_4)), two),
        ("evouna, five systems", agreeing.together(labelled.evouna_groups()), two),
        ("openqa, F1", agreeing.together(f1, cut=0.5), scores),
        ("openqa, two or three people", people, among),
    )
    counts = (10, 20, 50, 100)
    _table("the same, where so many whole questions are drawn: by question", counts)
    for what, found, names in grouped:
        _agreement_rows(what, found, names, counts, draws)
    _table("the same, as if by sample", counts)
    for what, found, names in grouped[:2]:
        _agreement_rows(what, found, names, counts, draws, by_group=False)


def _agreement_rows(
    what: str,
    people: agreeing.People,
    names: Sequence[str],
    sizes: Sequence[int],
    draws: int,
    *,
    by_group: bool | None = None,
) -> None:
    """Print a row for each coefficient; samples that are all for themselves have no groups."""
    grouped = by_group if by_group is not None else len(people.groups) < len(people.samples)
    found = [agreeing.coverage(people, names, n, draws, by_group=grouped) for n in sizes]
    for name in names:
        _row(f"{what}: {name}", (str(one[name]) for one in found))


def stop(draws: int) -> None:
    """What ``stop`` saves, and how often it is wrong; at error bounds on a fifth of the draws."""
    sizes = (50, 100, 300)
    _table("saved | with 16 in flight (wrong), per cent, bound 0.75", sizes)
    for name, scores in (
        ("0 and 1, mean 0.9", np.repeat([0.0, 1.0], [1, 9])),
        ("0 and 1, mean 0.75", np.repeat([0.0, 1.0], [1, 3])),
        ("0 and 1, mean 0.5", np.array([0.0, 1.0])),
        *((f"evouna, {one}", populations.accepted(one)) for one in ("newbing", "chatgpt", "fid")),
        ("openqa-eval, judged by people", populations.judged_by_question().scores),
        ("openqa-eval, F1", populations.openqa("f1", "FiD-KD")),
        ("a good system: 0.9 + F1/10", 0.9 + populations.openqa("f1", "FiD-KD") / 10),
    ):
        for error in (0.0, 0.05, 0.01, 0.001):
            found = [stopped(scores, n, draws // 5 if error else draws, error) for n in sizes]
            cells = (
                f"{100 * one.saved:.1f}|{100 * one.in_flight:.1f} ({100 * one.wrong:.2g})"
                for one in found
            )
            _row(f"{name}, {scores.mean():.3f}: {error or 'decided'}", cells)


def causes(_: int) -> None:
    """How often the cause is found that was made."""
    sets = {"nq-oracle": "first_500", "clapnq": "dev", "cmrc2018": "dev_800"}
    for name, file in sets.items():
        path = populations.DATA / name / f"{file}.jsonl"
        sys.stdout.write(f"\n{name}\n{'':<56} found   by chance  wrong  others\n")
        for way, found in made_causes.found_causes(made_causes.samples_in(path)).items():
            others = ", ".join(f"{n} {one}" for one, n in found.causes.items() if one != found.made)
            share = f"{100 * found.share:5.1f} %"
            sys.stdout.write(f"{way:<56} {share} {found.by_chance:>9} {found.wrong:>6}  {others}\n")


def variants(draws: int) -> None:
    """How often equal variants are told apart, and how often the smallest difference is shown."""
    sizes, counts = (30, 100, 300), (3, 5, 10)
    f1, em = contests.scores_of("f1"), contests.scores_of("em")
    smooth = contests.scores_of("f1", noise=0.1)
    _table("any of k equal variants told apart, per cent of runs, alpha 0.05", sizes)
    for name, scores, groups in (
        ("EM: most differences are ties", em, ""),
        ("F1 and noise: no ties", smooth, ""),
        ("F1, up to 4 samples of a question, by group", f1, "together"),
        ("F1, up to 4 samples of a question, as if by sample", f1, "apart"),
    ):
        for k in counts:
            many = draws // 10 if groups == "apart" else draws
            found = (contests.false_alarms(scores, k, n, many, groups=groups) for n in sizes)
            _row(f"{name}: {k} variants", _shares(found))
    _table("the smallest detectable difference is shown, per cent of runs", sizes)
    for k in counts:
        found = (contests.shown(smooth, k, n, draws // 4) for n in sizes)
        _row(f"F1 and noise: {k} variants", _shares(found))


def controls(draws: int) -> None:
    """How often judges pass control rows, and how many of the twelve they are asked.

    Fifty times as many draws as elsewhere; judges that are right in a share of the rows exact.
    """
    many = 50 * draws
    columns = ("passes", "rows asked", "5 + 5, 1 slip")
    sys.stdout.write(f"\njudges that guess, per cent\n{'':<64} ")
    sys.stdout.write("".join(f"{name:<15}" for name in columns) + "\n")
    for name, draw in control_rows.GUESSING.items():
        found, fewer = control_rows.guessing(draw, many), control_rows.guessing(draw, many, rows=5)
        _row(name, [f"{100 * found.share:.1f}", f"{found.asked:.1f}", f"{100 * fewer.share:.1f}"])
    _table("judges that are right in so many rows: all of so many metrics pass", (1, 4, 6))
    for rows in (6, 5):
        for right in (0.99, 0.97, 0.95, 0.9, 0.8):
            share = control_rows.exactly(right, rows)
            asked = control_rows.honest(right, 1000, rows).asked
            name = f"{rows} + {rows}, right in {right:g}, asked {asked:.1f}"
            _row(name, _shares(share**metrics for metrics in (1, 4, 6)))


def history(draws: int) -> None:
    """How often a series of runs is ever red, by baseline and mode.

    Modes but the usual one on a quarter of the draws.
    """
    sizes = (100, 200, 500)
    for name, answers in (("steady", years.steady()), ("restless", years.restless())):
        varying = f"{100 * answers.varying:.0f} % of the scores vary from run to run"
        _table(f"{name}: {varying}; ever red, per cent of series", sizes)
        for what, changes, falls in (
            (f"falls by {answers.fall:.3f} in 10", 10, True),
            (f"falls by {answers.fall:.3f} in 20", 20, True),
            ("50 without a change", 50, False),
        ):
            for kept, mode in years.WAYS:
                many = draws if mode == "significant" else draws // 4
                found = (
                    years.ever_red(answers, kept, mode, n, changes, many, falls=falls)
                    for n in sizes
                )
                _row(f"{what}: {mode}, {kept.name}", _shares(found))


def rows(draws: int) -> None:
    """How often as many rows as a comparison names find the fall; a quarter of the draws."""
    falls = (0.02, 0.05)
    heads = [f"a fall of {fall:g}: rows" for fall in falls]
    sys.stdout.write(f"\nred with as many rows as are named, per cent of runs\n{'':<64} ")
    sys.stdout.write("".join(f"{head:<25}" for head in heads) + "\n")
    for system in ("DPR", "FiD"):
        pairs = Pairs(
            {"f1": populations.openqa("f1", system)}, {"f1": populations.openqa("f1", "FiD-KD")}
        )
        for name, options in needed.CASES.items():
            found = (needed.named(pairs, fall, draws // 4, **options(fall)) for fall in falls)
            cells = (f"{one.rows:.0f}: {100 * one.found:.1f}" for one in found)
            _row(f"{system} against FiD-KD, {name}", cells, 25)


def sampled(draws: int) -> None:
    """How often estimates from a sample of 1,000 rows hold, and how wide they are."""
    sizes = (50, 100, 200)
    _table("so many of 1,000 rows asked: of these held (width), beyond held (width)", sizes, 28)
    for name, runs in of_rows.cells():
        _row(name, (str(of_rows.sampled(runs, n, draws)) for n in sizes), 28)
    name, runs = next(of_rows.cells())
    found = (of_rows.sampled(runs, n, draws, plain=True) for n in sizes)
    _row(f"{name}: without the older run", map(str, found), 28)


def _covered(found: Coverage) -> str:
    return f"{100 * found.held:.1f} ({100 * found.above:.1f})"


def _shares(found: Iterable[float]) -> Iterable[str]:
    return (f"{100 * one:.1f}" for one in found)


def _table(title: str, heads: Iterable[int], width: int = 15) -> None:
    sys.stdout.write(f"\n{title}\n{'n':<64} " + "".join(f"{n:<{width}}" for n in heads) + "\n")


def _row(name: str, cells: Iterable[str], width: int = 15) -> None:
    sys.stdout.write(f"{name:<64} " + "".join(f"{cell:<{width}}" for cell in cells) + "\n")
    sys.stdout.flush()


PARTS: dict[str, Callable[[int], None]] = {
    "coverage": cells,
    "intervals": intervals,
    "groups": groups,
    "modes": modes,
    "margins": margins,
    "turns": turns,
    "corrections": corrections,
    "labels": labels,
    "agreement": agreement,
    "stop": stop,
    "falls": stopped_falls.show,
    "causes": causes,
    "variants": variants,
    "controls": controls,
    "rows": rows,
    "sampled": sampled,
    "flips": flips.show,
    "history": history,
    "questions": made_questions.show,
}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulations")
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("names", nargs="*", choices=[[], *PARTS])
    asked = parser.parse_args()
    if not populations.is_there():
        sys.exit(f"there are no scores to draw from: {populations.DATA}")
    for name in asked.names or PARTS:
        PARTS[name](asked.draws)


if __name__ == "__main__":
    main()
