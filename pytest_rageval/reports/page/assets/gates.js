// The simple gates, as pytest_rageval/gates decides them, and the others as the run decided them.
// Each message is a function, for the language.

const CHECKS = {
  mean: checkMean,
  lower_bound: checkLowerBound,
  quantile: checkQuantile,
  pass_rate: checkPassRate,
  unscored: checkUnscored,
  by: checkSlices,
};

const MOST_ADVISED = 0.2;
const WORST_LISTED = 3; // in the head of the page
const LONGEST_VALUE = 100;
const IMPLICIT_UNSCORED = { name: "unscored", kind: "unscored", ends: [null, 0], shares: [] };

/** Every gate's verdict for a state's weights. */
function decidedGates(state) {
  const { data, all } = state.run;
  const decide = (gates) => gates.map((gate) => withRun(state, gate, checked(state, gate, all)));
  if (!data.scenario.guards_itself || isForced(state.run)) return decide(data.gates);
  // Nobody asked for a gate: one that samples lack scores is there, and seen when it fails.
  const others = data.gates.filter((gate) => gate.name !== IMPLICIT_UNSCORED.name);
  const required = state.run.metrics.filter((one) => one.is_required).map(({ name }) => name);
  const guard = decide([{ ...IMPLICIT_UNSCORED, required }]).filter((gate) => gate.outcome === "failed");
  return [...guard, ...decide(others)];
}

function isForced({ data }) {
  return !data.scenario.complete || data.scenario.beyond_budget > 0;
}

/** The names of the gates that failed. */
function failedNames({ gates }) {
  return new Set(gates.filter(({ outcome }) => outcome === "failed").map(({ name }) => name));
}

function checked(state, gate, samples) {
  // Weights decide which answers are low, and only those have a cause.
  if (gate.kind === "by" && isCause(state.run, gate.field) && isWeighedAnew(state))
    return asItRan(state, { ...gate, targets: [WEIGHTED] });
  return gate.kind === "as_run" ? asItRan(state, gate) : CHECKS[gate.kind](state, gate, samples);
}

/** A partial run decides nothing: the verdict stays, the figure so far follows the weights. */
function withRun(state, gate, found) {
  if (!isForced(state.run)) return { ...found, name: gate.name };
  const [outcome, observed, bound, message] = gate.run;
  const soFar = found.observed === null || found.observed === undefined ? observed : found.observed;
  const text =
    soFar === null ? message : message.replace(/so far -?\d+\.\d+/, () => `so far ${fixed(soFar)}`);
  const isAsRun = outcome === "passed" && isWeighedAnew(state); // certain for the old weights alone
  return { name: gate.name, outcome, observed: soFar, bound, margin: null, isAsRun, message: () => runSaid(text) };
}

/** What takes a test, labels, or a gate that this page does not know: `isAsRun` with other weights. */
function asItRan(state, gate) {
  const [outcome, observed, bound, message] = gate.run;
  const isAsRun = gate.targets.some((target) => affects(state, target));
  return { outcome, observed, bound, margin: null, isAsRun, message: () => runSaid(message) };
}

function isWeighedAnew({ changed }) {
  return changed.docs || changed.metrics;
}

/** Whether the scores of a target, or the weights of its samples, are other than in the run. */
function affects({ changed }, target) {
  return changed.docs || (target === WEIGHTED && changed.metrics);
}

function boundResult(ends, observed, missing, remark) {
  const isHigh = observed !== null && tooHigh(ends[1], observed);
  const bound = isHigh ? ends[1] : (ends[0] ?? ends[1]);
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
  return [
    found.map((at) => scores[at]),
    found.map((at) => state.sampleWeights[at]),
    groupsOf(state.run, found),
  ];
}

/** A number with what it counts, a score or a group. */
function counted(n, what) {
  return say(n === 1 ? `one_${what}` : `${what}s_n`, { n });
}

function inGroups(units) {
  return units === null ? "" : say("in_groups", { groups: counted(units, "group") });
}

function checkMean(state, gate, samples) {
  const expected = samples.filter((at) => state.run.isExpected[at]);
  const [values, weights] = scoredOf(state, gate.target, samples);
  // What the run says beside the mean is of its own weights, and of all samples.
  const isOfRun = samples === state.run.all && !affects(state, gate.target);
  const remark = () => {
    const over = { n: values.length, of: expected.length };
    const parts = [over.n < over.of ? say("over", over) : "", isOfRun ? missingSaid(gate.remark ?? "") : ""];
    return parts.filter(Boolean).join(say("semicolon"));
  };
  const missing = () => say("no_sample_has", { target: gate.target });
  return boundResult(gate.ends, weightedMean(values, weights), missing, remark);
}

function checkLowerBound(state, gate, samples) {
  const [values, weights, groups] = scoredOf(state, gate.target, samples);
  const range = rangeOfTarget(state, gate.target);
  const interval = weightedInterval(values, weights, range, gate.confidence, groups);
  const units = groups === null ? null : new Set(groups).size;
  const field = state.run.data.scenario.group_by;
  const tooFew = () =>
    groups === null
      ? say(values.length === 1 ? "too_few_one" : "too_few", {
          n: values.length,
          target: gate.target,
        })
      : say("too_few_groups", {
          scores: counted(values.length, "score"),
          target: gate.target,
          groups: counted(units, "group"),
          field,
        });
  if (interval === null) return boundResult(gate.ends, null, tooFew);
  const end = gate.ends[0] !== null ? interval[0] : interval[1];
  const remark = () =>
    say("interval_of_mean", {
      confidence: Number((100 * gate.confidence).toPrecision(3)),
      low: fixed(interval[0]),
      high: fixed(interval[1]),
      mean: fixed(weightedMean(values, weights)),
      n: values.length + inGroups(units),
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

/** Over the samples that a threshold fails, or that have every score that one asks for. */
function checkPassRate(state, gate, samples) {
  const names = state.run.data.scenario.thresholds.map(([name]) => name);
  const isJudged = (at) => {
    const judging = names.filter((name) => !metricOf(state.run, name).isRuledOut?.[at]);
    const isKnown = judging.every((name) => scoresOf(state, name)[at] !== null);
    return state.shortfalls[at].length > 0 || (judging.length > 0 && isKnown);
  };
  const scored = samples.filter((at) => state.run.isExpected[at] && isJudged(at));
  const met = scored.filter((at) => state.shortfalls[at].length === 0).length;
  const rate = scored.length ? met / scored.length : null;
  const remark = () => say("of_scored", { n: met, of: scored.length });
  return boundResult(gate.ends, rate, () => say("none_scored", {}), remark);
}

function checkUnscored(state, gate, samples) {
  const { isExpected, isScoreless } = state.run;
  const expected = samples.filter((at) => isExpected[at] && !isScoreless[at]);
  const allowed = new Set(gate.shares.map(([name]) => name));
  const isWhole = (at) => state.weighted[at] !== null || isTolerated(state, at, allowed);
  const counted = expected.filter((at) => !isWhole(at) || requiredThatFailed(state, gate, at).length);
  const share = expected.length ? counted.length / expected.length : null;
  const hasScore = (at) => state.run.metrics.some((metric) => metric.scores[at] !== null);
  if (expected.length && (counted.length === expected.length || !expected.some(hasScore))) {
    return {
      outcome: "failed",
      observed: share,
      bound: gate.ends[0] ?? gate.ends[1],
      margin: null,
      message: () => say("none_of_scored", { n: expected.length }) + missingText(state, gate, expected),
    };
  }
  const missing = () => say("nothing_to_score", { n: samples.length });
  const remark = () =>
    say("of_samples", { n: counted.length, of: expected.length }) + missingText(state, gate, counted);
  const general = boundResult(gate.ends, share, missing, remark);
  const said = general.message;
  if (general.outcome === "failed") general.message = () => said() + waysToAllow(state, gate, expected, counted);
  return withShares(state, gate, general, expected);
}

/** The required metrics that failed, but for those that may be missing. */
function requiredThatFailed({ run }, gate, at) {
  const mayLack = (name) => !run.isNotAsked[at] && gate.shares.some(([one]) => one === name);
  return run.metrics.filter(
    (one) =>
      gate.required.includes(one.name) &&
      one.hasFailed[at] &&
      lacks(one, at) &&
      !mayLack(one.name),
  );
}

function lackedMetrics(state, gate, at) {
  return [...new Set([...blamedMetrics(state, at), ...requiredThatFailed(state, gate, at)])];
}

/** The general verdict, or that on the metrics which may be missing, if it is worse. */
function withShares(state, gate, general, expected) {
  const verdicts = [general];
  for (const [name, ends] of gate.shares) {
    const n = expected.filter((at) => lacks(metricOf(state.run, name), at)).length;
    const share = expected.length ? n / expected.length : null;
    const remark = () => say("metric_missing", { name, n, of: expected.length });
    verdicts.push(boundResult(ends, share, general.message, remark));
  }
  // A threshold that no sample has a score for judged nothing.
  const isAsked = gate.shares.length > 0 && expected.length > 0;
  for (const [name] of isAsked ? state.run.data.scenario.thresholds : []) {
    const scores = scoresOf(state, name);
    if (expected.some((at) => scores[at] !== null)) continue;
    const [bound, message] = [gate.ends[0] ?? gate.ends[1], () => say("nothing_judged", { name })];
    verdicts.push({ outcome: "failed", observed: 1, bound, margin: null, message });
  }
  const failed = verdicts.filter((found) => found.outcome === "failed");
  const shown = failed.length ? failed : verdicts;
  const worst = shown.reduce((best, found) => (marginOf(found) < marginOf(best) ? found : best));
  const message = () => shown.map((found) => found.message()).join(say("semicolon"));
  return { ...worst, message };
}

/** What the samples have no score of, the most frequent first. */
function missingText(state, gate, samples) {
  const counts = new Map();
  for (const at of samples) {
    const { run } = state;
    const names = run.isInvalid[at]
      ? [say("missing_row")]
      : run.isUnanswered[at]
        ? [say("missing_answer")]
        : lackedMetrics(state, gate, at).map((metric) => metric.name);
    for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const found = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);
  const list = found.map(([name, n]) => say("missing_on", { name: afterWords(name), n })).join(say("comma"));
  return list && say("labelled", { name: "", value: list });
}

function waysToAllow(state, gate, expected, samples) {
  const { run } = state;
  const isSample = (at) => !run.isInvalid[at] && !run.isUnanswered[at];
  const blamed = new Set(samples.filter(isSample).flatMap((at) => lackedMetrics(state, gate, at)));
  const names = run.metrics.filter((metric) => blamed.has(metric));
  if (!names.length) return samples.some((at) => run.isInvalid[at]) ? say("rows_to_allow", {}) : "";
  const shares = names.map((metric) => {
    const lacking = expected.filter((at) => lacks(metric, at)).length;
    return { name: metric.name, share: Math.ceil((100 * lacking) / expected.length) / 100 };
  });
  const tooMany = shares.filter(({ share }) => share > MOST_ADVISED).map(({ name }) => name);
  if (tooMany.length) return say("too_many_to_allow", { names: tooMany.join(", ") });
  if (samples.some((at) => run.isNotAsked[at])) return say("not_asked_to_allow", {});
  const listed = shares.map(({ name, share }) => `${name}: ${share}`).join(", ");
  return say("share_to_allow", { names: shares.map((one) => one.name).join(", "), shares: listed });
}

function checkSlices(state, gate, samples) {
  const verdicts = sliceVerdicts(state, gate, samples);
  const unfit = unfitValues(state, gate, samples);
  const leftOut = () => (unfit.length ? say("unfit_values", { list: listedValues(unfit) }) : "");
  if (!verdicts.length) {
    const message = () => say("no_slices") + leftOut();
    return { outcome: "failed", observed: null, bound: null, margin: null, message };
  }
  const named = judgedParts(state, gate, samples).filter((slice) => slice.expected.length);
  const isBare = named.length === 1 && textAt(state.run, named[0].text) === "(none)";
  if (isBare && verdicts[0].outcome === "passed" && !isCause(state.run, gate.field)) {
    const message = () => say("no_field_values", { field: gate.field });
    return { ...verdicts[0], outcome: "failed", margin: null, message };
  }
  const failed = verdicts.filter(({ outcome }) => outcome === "failed");
  const shown = failed.length ? failed : verdicts;
  const worst = shown.reduce((best, found) => (marginOf(found) < marginOf(best) ? found : best));
  const figures = { n: failed.length, of: verdicts.length, field: gate.field };
  const worstFirst = [...failed].sort((a, b) => marginOf(a) - marginOf(b));
  const headline = () =>
    say("failed_slices", { ...figures, list: listedSlices(state, worstFirst, WORST_LISTED) });
  const verdict = () =>
    failed.length
      ? say("failed_slices", { ...figures, list: listedSlices(state, worstFirst) })
      : say(verdicts.length === 1 ? "all_slices_one" : "all_slices", {
          ...figures,
          worst: worst.message(),
        });
  return {
    ...worst,
    ...(failed.length ? { headline } : {}),
    margin: null,
    message: () => verdict() + leftOut(),
  };
}

/** The verdict on each value of the field that has samples to be scored. */
function sliceVerdicts(state, gate, samples) {
  return judgedParts(state, gate, samples)
    .filter((slice) => slice.expected.length && !isUnfit(state, gate.inner, slice.expected))
    .map((slice) => ({ ...checked(state, gate.inner, slice.samples), text: slice.text }));
}

/** The values whose rows all rule out the metric that the gate is about, or weigh nothing. */
function unfitValues(state, gate, samples) {
  return judgedParts(state, gate, samples)
    .filter((slice) => slice.expected.length && isUnfit(state, gate.inner, slice.expected))
    .map((slice) => textAt(state.run, slice.text));
}

function listedValues(values, most = 5) {
  const more = values.length > most ? say("more_values", { n: values.length - most }) : "";
  return values.slice(0, most).join(", ") + more;
}

function judgedParts(state, gate, samples) {
  const field = state.run.fields.get(gate.field);
  const slices = field.values.map((text) => ({ text, samples: [] }));
  for (const at of samples) slices[field.at[at]].samples.push(at);
  return slices.map((slice) => ({
    ...slice,
    expected: slice.samples.filter((at) => state.run.isExpected[at]),
  }));
}

function isUnfit(state, gate, samples) {
  return samples.every((at) => asksNothingOf(state, gate, at));
}

/** Whether a row rules out all that a gate is about, or weighs nothing where weights count. */
function asksNothingOf(state, gate, at) {
  const { run } = state;
  const isOfRow = (name) => Boolean(metricOf(run, name)?.isOfRow?.[at]);
  if (gate.kind === "by") return asksNothingOf(state, gate.inner, at);
  if (gate.kind === "unscored") return isOfRow(WEIGHTED);
  if (gate.kind === "pass_rate") {
    const { thresholds } = run.data.scenario;
    return thresholds.every(([name]) => isOfRow(name)) && !state.shortfalls[at].length;
  }
  if (!gate.target) return false;
  const isRuledOut = Boolean(metricOf(run, gate.target)?.isRuledOut?.[at]);
  return isRuledOut || isOfRow(gate.target) || !(state.sampleWeights[at] > 0);
}

function listedSlices(state, failed, most = 5) {
  const listed = failed
    .slice(0, most)
    .map((found) =>
      say("labelled", { name: valueName(state.run, found.text), value: found.message() }),
    );
  const more = failed.length > most ? say("and_more", { n: failed.length - most }) : "";
  return listed.join(say("semicolon")) + more;
}

/** A value of the field, cut where it is long. */
function valueName(run, number) {
  const letters = [...textAt(run, number)];
  return letters.length > LONGEST_VALUE
    ? `${letters.slice(0, LONGEST_VALUE - 1).join("")}…`
    : letters.join("");
}

function marginOf(found) {
  return found.margin === null ? -Infinity : found.margin;
}

function signed(value) {
  return (value < 0 ? "" : "+") + fixed(value);
}
