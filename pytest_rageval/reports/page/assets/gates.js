// The gates, as pytest_rageval/gates decides them. Each message is a function, for the language.

const CHECKS = {
  mean: checkMean,
  lower_bound: checkLowerBound,
  quantile: checkQuantile,
  pass_rate: checkPassRate,
  unscored: checkUnscored,
  by: checkSlices,
  no_regression: checkRegression,
};

const IMPLICIT_UNSCORED = { name: "unscored", kind: "unscored", ends: [null, 0] };

/** Every gate's verdict for a state's weights. */
function decidedGates(state) {
  const { data, all } = state.run;
  const decide = (gates) => gates.map((gate) => withRun(state, gate, checked(state, gate, all)));
  if (!data.scenario.guards_itself || isForced(state.run)) return decide(data.gates);
  // Nobody asked for a gate: one that samples lack scores is there, and seen when it fails.
  const others = data.gates.filter((gate) => gate.name !== IMPLICIT_UNSCORED.name);
  const guard = decide([IMPLICIT_UNSCORED]).filter((gate) => gate.outcome === "failed");
  return [...guard, ...decide(others)];
}

function isForced({ data }) {
  return !data.scenario.complete || data.scenario.beyond_budget > 0;
}

function checked(state, gate, samples) {
  const leaf = leafOf(gate);
  if (!CHECKS[leaf.kind]) return asItRan(gate, isAnythingChanged(state));
  if (leaf.kind === "no_regression" && gate.run) {
    if (!Object.keys(leaf.targets).some((target) => affects(state, target)))
      return asItRan(gate, false);
  }
  return CHECKS[gate.kind](state, gate, samples);
}

function leafOf(gate) {
  return gate.inner ? leafOf(gate.inner) : gate;
}

function isAnythingChanged(state) {
  return state.changed.docs || state.changed.metrics;
}

/** A partial run decides nothing: the verdict stays, the figure so far follows the weights. */
function withRun(state, gate, found) {
  if (!isForced(state.run)) return { ...found, name: gate.name };
  const [outcome, observed, bound, message] = gate.run;
  const soFar = found.observed === null || found.observed === undefined ? observed : found.observed;
  const text =
    soFar === null ? message : message.replace(/so far -?\d+\.\d+/, () => `so far ${fixed(soFar)}`);
  return { name: gate.name, outcome, observed: soFar, bound, margin: null, message: () => text };
}

function asItRan(gate, isAsRun) {
  const [outcome, observed, bound, message] = gate.run ?? ["skipped", null, null, ""];
  return { outcome, observed, bound, margin: null, isAsRun, message: () => message };
}

function boundResult(ends, observed, missing, remark) {
  const bound = ends[0] ?? ends[1];
  if (observed === null)
    return { outcome: "failed", observed, bound, margin: null, message: missing };
  return {
    outcome: holds(ends, observed) ? "passed" : "failed",
    observed,
    bound,
    margin: Math.min(
      ends[0] === null ? Infinity : observed - ends[0],
      ends[1] === null ? Infinity : ends[1] - observed,
    ),
    message: () => {
      const said = remark();
      return said
        ? say("compared", { comparison: compareText(ends, observed), said })
        : compareText(ends, observed);
    },
  };
}

/** The comparison with the end that decides it, as `0.6100 < 0.7000`. */
function compareText([min, max], value) {
  const isHigh = tooHigh(max, value);
  if (max !== null && (min === null || isHigh)) {
    return `${fixed(value)} ${isHigh ? ">" : "<="} ${fixed(max)}`;
  }
  return `${fixed(value)} ${tooLow(min, value) ? "<" : ">="} ${fixed(min)}`;
}

/** Four decimals; a tie goes to the even digit, as in Python. */
function fixed(value) {
  const isTie =
    Number(value.toFixed(5)) === value &&
    Number.isInteger(value * 32) &&
    !Number.isInteger(value * 16);
  const text = value.toFixed(4);
  const last = Number(text.at(-1));
  return isTie && last % 2 === 1 ? `${text.slice(0, -1)}${last - 1}` : text;
}

function scoredOf(state, target, samples) {
  const scores = scoresOf(state, target);
  const found = samples.filter((at) => state.run.isExpected[at] && scores[at] !== null);
  return [found.map((at) => scores[at]), found.map((at) => state.sampleWeights[at])];
}

function checkMean(state, gate, samples) {
  const expected = samples.filter((at) => state.run.isExpected[at]);
  const [values, weights] = scoredOf(state, gate.target, samples);
  const remark = () =>
    values.length < expected.length ? say("over", { n: values.length, of: expected.length }) : "";
  const missing = () => say("no_sample_has", { target: gate.target });
  return boundResult(gate.ends, weightedMean(values, weights), missing, remark);
}

function checkLowerBound(state, gate, samples) {
  const [values, weights] = scoredOf(state, gate.target, samples);
  const range = rangeOfTarget(state.run, gate.target);
  const interval = weightedInterval(values, weights, range, gate.confidence);
  const tooFew = () => say("too_few", { n: values.length, target: gate.target });
  if (interval === null) return boundResult(gate.ends, null, tooFew);
  const end = gate.ends[0] !== null ? interval[0] : interval[1];
  const remark = () =>
    say("interval_of_mean", {
      confidence: Number((100 * gate.confidence).toPrecision(3)),
      low: fixed(interval[0]),
      high: fixed(interval[1]),
      mean: fixed(weightedMean(values, weights)),
      n: values.length,
    });
  return boundResult(gate.ends, end, tooFew, remark);
}

function checkQuantile(state, gate, samples) {
  const [values, weights] = scoredOf(state, gate.target, samples);
  const missing = () => say("no_sample_has", { target: gate.target });
  const remark = () => say("n", { n: values.length });
  const found = (ends, side) =>
    boundResult(ends, weightedQuantile(values, weights, gate.q, side), missing, remark);
  const [min, max] = gate.ends;
  const ends = [];
  if (min !== null) ends.push(found([min, null], "upper"));
  if (max !== null) ends.push(found([null, max], "lower"));
  return ends.reduce((best, end) => (marginOf(end) < marginOf(best) ? end : best));
}

function checkPassRate(state, gate, samples) {
  const scored = samples.filter((at) => state.weighted[at] !== null);
  const met = scored.filter((at) => state.shortfalls[at].length === 0).length;
  const rate = scored.length ? met / scored.length : null;
  const remark = () => say("of_scored", { n: met, of: scored.length });
  return boundResult(gate.ends, rate, () => say("none_scored", {}), remark);
}

function checkUnscored(state, gate, samples) {
  const expected = samples.filter((at) => state.run.isExpected[at]);
  const without = expected.filter((at) => state.weighted[at] === null).length;
  const share = expected.length ? without / expected.length : null;
  if (expected.length && without === expected.length) {
    return {
      outcome: "failed",
      observed: share,
      bound: gate.ends[0] ?? gate.ends[1],
      margin: null,
      message: () => say("none_of_scored", { n: expected.length }),
    };
  }
  const missing = () => say("nothing_to_score", { n: samples.length });
  return boundResult(gate.ends, share, missing, () =>
    say("of_samples", { n: without, of: expected.length }),
  );
}

function checkSlices(state, gate, samples) {
  const [slices, added] = judgedSlices(state, gate, samples);
  const verdicts = sliceVerdicts(state, gate, slices);
  const leftOut = () => (added.length ? leftOutSlices(state, gate, added) : "");
  if (!verdicts.length) {
    return {
      outcome: "failed",
      observed: null,
      bound: null,
      margin: null,
      message: () => say("no_slices", {}) + leftOut(),
    };
  }
  if (verdicts.every((found) => found.outcome === "skipped")) {
    return {
      outcome: "skipped",
      observed: null,
      bound: null,
      margin: null,
      message: verdicts[0].message,
    };
  }
  const failed = verdicts.filter((found) => found.outcome === "failed");
  const shown = failed.length ? failed : verdicts;
  const worst = shown.reduce((best, found) => (marginOf(found) < marginOf(best) ? found : best));
  const figures = { n: failed.length, of: verdicts.length, field: gate.field };
  const isAsRun = !failed.length && verdicts.some((found) => found.isAsRun);
  return {
    outcome: failed.length ? "failed" : isAsRun && gate.run ? gate.run[0] : "passed",
    observed: worst.observed,
    bound: worst.bound,
    margin: null,
    isAsRun,
    message: () =>
      (failed.length
        ? say("failed_slices", { ...figures, list: listedSlices(state, failed) })
        : say("all_slices", { ...figures, worst: worst.message() })) + leftOut(),
  };
}

/** The slices to look at, and those of whose samples the run compared with has none. */
function judgedSlices(state, gate, samples) {
  const field = state.run.fields.get(gate.field);
  const slices = field.values.map((text) => ({ text, samples: [] }));
  for (const at of samples) slices[field.at[at]].samples.push(at);
  const there = slices.filter((slice) => slice.samples.some((at) => state.run.isExpected[at]));
  const baseline = state.run.baselines.get(leafOf(gate).baseline);
  if (!baseline) return [there, []];
  const lacks = new Set(baseline.lacks);
  const isAdded = (slice) => slice.samples.every((at) => lacks.has(at));
  return [there.filter((slice) => !isAdded(slice)), there.filter(isAdded)];
}

function sliceVerdicts(state, gate, slices) {
  return slices.map(({ text, samples }) => ({ ...checked(state, gate.inner, samples), text }));
}

function leftOutSlices(state, gate, slices) {
  const list = slices.slice(0, 5).map((slice) => textAt(state.run, slice.text));
  const more = slices.length > 5 ? say("and_more_names", { n: slices.length - 5 }) : "";
  return say("left_out", { baseline: leafOf(gate).baseline, list: list.join(", ") + more });
}

function listedSlices(state, failed) {
  const listed = failed
    .slice(0, 5)
    .map((found) => `${textAt(state.run, found.text)}: ${found.message()}`);
  const more = failed.length > 5 ? say("and_more", { n: failed.length - 5 }) : "";
  return listed.join("; ") + more;
}

function marginOf(found) {
  return found.margin === null ? -Infinity : found.margin;
}

/** What no test can tell here, significance, stays as run; drops and intervals are exact. */
function checkRegression(state, gate, samples) {
  const baseline = state.baselines.get(gate.baseline);
  const found = Object.keys(gate.targets).map((target) => {
    const compared = comparePaired(state, baseline, target, gate.alpha, gate.power_factor, samples);
    const gain =
      compared.diff === null ? null : gate.targets[target] ? compared.diff : -compared.diff;
    const allowed = gate.relative ? gate.max_drop * Math.abs(compared.b_mean ?? 0) : gate.max_drop;
    return { target, compared, gain, allowed, fell: fell(gate, target, compared, gain, allowed) };
  });
  return regressionVerdict(gate, found);
}

/** true, false, or null where only a paired test could tell. */
function fell(gate, target, compared, gain, allowed) {
  if (gain === null) return true;
  if (gate.mode === "non_inferior") {
    if (compared.ci_low === null) return true;
    return (gate.targets[target] ? compared.ci_low : -compared.ci_high) < -allowed - TOLERANCE;
  }
  if (!(-gain > allowed + TOLERANCE)) return false;
  return gate.mode === "any" ? true : null;
}

function regressionVerdict(gate, found) {
  const failed = found.filter((one) => one.fell);
  const open = found.filter((one) => one.fell === null);
  const worstOf = (many, key) => many.reduce((best, one) => (key(one) < key(best) ? one : best));
  const candidates = failed.length
    ? failed
    : open.length
      ? open
      : [worstOf(found, (one) => one.gain ?? 0)];
  const worst = worstOf(candidates, (one) => one.gain ?? -1e300);
  const isAsRun = !failed.length && open.length > 0;
  return {
    outcome: failed.length ? "failed" : isAsRun ? (gate.run ? gate.run[0] : "passed") : "passed",
    observed: worst.gain,
    bound: 0 - worst.allowed,
    margin: worst.gain === null ? null : worst.gain + worst.allowed,
    isAsRun,
    message: () => {
      const text = candidates.map((one) => regressionText(gate, one)).join("; ");
      return isAsRun ? `${text}; ${say("significance_as_run", {})}` : text;
    },
  };
}

function regressionText(gate, { target, compared }) {
  if (compared.diff === null) return say("no_pairs", { target });
  return say("regression", {
    target,
    a: fixed(compared.a_mean),
    b: fixed(compared.b_mean),
    baseline: gate.baseline,
    diff: signed(compared.diff),
    n: compared.n,
  });
}

function signed(value) {
  return (value < 0 ? "" : "+") + fixed(value);
}
