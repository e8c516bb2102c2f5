// A run weighed anew: weighted scores, means, outcomes, gates and the verdict for other weights.

const WEIGHTED = "weighted_score";

/** The data of the page with what follows from it whatever the weights. */
function prepare(data) {
  const samples = data.samples;
  const n = samples.id.length;
  const isInvalid = flags(n, samples.invalid);
  const isMarked = flags(n, samples.xfail);
  const isExpected = samples.outcome.map(
    (outcome, at) =>
      outcome !== "skipped" && !(isInvalid[at] && outcome === "xfailed" && !isMarked[at]),
  );
  const run = {
    data,
    n,
    all: [...Array(n).keys()],
    isInvalid,
    isExpected,
    isUnjudged: flags(n, samples.unjudged),
    isMarked,
    metrics: data.metrics.map((metric) => ({ ...metric, range: rangeOf(metric) })),
    rules: null,
    docs: samples.docs.map((name) => ({ name, nfc: name.normalize("NFC") })),
    fields: new Map(data.fields.map((field) => [field.name, field])),
    baselines: new Map(data.baselines.map((baseline) => [baseline.name, baseline])),
  };
  const isBounded = run.metrics.every((metric) => metric.range.every(Number.isFinite));
  run.weightedRange = isBounded ? [0, 1] : [-Infinity, Infinity];
  run.weights = {
    metrics: Object.fromEntries(run.metrics.map((metric) => [metric.name, metric.weight])),
    docs: new Map(data.scenario.doc_weights),
  };
  run.metric = new Map(run.metrics.map((metric) => [metric.name, metric]));
  run.metric.set(WEIGHTED, { name: WEIGHTED, range: [0, 1], higher_is_better: true });
  run.asRun = weigh(run, run.weights);
  run.rules = samples.outcome.map((outcome, at) => ruleOf(run, outcome, at));
  decide(run.asRun);
  return run;
}

function flags(n, numbers) {
  const found = Array(n).fill(false);
  for (const at of numbers) found[at] = true;
  return found;
}

function rangeOf(metric) {
  return [metric.low ?? -Infinity, metric.high ?? Infinity];
}

/** Everything that depends on weights: `{metrics: {name: weight}, docs: Map(name -> weight)}`. */
function weigh(run, weights) {
  const docWeights = run.docs.map((doc) => weightOfDoc(doc, weights.docs));
  const state = {
    run,
    weights,
    sampleWeights: run.data.samples.doc.map((doc) => (doc < 0 ? 1 : docWeights[doc])),
    weighted: weightedScores(
      run.metrics.map((metric) => metric.scores),
      run.metrics,
      weights.metrics,
    ),
    changed: changes(run, weights, docWeights),
  };
  state.baselines = new Map(
    [...run.baselines].map(([name, baseline]) => [name, weighedBaseline(run, baseline, weights)]),
  );
  const expected = run.all.filter((at) => run.isExpected[at]);
  state.summaries = Object.fromEntries(
    run.metrics.map((metric) => [metric.name, summaryOf(state, metric.name, expected)]),
  );
  state.summaries[WEIGHTED] = summaryOf(state, WEIGHTED, expected);
  state.shortfalls = run.all.map((at) => shortfallsOf(state, at));
  if (run.rules) decide(state);
  return state;
}

/** Names match in Unicode NFC, the exact one first; a document that is not named weighs 1. */
function weightOfDoc(doc, weights) {
  if (weights.has(doc.name)) return weights.get(doc.name);
  for (const [name, weight] of weights) {
    if (name.normalize("NFC") === doc.nfc) return weight;
  }
  return 1;
}

/** A score as it enters the weighted score: 0..1 where bounded, higher is better. */
function toUnit(metric, score) {
  const [low, high] = metric.range;
  if ((low !== 0 || high !== 1) && Number.isFinite(high - low))
    score = (score - low) / (high - low);
  return metric.higher_is_better ? score : 1 - score;
}

function weightedScores(columns, metrics, weights) {
  const sizes = metrics.map((metric) => weights[metric.name]);
  const values = Array(metrics.length);
  return (columns[0] ?? []).map((_, at) => {
    for (let m = 0; m < metrics.length; m++) {
      const score = columns[m][at];
      values[m] = score === null ? null : toUnit(metrics[m], score);
    }
    return weightedMean(values, sizes);
  });
}

function weighedBaseline(run, baseline, weights) {
  const scores = { ...baseline.scores };
  if (baseline.is_weighed) {
    const columns = run.metrics.map((metric) => scores[metric.name]);
    scores[WEIGHTED] = weightedScores(columns, run.metrics, weights.metrics);
  }
  return { name: baseline.name, scores };
}

function changes(run, weights, docWeights) {
  return {
    metrics: run.metrics.some((metric) => weights.metrics[metric.name] !== metric.weight),
    docs: run.docs.some((doc, at) => weightOfDoc(doc, run.weights.docs) !== docWeights[at]),
  };
}

function scoresOf(state, target) {
  return target === WEIGHTED ? state.weighted : state.run.metric.get(target).scores;
}

function metricOf(run, target) {
  return run.metric.get(target);
}

function rangeOfTarget(run, target) {
  return target === WEIGHTED ? run.weightedRange : metricOf(run, target).range;
}

function summaryOf(state, target, samples) {
  const scores = scoresOf(state, target);
  return summarize(
    samples.map((at) => scores[at]),
    samples.map((at) => state.sampleWeights[at]),
    rangeOfTarget(state.run, target),
  );
}

/** Whether a value keeps `[min, max]`, either may be null, within the tolerance. */
function holds([min, max], value) {
  return !tooLow(min, value) && !tooHigh(max, value);
}

function tooLow(min, value) {
  return min !== null && value < min - TOLERANCE;
}

function tooHigh(max, value) {
  return max !== null && value > max + TOLERANCE;
}

/** The thresholds that a sample misses; scores that are missing are not judged. */
function shortfallsOf(state, at) {
  const missed = [];
  for (const [name, min, max] of state.run.data.scenario.thresholds) {
    const value = scoresOf(state, name)[at];
    if (value !== null && !holds([min, max], value)) missed.push({ name, value, ends: [min, max] });
  }
  return missed;
}

const PLAIN = { isExpectedToFail: false, isStrict: false };
const EXPECTED = { isExpectedToFail: true, isStrict: false };
const STRICT = { isExpectedToFail: true, isStrict: true }; // xfail_strict: a pass is a failure

/**
 * How a sample's outcome follows from its scores: `null` where it does not (skipped, invalid, or
 * decided by something else than thresholds), else the rule that gave it as run. The mark of a row
 * may have been ignored (--runxfail); one that a conftest.py gave shows in the outcome alone.
 */
function ruleOf(run, outcome, at) {
  if (outcome === "skipped" || run.isInvalid[at]) return null;
  const rules = run.isMarked[at] ? [EXPECTED, STRICT, PLAIN] : [PLAIN, EXPECTED];
  return rules.find((rule) => naturalOutcome(run.asRun, rule, at) === outcome) ?? null;
}

function unjudged(state, at) {
  return state.weighted[at] === null || state.run.isUnjudged[at];
}

function naturalOutcome(state, rule, at) {
  if (unjudged(state, at)) return rule.isExpectedToFail ? "xfailed" : "error";
  if (state.shortfalls[at].length === 0) return rule.isStrict ? "failed" : "passed";
  return rule.isExpectedToFail || state.run.data.scenario.tolerate ? "xfailed" : "failed";
}

/** Adds outcomes, counts, gates, comparison and verdict to a state. */
function decide(state) {
  const run = state.run;
  state.outcomes = run.all.map((at) =>
    run.rules[at] === null
      ? run.data.samples.outcome[at]
      : naturalOutcome(state, run.rules[at], at),
  );
  state.counts = countsOf(state);
  state.gates = decidedGates(state);
  state.comparison = comparisonOf(state);
  state.verdict = verdictOf(state);
}

function countsOf(state) {
  const counts = { passed: 0, failed: 0, error: 0, skipped: 0, xfailed: 0 };
  for (const outcome of state.outcomes) counts[outcome] += 1;
  counts.ran = state.run.n;
  counts.scored = state.weighted.filter((score) => score !== null).length;
  return counts;
}

/** What the run's summary would say: failed by a case or a gate, else passed where all ran. */
function verdictOf(state) {
  const failedGates = state.gates.filter((gate) => gate.outcome === "failed").length;
  const openGates = state.gates.filter((gate) => gate.outcome === "skipped").length;
  const failedSamples = state.counts.failed + state.counts.error;
  const isComplete = state.run.data.scenario.complete;
  const outcome = failedGates || failedSamples ? "failed" : isComplete ? "passed" : "partial";
  const isAsRun = state.gates.some((gate) => gate.isAsRun);
  return { outcome, failedGates, openGates, failedSamples, isAsRun };
}

/** The good / warn / bad band of a score of `target`, null where there is no score. */
function bandOf(run, target, score) {
  if (score === null) return null;
  const unit = toUnit(metricOf(run, target), score);
  const [good, warn] = run.data.scenario.bands;
  if (unit >= good - TOLERANCE) return "good";
  return unit >= warn - TOLERANCE ? "warn" : "bad";
}

/** The figures of each value of a field, the worst mean first; values without any score last. */
function slicesOf(state, field, target) {
  const groups = field.values.map(() => []);
  field.at.forEach((value, at) => {
    if (state.run.isExpected[at]) groups[value].push(at);
  });
  return groups
    .map((samples, value) => ({ value, samples, summary: summaryOf(state, target, samples) }))
    .filter((slice) => slice.samples.length > 0)
    .sort((a, b) => badness(state, target, b) - badness(state, target, a) || a.value - b.value);
}

function badness(state, target, slice) {
  const mean = slice.summary.weighted_mean;
  if (mean === null) return -Infinity;
  return metricOf(state.run, target).higher_is_better ? -mean : mean;
}
