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
    isUnanswered: flags(n, samples.unanswered),
    isNotAsked: flags(n, samples.not_asked),
    mayBeMissing: new Set(data.scenario.may_be_missing),
    metrics: data.metrics.map((metric) => ({
      ...metric,
      range: rangeOf(metric),
      hasFailed: flags(n, metric.failed),
      isRuledOut: flags(n, metric.ruled_out),
      isOfRow: flags(n, metric.of_row),
      isUnasked: flags(n, metric.unasked),
      hasRefused: flags(n, metric.refused),
    })),
    rules: null,
    docs: docsOf(samples),
    groups: samples.group ?? null,
    fields: new Map(data.fields.map((field) => [field.name, field])),
  };
  // Rows that rule every metric out need no score.
  run.isScoreless = run.all.map((at) => run.metrics.every(({ isRuledOut }) => isRuledOut[at]));
  run.weights = {
    metrics: Object.fromEntries(run.metrics.map((metric) => [metric.name, metric.weight])),
    docs: new Map(data.scenario.doc_weights),
  };
  run.metric = new Map(run.metrics.map((metric) => [metric.name, metric]));
  const weighted = { name: WEIGHTED, range: [0, 1], higher_is_better: true };
  const everywhere = (flag) => run.all.map((at) => run.metrics.every((one) => one[flag][at]));
  const flagged = { isOfRow: everywhere("isOfRow"), isUnasked: everywhere("isUnasked") };
  run.metric.set(WEIGHTED, { ...weighted, ...flagged });
  run.asRun = weigh(run, run.weights);
  run.rules = samples.outcome.map((outcome, at) => ruleOf(run, outcome, at));
  decide(run.asRun);
  return run;
}

/** The documents, each with how many samples it has. */
function docsOf({ docs, doc }) {
  const counts = Array(docs.length).fill(0);
  for (const at of doc) if (at >= 0) counts[at] += 1;
  return docs.map((name, at) => ({ name, plain: plainDoc(name), n: counts[at] }));
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
    weighted: weightedScores(run, weights.metrics),
    weightedRange: weightedRange(run.metrics, weights.metrics),
    changed: changes(run, weights, docWeights),
  };
  const expected = run.all.filter((at) => run.isExpected[at]);
  state.summaries = Object.fromEntries(
    run.metrics.map((metric) => [metric.name, summaryOf(state, metric.name, expected)]),
  );
  state.summaries[WEIGHTED] = summaryOf(state, WEIGHTED, expected);
  state.shortfalls = run.all.map((at) => shortfallsOf(state, at));
  if (run.rules) decide(state);
  return state;
}

/** What names of documents are compared by: Unicode NFC without blanks around it. */
function plainDoc(name) {
  return name.normalize("NFC").trim();
}

/** The exact name comes first; a document that is not named weighs 1. */
function weightOfDoc(doc, weights) {
  if (weights.has(doc.name)) return weights.get(doc.name);
  for (const [name, weight] of weights) {
    if (plainDoc(name) === doc.plain) return weight;
  }
  return 1;
}

/** A score as it enters the weighted score: 0..1 where bounded, higher is better. */
function toUnit(metric, score) {
  const [low, high] = metric.range;
  if (isStretched(metric)) score = (score - low) / (high - low);
  return metric.higher_is_better ? score : 1 - score;
}

/** Whether a score is rescaled to 0..1: a cosine enters as it is, and so does what is unbounded. */
function isStretched({ range: [low, high], as_is: isAsIs }) {
  return (low !== 0 || high !== 1) && Number.isFinite(high - low) && !isAsIs;
}

/** Where a weighted score can lie: the weighted means of the ends of the metrics that count. */
function weightedRange(metrics, weights) {
  const largest = Math.max(0, ...metrics.map((metric) => weights[metric.name])) || 1;
  const counted = metrics
    .map((metric) => [weights[metric.name] / largest, unitRange(metric)])
    .filter(([size]) => size > 0);
  if (!counted.length) return [0, 1];
  const total = counted.reduce((sum, [size]) => sum + size, 0);
  return [0, 1].map(
    (end) => counted.reduce((sum, [size, ends]) => sum + size * ends[end], 0) / total,
  );
}

function unitRange(metric) {
  const [low, high] = isStretched(metric) ? [0, 1] : metric.range;
  return metric.higher_is_better ? [low, high] : [1 - high, 1 - low];
}

/** null where a metric of some weight failed: without it, the score would be that of others. */
function weightedScores({ metrics, all }, weights) {
  const sizes = metrics.map(({ name }) => weights[name]);
  return all.map((at) => {
    if (metrics.some(({ hasFailed }, which) => sizes[which] > 0 && hasFailed[at])) return null;
    const units = metrics.map((metric) =>
      metric.scores[at] === null ? null : toUnit(metric, metric.scores[at]),
    );
    return weightedMean(units, sizes);
  });
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

function rangeOfTarget(state, target) {
  return target === WEIGHTED ? state.weightedRange : metricOf(state.run, target).range;
}

/** The groups of these samples, null where each sample is its own. */
function groupsOf(run, samples) {
  return run.groups === null ? null : samples.map((at) => run.groups[at]);
}

function summaryOf(state, target, samples) {
  const scores = scoresOf(state, target);
  return summarize(
    samples.map((at) => scores[at]),
    samples.map((at) => state.sampleWeights[at]),
    rangeOfTarget(state, target),
    groupsOf(state.run, samples),
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

/**
 * The thresholds that a sample misses, and the metrics that say themselves that it does not pass;
 * scores that are missing are not judged.
 */
function shortfallsOf(state, at) {
  const missed = [];
  for (const [name, min, max] of state.run.data.scenario.thresholds) {
    const value = scoresOf(state, name)[at];
    if (value !== null && !holds([min, max], value)) missed.push({ name, value, ends: [min, max] });
  }
  for (const metric of state.run.metrics) {
    if (metric.hasRefused[at]) missed.push({ name: metric.name, ends: null });
  }
  return missed;
}

const PLAIN = { isExpectedToFail: false, isStrict: false };
const EXPECTED = { isExpectedToFail: true, isStrict: false };
const STRICT = { isExpectedToFail: true, isStrict: true }; // xfail_strict: a pass is a failure

/**
 * How a sample's outcome follows from its scores: `null` where it does not (skipped, invalid, or
 * decided by something else than thresholds), else the rule that gave it as run. A mark that a
 * conftest.py gave, or took, shows in the outcome alone; with --runxfail none counts.
 */
function ruleOf(run, outcome, at) {
  if (outcome === "skipped" || run.isInvalid[at]) return null;
  const marked = run.isMarked[at] ? [EXPECTED, STRICT, PLAIN] : [PLAIN, EXPECTED];
  const rules = run.data.scenario.expects_failures ? marked : [PLAIN];
  return rules.find((rule) => naturalOutcome(run.asRun, rule, at) === outcome) ?? null;
}

/** Whether the sample is an ERROR, as pytest_rageval/engine/verdict/sample_verdict.py has it. */
function unjudged(state, at) {
  if (state.run.isUnjudged[at]) return true;
  if (state.weighted[at] !== null || isTolerated(state, at)) return false;
  if (!state.run.metrics.some((metric) => metric.scores[at] !== null))
    return !state.run.isScoreless[at];
  const hasFailed = blamedMetrics(state, at).some((metric) => metric.hasFailed[at]);
  return !hasFailed || state.run.data.scenario.judges_weighted;
}

/** For want of which metrics a sample has no weighted score: those that failed, else all. */
function blamedMetrics(state, at) {
  if (state.weighted[at] !== null) return [];
  const lacking = state.run.metrics.filter(
    (metric) => state.weights.metrics[metric.name] > 0 && metric.scores[at] === null,
  );
  const failed = lacking.filter((metric) => metric.hasFailed[at]);
  return failed.length ? failed : lacking;
}

/** Whether a sample has no score of a metric that its row does not leave out. */
function lacks(metric, at) {
  return metric.scores[at] === null && !metric.isRuledOut[at];
}

/** Whether the weighted score is missing only because of metrics that may be missing. */
function isTolerated(state, at, allowed = state.run.mayBeMissing) {
  const { run } = state;
  if (!allowed.size || run.isInvalid[at] || run.isUnanswered[at] || run.isNotAsked[at])
    return false;
  const blamed = blamedMetrics(state, at);
  return blamed.length > 0 && blamed.every((metric) => allowed.has(metric.name));
}

/** Whether a score is missing with leave of the gate `unscored`: the case is xfailed. */
function lacksWithLeave(state, at) {
  const blamed = new Set(blamedMetrics(state, at));
  return state.run.metrics.some(
    (metric) =>
      state.run.mayBeMissing.has(metric.name) &&
      metric.scores[at] === null &&
      (metric.hasFailed[at] ||
        (metric.is_required && !metric.isRuledOut[at]) ||
        blamed.has(metric)),
  );
}

function naturalOutcome(state, rule, at) {
  const { scenario } = state.run.data;
  if (unjudged(state, at)) return rule.isExpectedToFail ? "xfailed" : "error";
  if (state.shortfalls[at].length === 0) {
    if (lacksWithLeave(state, at)) return scenario.expects_failures ? "xfailed" : "failed";
    return rule.isStrict ? "failed" : "passed";
  }
  return rule.isExpectedToFail || scenario.tolerate ? "xfailed" : "failed";
}

/** Adds outcomes, counts, gates and verdict to a state. */
function decide(state) {
  const run = state.run;
  state.outcomes = run.all.map((at) =>
    run.rules[at] === null
      ? run.data.samples.outcome[at]
      : naturalOutcome(state, run.rules[at], at),
  );
  state.counts = countsOf(state);
  state.gates = decidedGates(state);
  state.verdict = verdictOf(state);
}

function countsOf(state) {
  const counts = { passed: 0, failed: 0, error: 0, skipped: 0, xfailed: 0 };
  for (const outcome of state.outcomes) counts[outcome] += 1;
  const { not_asked, not_run } = state.run.data.scenario;
  counts.ran = state.run.n - not_asked - not_run;
  counts.scored = state.weighted.filter((score) => score !== null).length;
  return counts;
}

/** Whether a sample does not pass, and only a gate decides how many may not. */
function failsWithLeave({ outcomes, run }, at) {
  return outcomes[at] === "xfailed" && !run.isMarked[at];
}

/** What the run's summary would say: failed by a case or a gate, else passed where all is decided. */
function verdictOf(state) {
  const failedGates = state.gates.filter((gate) => gate.outcome === "failed").length;
  const openGates = state.gates.filter((gate) => gate.outcome === "skipped").length;
  const { failed: failedSamples, error: errorSamples } = state.counts;
  const { complete, not_asked, is_judged } = state.run.data.scenario;
  const isFailed = failedGates || failedSamples || errorSamples;
  const ended = is_judged ? "passed" : "unjudged";
  // A run that stopped early was certain for its own weights alone.
  const isWhole = Boolean(complete || (not_asked && !isWeighedAnew(state)));
  const outcome = isFailed ? "failed" : isWhole && !openGates ? ended : "partial";
  const isAsRun = state.gates.some((gate) => gate.isAsRun);
  const toleratedSamples = state.run.all.filter((at) => failsWithLeave(state, at)).length;
  const samples = { failedSamples, errorSamples, toleratedSamples, isWhole };
  const hasGates = state.gates.length > 0;
  return { outcome, hasGates, failedGates, openGates, ...samples, isAsRun };
}

/** The good / warn / bad band of a score of `target`, null where there is no score. */
function bandOf(run, target, score) {
  if (score === null || run.data.scenario.doubtful?.includes(target)) return null;
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
