// The gate no_regression, as pytest_rageval/gates/regression.py decides it.

/** What no test can tell here, significance, stays as run; drops and intervals are exact. */
function checkRegression(state, gate, samples) {
  const baseline = state.baselines.get(gate.baseline);
  const found = Object.keys(gate.targets).map((target) => {
    const compared = comparePaired(state, baseline, target, gate.alpha, gate.alpha_of_each, samples);
    const gain =
      compared.diff === null ? null : gate.targets[target] ? compared.diff : -compared.diff;
    const allowed = gate.relative ? gate.max_drop * Math.abs(compared.b_mean ?? 0) : gate.max_drop;
    const interval =
      gate.mode === "non_inferior"
        ? intervalOfFall(state, baseline, target, gate.alpha, samples)
        : null;
    const why =
      gain === null
        ? null
        : (tooFewPairs(state, gate, samples, compared.n, "have_scores") ??
          (gate.mode === "any" ? null : outOfReach(gate, compared)));
    return {
      target,
      compared,
      gain,
      allowed,
      why,
      fell: fell(gate, target, interval, gain, allowed),
    };
  });
  return regressionVerdict(gate, found);
}

/** true, false, or null where only a paired test could tell. */
function fell(gate, target, interval, gain, allowed) {
  if (gain === null) return true;
  if (gate.mode === "non_inferior") {
    if (interval === null) return true;
    return (gate.targets[target] ? interval[0] : -interval[1]) < -allowed - TOLERANCE;
  }
  if (!(-gain > allowed + TOLERANCE)) return false;
  return gate.mode === "any" ? true : null;
}

/** Why so many pairs could show nothing, whatever they are; null where they could. */
function outOfReach(gate, { units, groups, n_nonzero: nonzero, have_spread: isSpread }) {
  const needsSpread = gate.mode !== "non_inferior" && ["t", "bootstrap"].includes(gate.test);
  if (needsSpread && nonzero && units > 1 && !isSpread)
    return () => say(gate.test === "t" ? "no_spread_t" : "no_spread_bootstrap", {});
  const isHolm = gate.mode !== "non_inferior" && gate.correction === "holm";
  const times = isHolm ? Object.keys(gate.targets).length : 1;
  const isShort = (n) => !needsSpread && times * 2 ** (1 - n) >= gate.alpha;
  if (units >= 2 && !isShort(units)) return null;
  let needed = 2;
  while (isShort(needed)) needed += 1;
  const over = () => (times > 1 ? say("over_metrics", { n: times }) : "");
  const unit = groups === null ? "pair" : "group";
  return () => tooFewUnits(units, needed, unit, { alpha: gate.alpha, over: over() });
}

/** That fewer of the baseline's samples are there than the gate asks for; null where enough are. */
function tooFewPairs(state, gate, samples, there, what) {
  const baseline = state.run.baselines.get(gate.baseline);
  const lacks = new Set(baseline.lacks);
  const shared = samples.filter((at) => !lacks.has(at));
  const isScored = (at) => Object.values(baseline.scores).some((scores) => scores[at] !== null);
  const leftOut = shared.filter(
    (at) => state.sampleWeights[at] === 0 || !(state.run.isExpected[at] || isScored(at)),
  );
  const asked = (gate.isSlice ? shared.length : baseline.n) - leftOut.length;
  const needed = Math.ceil(gate.min_pairs * asked - TOLERANCE);
  if (there >= needed) return null;
  const figures = { there, asked, baseline: gate.baseline, share: gate.min_pairs, needed };
  return () => say("too_few_pairs", { ...figures, what: say(what, {}) });
}

/** Slices ask for the samples that they have: those that are gone are missed over all of them. */
function lostSamples(state, gate, samples) {
  if (gate.kind !== "no_regression" || gate.undecided === "pass") return null;
  const lacks = new Set(state.run.baselines.get(gate.baseline).lacks);
  const there = samples.filter((at) => !lacks.has(at) && state.sampleWeights[at] > 0);
  const why = tooFewPairs(state, gate, samples, there.length, "are_there");
  return why === null ? null : () => why() + say("semicolon") + say("way_out_of_few", {});
}

function regressionVerdict(gate, found) {
  const failed = found.filter((one) => one.fell || (one.why !== null && gate.undecided === "fail"));
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
      const text = candidates.map((one) => regressionText(gate, one)).join(say("semicolon"));
      const withMore = (more) => text + say("semicolon") + more;
      if (failed.some((one) => one.why !== null && !one.fell)) return withMore(wayOut(failed));
      return isAsRun ? withMore(say("significance_as_run", {})) : text;
    },
  };
}

function wayOut(failed) {
  const isFew = failed.some((one) => one.why !== null && one.why().includes("min_pairs"));
  return say(isFew ? "way_out_of_few" : "way_out", {});
}

function regressionText(gate, { target, compared, why }) {
  if (compared.diff === null) return say("no_pairs", { target });
  const text = say("regression", {
    target,
    a: fixed(compared.a_mean),
    b: fixed(compared.b_mean),
    baseline: gate.baseline,
    diff: signed(compared.diff),
    n: compared.n + inGroups(compared.groups),
  });
  if (why === null) return text;
  return text + say("semicolon") + say("cannot_be_decided", { why: why() });
}
