"""F3, F4: scores against labels: levels, strata of changed answers, differences of two runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_rageval.model import (
    CHOSEN,
    RANDOM,
    Baseline,
    Bound,
    Draw,
    HumanLabels,
    Label,
    MetricColumn,
    SampleResult,
    ScenarioResult,
    answer_digest,
)
from pytest_rageval.stats.labels.agreement import agreement_of
from pytest_rageval.stats.labels.corrected_means import corrected_difference, corrected_of
from pytest_rageval.stats.wording import not_counted

Result = Callable[..., ScenarioResult]

JUDGE = MetricColumn("judge")


def digest(answer: str) -> str:
    return answer_digest(answer, None)


def judged(
    scores: Sequence[float | None], answer: str = "now", **fields: Any
) -> list[SampleResult]:
    """Return the samples s0, s1, ... with these scores of the judge, all with one answer."""
    return [
        SampleResult(f"s{at}", at, scores={"judge": score}, answer=answer)
        for at, score in enumerate(scores)
    ]


def labelled(
    values: Mapping[int, float], drawn: str = RANDOM, answer: str = "now"
) -> dict[str, list[Label]]:
    return {f"s{at}": [Label(value, "ann", drawn, digest(answer))] for at, value in values.items()}


def people(labels: Mapping[str, Sequence[Label]], levels: Any = (0.0, 1.0), **fields: Any) -> Any:
    return HumanLabels("judge", levels, "l.csv", labels, **fields)


def test_a_score_that_is_no_level_is_cut_at_the_threshold(result: Result) -> None:
    """F3: 0.7 and 0.6 are high from 0.6 on, 0.5 is low; people accept the first alone."""
    run = result(judged([0.7, 0.6, 0.5]), JUDGE, thresholds={"judge": Bound(min=0.6)})
    found = agreement_of(run, people(labelled({0: 1.0, 1: 0.0, 2: 0.0})))
    assert found.confusion == ((1, 1), (0, 1))


def test_a_cut_of_its_own_goes_before_the_threshold(result: Result) -> None:
    """F3: from 0.65 on only the first is high."""
    run = result(judged([0.7, 0.6, 0.5]), JUDGE, thresholds={"judge": Bound(min=0.6)})
    found = agreement_of(run, people(labelled({0: 1.0, 1: 0.0, 2: 0.0}), cut=0.65))
    assert found.confusion == ((2, 0), (0, 1))


def test_without_a_threshold_there_are_no_classes(result: Result) -> None:
    """F3: rank correlations need none; the rest says what to write."""
    found = agreement_of(result(judged([0.7, 0.2]), JUDGE), people(labelled({0: 1.0, 1: 0.0})))
    assert found.kappa is None
    assert found.spearman == pytest.approx(1.0)
    assert found.why["kappa"] == (
        "0.7 is no level, and nothing says where to cut: write human.cut, or a threshold of judge"
    )


def test_a_score_between_several_levels_goes_to_the_nearest(result: Result) -> None:
    """F3: 0.7 is nearer to 0.5 than to 1."""
    run = result(judged([0.7, 0.8]), JUDGE)
    found = agreement_of(run, people(labelled({0: 0.5, 1: 1.0}), (0.0, 0.5, 1.0)))
    assert found.confusion == ((0, 0, 0), (0, 1, 0), (0, 0, 1))


def test_two_levels_stand_for_bad_and_good_on_any_scale(result: Result) -> None:
    """F3: on a scale of 1 to 5 a score of 1 is not the level 1."""
    rubric = MetricColumn("judge", ends=(1.0, 5.0))
    run = result(judged([1.0, 5.0]), rubric, thresholds={"judge": Bound(min=3.0)})
    found = agreement_of(run, people(labelled({0: 0.0, 1: 1.0})))
    assert found.confusion == ((1, 0), (0, 1))
    assert found.bias == 0.0


def test_what_is_not_counted_is_said(result: Result) -> None:
    """F3: labels of an earlier answer, and samples that the judge did not score."""
    labels = labelled({0: 1.0, 1: 0.0, 2: 1.0}) | labelled({3: 1.0}, answer="before")
    found = agreement_of(result(judged([1.0, 0.0, None, 1.0]), JUDGE), people(labels))
    assert (found.n, found.stale, found.unscored) == (2, 1, 1)


def test_agreement_is_given_by_slice(result: Result) -> None:
    """F3: for a field with a few values."""
    samples = [
        replace(sample, metadata={"lang": "zh" if sample.index else "en"})
        for sample in judged([1.0, 1.0, 1.0])
    ]
    run = result(samples, JUDGE, metadata_columns=("lang",))
    found = agreement_of(run, people(labelled({0: 1.0, 1: 1.0, 2: 0.0}))).slices["lang"]
    assert {value: part.n for value, part in found.items()} == {"en": 1, "zh": 2}


# Twelve labels of 24 samples; of those labelled, people accept all but the first.
TWELVE = {at: float(at > 0) for at in range(12)}


def test_labels_that_were_chosen_correct_nothing(result: Result) -> None:
    """F4: twelve labels, none of them drawn; ten would do."""
    run = result(judged([1.0] * 24), JUDGE)
    found = corrected_of(run, people(labelled(TWELVE, CHOSEN)))
    assert (found.mean, found.labels) == (None, 0)
    assert corrected_of(run, people(labelled(TWELVE))).mean == pytest.approx(11 / 12)


def test_when_all_are_labelled_it_does_not_matter_how_they_were_drawn(result: Result) -> None:
    """F4: the mean of the labels, 11 of 12."""
    found = corrected_of(result(judged([1.0] * 12), JUDGE), people(labelled(TWELVE, CHOSEN)))
    assert found.mean == pytest.approx(11 / 12)


def test_without_labels_it_says_how_to_get_some(result: Result) -> None:
    """F5."""
    found = corrected_of(result(judged([1.0] * 12), JUDGE), people({}))
    assert found.why == "judge has no labels yet: pytest --rag-label 30 draws samples to label"


def changed_run(result: Result, *, since: Draw | None, new: Mapping[int, float]) -> Any:
    """Return the corrected mean of a run whose samples from s12 on have changed since a draw.

    Of the 12 unchanged ones s0 to s9 have labels, all 1; ``new`` are labels of present answers.
    """
    old = [
        SampleResult(f"s{at}", at, scores={"judge": 1.0}, answer="now" if at < 12 else "new")
        for at in range(24)
    ]
    labels = labelled(dict.fromkeys(range(10), 1.0)) | labelled({20: 1.0})
    labels |= labelled(new, answer="new", drawn="s-b")
    draws = [] if since is None else [since]
    draws += (
        [
            Draw(
                {f"s{at}": digest("now" if at < 12 else "new") for at in range(24)},
                {f"s{at}": "s-a" if at < 12 else "s-b" for at in range(24)},
            )
        ]
        if new
        else []
    )
    return corrected_of(result(old, JUDGE), people(labels, draws=draws))


FIRST = Draw({f"s{at}": digest("now") for at in range(24)})


def test_changed_answers_need_labels_of_their_own(result: Result) -> None:
    """F4: the labels left are of the easy half; ten of the changed answers must be labelled."""
    found = changed_run(result, since=FIRST, new={})
    assert found.mean is None
    assert found.why.startswith(
        "12 of 24 answers changed since labels were drawn: draw 10 of them with "
        "'pytest --rag-label 10' (for instance s12, s13, s14, ...)"
    )


def test_changed_answers_are_a_stratum(result: Result) -> None:
    """F4: half of the samples have the mean 1, the other half 0.5: 0.75 together."""
    new = {at: float(at % 2) for at in range(12, 22)}
    assert changed_run(result, since=FIRST, new=new).mean == pytest.approx(0.75)


def test_too_few_labels_of_changed_answers_say_how_many_more(result: Result) -> None:
    """F4: seven are there."""
    new = {at: float(at % 2) for at in range(12, 19)}
    assert (
        "draw 3 of them with 'pytest --rag-label 3' (for instance s19, s20, s21, ...)"
        in changed_run(result, since=FIRST, new=new).why
    )


def test_a_label_of_an_answer_that_is_not_on_record_fails(result: Result) -> None:
    """F4: it is not known which of the others have changed."""
    found = changed_run(result, since=None, new={})
    assert found.mean is None
    assert "1 of the labelled answers changed (s20)" in found.why


def test_strata_without_their_sizes_fail(result: Result) -> None:
    """F4: the draw must be on record."""
    found = corrected_of(result(judged([1.0] * 24), JUDGE), people(labelled(TWELVE, "s-a1")))
    assert found.mean is None
    assert "draws.json" in found.why


def difference(
    result: Result, labels: Mapping[str, Sequence[Label]], changed: int = 12, total: int = 24
) -> Any:
    """Return the difference from a baseline in which the first ``changed`` had other answers.

    The judge scored all samples 1, and in the baseline 0.
    """
    samples = [
        SampleResult(f"s{at}", at, scores={"judge": 1.0}, answer="new" if at < changed else "now")
        for at in range(total)
    ]
    names = [sample.sample_id for sample in samples]
    scores = {"judge": dict.fromkeys(names, 0.0)}
    before = Baseline("main", names, scores, digests=dict.fromkeys(names, digest("now")))
    run = result(samples, JUDGE, baselines={"main": before})
    return corrected_difference(run, people(labels), before)


def both(values: Mapping[int, tuple[float, float]]) -> dict[str, list[Label]]:
    """Return labels of the new and of the old answer."""
    return {
        f"s{at}": [
            Label(new, "ann", RANDOM, digest("new")),
            Label(old, "ann", RANDOM, digest("now")),
        ]
        for at, (new, old) in values.items()
    }


def test_equal_answers_are_no_difference(result: Result) -> None:
    """F4: half of the answers changed; ten pairs, all from good to bad: -1 in that half."""
    found = difference(result, both(dict.fromkeys(range(10), (0.0, 1.0))))
    assert found.mean == pytest.approx(-0.5)
    assert found.labels == 10
    assert found.ci_low < -0.5 < found.ci_high < 0.0


def test_all_changed_answers_labelled_are_known_exactly(result: Result) -> None:
    """F4: six of the twelve fell: -0.5 in half of the samples, without an interval's width."""
    values = {at: (0.0, 1.0) if at < 6 else (1.0, 1.0) for at in range(12)}
    found = difference(result, both(values))
    assert (found.mean, found.ci_low, found.ci_high) == pytest.approx((-0.25, -0.25, -0.25))


@pytest.mark.parametrize(("changed", "mean"), [(0, 0.0), (3, 3 / 8)])
def test_of_few_samples_all_that_changed_are_known_too(
    changed: int, mean: float, result: Result
) -> None:
    """F4: nothing is left to label; each label is a rise from 0 to 1."""
    found = difference(result, both(dict.fromkeys(range(changed), (1.0, 0.0))), changed, 8)
    assert (found.mean, found.ci_low, found.ci_high) == pytest.approx((mean, mean, mean))
    assert (found.labels, found.why) == (changed, "")


def test_without_an_equal_answer_few_pairs_are_too_few(result: Result) -> None:
    """F4: eight pairs stand for more like them."""
    found = difference(result, both(dict.fromkeys(range(8), (1.0, 0.0))), 8, 8)
    assert (found.mean, found.why) == (None, "8 labelled answers, fewer than 10")


def test_too_few_pairs_say_which_to_label(result: Result) -> None:
    """F4: four pairs, and one answer that is labelled on one side only."""
    labels = both(dict.fromkeys(range(4), (1.0, 1.0))) | labelled({5: 1.0}, answer="new")
    found = difference(result, labels)
    assert found.mean is None
    assert found.why == (
        "12 of 24 answers differ from those of main: draw both answers of 6 of them with "
        "'pytest --rag-label 6' (for instance s4, s5, s6, ...)"
    )


def test_a_chosen_label_beside_a_drawn_one_changes_no_mean(result: Result) -> None:
    """F4: 12 drawn labels, 11 of them 1; somebody else says 1 of the one that is 0."""
    labels: dict[str, list[Label]] = labelled(TWELVE)
    labels["s0"] += [Label(1.0, "ben", CHOSEN, digest("now"))] * 3
    assert corrected_of(result(judged([1.0] * 24), JUDGE), people(labels)).mean == pytest.approx(
        11 / 12
    )


def test_samples_without_a_score_are_no_part_of_a_census(result: Result) -> None:
    """F4: all that were scored have chosen labels, the others have none: nothing is corrected."""
    run = result(judged([1.0] * 12 + [None] * 12), JUDGE)
    assert corrected_of(run, people(labelled(TWELVE, CHOSEN))).mean is None


def test_a_code_must_be_of_the_labelled_answer(result: Result) -> None:
    """F4: a draw with the code, but of another answer, says nothing about this stratum."""
    draw = Draw(
        {f"s{at}": digest("before") for at in range(24)}, {f"s{at}": "s-a" for at in range(24)}
    )
    found = corrected_of(
        result(judged([1.0] * 24), JUDGE), people(labelled(TWELVE, "s-a"), draws=[draw])
    )
    assert found.mean is None


def test_a_baseline_tells_which_answers_changed_though_no_label_is_stale(result: Result) -> None:
    """F4: the labels left are of the unchanged half, the others were taken out."""
    samples = [
        SampleResult(f"s{at}", at, scores={"judge": 1.0}, answer="now" if at < 12 else "new")
        for at in range(24)
    ]
    names = [sample.sample_id for sample in samples]
    scores = {"judge": dict.fromkeys(names, 1.0)}
    before = Baseline("main", names, scores, digests=dict.fromkeys(names, digest("now")))
    run = result(samples, JUDGE, baselines={"main": before})
    found = corrected_of(run, people(labelled(TWELVE)))
    assert found.mean is None
    assert found.why.startswith("12 of 24 answers changed")


def test_a_difference_needs_the_strata_of_its_labels(result: Result) -> None:
    """F4: ten pairs, drawn from strata that no draw on record has."""
    labels = {
        name: [replace(label, drawn="s-x") for label in found]
        for name, found in both(dict.fromkeys(range(10), (0.0, 1.0))).items()
    }
    found = difference(result, labels)
    assert found.mean is None
    assert "draws.json" in found.why


def by_strata() -> tuple[list[SampleResult], dict[str, list[Label]], Draw]:
    """Return ten labels of 20 answers that the judge accepts, ten of 80 that it rejects.

    It is wrong about half: people reject 5 labels of the 20 (for 10 samples) and 5 of the 80 (for
    40), so that specificity is 40/50.
    """
    digests = {f"s{at}": digest("now") for at in range(100)}
    codes = {f"s{at}": "s-a" if at < 20 else "s-b" for at in range(100)}
    labels: dict[str, list[Label]] = labelled({at: float(at % 2) for at in range(10)}, "s-a")
    labels |= labelled({at: float(at % 2) for at in range(20, 30)}, "s-b")
    return judged([1.0] * 20 + [0.0] * 80), labels, Draw(digests, codes)


def test_agreement_weighs_labels_that_were_drawn_by_strata(result: Result) -> None:
    """F3: one new row, which has no label, changes nothing."""
    samples, labels, draw = by_strata()
    for rows in (samples, [*samples, SampleResult("new", 100, answer="x", scores={"judge": 1.0})]):
        found = agreement_of(result(rows, JUDGE), people(labels, draws=[draw]))
        assert found.confusion == ((5, 5), (5, 5))
        assert found.specificity == pytest.approx(40 / 50)
        assert found.sensitivity == pytest.approx(10 / 50)
        assert found.unlabelled == len(rows) - 100


def test_a_stratum_without_any_label_is_told(result: Result) -> None:
    """The 80 of the other one count for nothing: what is told of the judge is told of 20."""
    samples, labels, draw = by_strata()
    few = {name: said for name, said in labels.items() if said[0].drawn == "s-a"}
    found = agreement_of(result(samples, JUDGE), people(few, draws=[draw]))
    assert (found.n, found.unlabelled) == (10, 80)
    assert [*not_counted(found)] == ["80 of a stratum without any label"]


@pytest.mark.parametrize(
    ("changed", "specificity"),
    [
        # 19 of the 20 are left with nine labels, of which people reject four.
        ({"s0": None}, 40 / (40 + 4 * 19 / 9)),
        # One label of two changed answers weighs as the mean of the others: 98 samples, 20 labels.
        ({"s10": 0.0, "s11": None}, 40 / (40 + 5 * 18 / 10 + 98 / 20)),
    ],
)
def test_strata_weigh_where_some_answers_have_changed(
    result: Result, changed: Mapping[str, float | None], specificity: float
) -> None:
    """F3: also where these have too few labels for a corrected mean."""
    samples, labels, draw = by_strata()
    rows = [replace(one, answer="new") if one.sample_id in changed else one for one in samples]
    for name, value in changed.items():
        if value is not None:
            labels[name] = [Label(value, "ann", RANDOM, digest("new"))]
    run, human = result(rows, JUDGE), people(labels, draws=[draw])
    assert agreement_of(run, human).specificity == pytest.approx(specificity)
    assert corrected_of(run, human).mean is None


@pytest.mark.parametrize("stale", [False, True])
def test_labels_whose_strata_are_lost_have_no_figures_that_weigh(
    result: Result, stale: bool
) -> None:
    """F3: unweighed ones would be surer than the data; ranks weigh none."""
    samples, labels, _ = by_strata()
    rows = [replace(samples[0], answer="new"), *samples[1:]] if stale else samples
    found = agreement_of(result(rows, JUDGE), people(labels))
    for name in ("sensitivity", "specificity", "kappa", "weighted_kappa", "ac1", "ac2", "bias"):
        ends = [getattr(found, f"{name}{end}") for end in ("", "_low", "_high")]
        assert ends == [None] * 3
        assert "no draws.json beside them has their sizes (no s-a, s-b)" in found.why[name]
    assert found.auc is not None
    # Where all are labelled, none has to be weighed.
    whole = labelled({at: float(at % 2) for at in range(100)}, "s-a")
    assert agreement_of(result(samples, JUDGE), people(whole)).specificity == 40 / 50
