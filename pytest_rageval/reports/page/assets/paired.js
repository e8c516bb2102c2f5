// This run (A) against another one (B): means, difference and interval for other weights.

const EQUAL_SCORES = 1e-12;
const NO_SPREAD = 1e-9;
const UNBOUNDED = [-Infinity, Infinity];

/** The difference of a metric over the samples that both runs scored and that weigh something. */
function comparePaired(state, baseline, target, alpha, alphaOfEach, samples) {
  const [a, b] = pairedScores(state, baseline, target);
  // Beside a huge weight a tiny one is nothing, as in Python.
  const lacks = new Set(baseline.lacks);
  const shared = samples.filter((at) => !lacks.has(at));
  const sizes = tame(shared.map((at) => state.sampleWeights[at]));
  const taking = shared
    .map((at, place) => [at, sizes[place]])
    .filter(([at, size]) => a[at] !== null && b[at] !== null && size > 0);
  const rows = taking.map(([at]) => at);
  const weights = taking.map(([, size]) => size);
  const differences = rows.map((at) => differenceOf(a[at], b[at]));
  const mean = (values) => weightedMean(values, weights);
  const groups = groupsOf(state.run, rows);
  const interval = weightedInterval(differences, weights, UNBOUNDED, 1 - alpha, groups);
  const units = groups === null ? rows.length : new Set(groups).size;
  return {
    a_mean: mean(rows.map((at) => a[at])),
    b_mean: mean(rows.map((at) => b[at])),
    diff: mean(differences),
    ci_low: interval === null ? null : interval[0],
    ci_high: interval === null ? null : interval[1],
    n: rows.length,
    n_nonzero: differences.filter((difference) => difference !== 0).length,
    units,
    groups: groups === null ? null : units,
    have_spread: haveSpread(differences),
    smallest_detectable: smallestDetectable(differences, weights, groups, alphaOfEach),
  };
}

/**
 * The scores of both runs. The weighted scores of a pair are over the same metrics: one that applies
 * to the sample in one of the runs only is left out of both.
 */
function pairedScores(state, baseline, target) {
  const a = scoresOf(state, target);
  const b = baseline.scores[target];
  if (target !== WEIGHTED) return [a, b];
  const counted = state.run.metrics.filter(
    ({ name }) => state.weights.metrics[name] > 0 && name in baseline.scores,
  );
  const theirs = (metric, at) => baseline.scores[metric.name][at];
  const both = [[...a], [...b]];
  for (const at of state.run.all) {
    if (a[at] === null || b[at] === null) continue;
    if (counted.every((one) => (one.scores[at] === null) === (theirs(one, at) === null))) continue;
    const common = counted.filter((one) => one.scores[at] !== null && theirs(one, at) !== null);
    const sizes = common.map((one) => state.weights.metrics[one.name]);
    both[0][at] = weightedMean(
      common.map((one) => toUnit(one, one.scores[at])),
      sizes,
    );
    both[1][at] = weightedMean(
      common.map((one) => toUnit(one, theirs(one, at))),
      sizes,
    );
  }
  return both;
}

/** The interval of A - B as that of a mean in the range -span..span. */
function intervalOfFall(state, baseline, target, alpha, samples) {
  const [a, b] = pairedScores(state, baseline, target);
  const rows = samples.filter((at) => a[at] !== null && b[at] !== null);
  const [low, high] = rangeOfTarget(state, target);
  return weightedInterval(
    rows.map((at) => a[at] - b[at]),
    rows.map((at) => state.sampleWeights[at]),
    [low - high, high - low],
    1 - alpha,
    groupsOf(state.run, rows),
  );
}

/** a - b, and 0 where only rounding differs. */
function differenceOf(a, b) {
  const difference = a - b;
  const size = Math.max(Math.abs(a), Math.abs(b));
  return Math.abs(difference) <= EQUAL_SCORES * size ? 0 : difference;
}

function smallestDetectable(differences, weights, groups, alpha) {
  if (!haveSpread(differences)) return null;
  const found = meanError(differences, weights, groups);
  if (found === null) return null;
  const factor = tQuantile(1 - alpha / 2, found.degrees) + tQuantile(0.8, found.degrees);
  return timesPowerOfTwo(factor * found.error, found.exponent);
}

function haveSpread(differences) {
  let low = Infinity;
  let high = -Infinity;
  for (const difference of differences) {
    low = Math.min(low, difference);
    high = Math.max(high, difference);
  }
  return high - low > NO_SPREAD * Math.max(Math.abs(low), Math.abs(high));
}

/** Whether what a paired test looked at is no longer what it was: its p value then is as run. */
function affects(state, target) {
  return state.changed.docs || (target === WEIGHTED && state.changed.metrics);
}

/**
 * The comparison with p values as run; `isStale` marks those that other weights would change, and
 * `isOpen` what only a run can tell: a difference that was not tested, or turned.
 */
function comparisonOf(state) {
  const plan = state.run.data.comparison;
  if (plan === null) return null;
  const baseline = state.baselines.get(plan.baseline);
  // The adjustment is over all metrics together: one that changes may change them all.
  const names = comparedNames(state, plan, baseline);
  const tested = Object.keys(plan.metrics);
  const isStale = [...tested, ...names].some((name) => affects(state, name));
  return names.map((name) => {
    const asRun = plan.metrics[name] ?? UNTESTED;
    const now = comparePaired(state, baseline, name, plan.alpha, plan.alpha_of_each, state.run.all);
    const hasTurned = asRun.significant && Math.sign(now.diff ?? 0) !== Math.sign(asRun.diff);
    const isOpen = isStale && (asRun === UNTESTED || hasTurned);
    return { ...asRun, ...now, name, isStale, isOpen };
  });
}

const UNTESTED = {
  p_value: null,
  p_adjusted: null,
  significant: false,
  method: "",
  note: "",
  undecided: "",
};

/** The weighted score is compared where it is more than the one metric that weighs anything. */
function comparedNames(state, plan, baseline) {
  const names = Object.keys(plan.metrics);
  if (!plan.compares_all || !(WEIGHTED in baseline.scores)) return names;
  const others = names.filter((name) => name !== WEIGHTED);
  const weighing = state.run.metrics.filter(({ name }) => state.weights.metrics[name] > 0);
  return weighing.length === 1 ? others : [...others, WEIGHTED];
}
