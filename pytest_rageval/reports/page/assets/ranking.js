// Variants ranked for other weights, step by step as pytest_rageval/stats/ranking.py and common.py.

const ENUMERATED = 16; // up to so many units that differ, max-T uses every pattern of signs

/** Means and intervals over the samples in common, best first; `joined` is what pairs are tested on. */
function rankedNow(app) {
  const { columns, metric, isUp } = app;
  const joined = joinedColumns(app);
  const { scores, weights, groups } = joined;
  const variants = columns.map(({ name, state }, at) => {
    const own = scores[at] ?? [];
    const range = metricOf(state.run, metric) ? rangeOfTarget(state, metric) : state.weightedRange;
    const found = summarize(own, own.length ? weights : [], range, groups);
    const { weighted_mean: mean, ci_low, ci_high } = found;
    return { at, name, mean, ci_low, ci_high, n: own.length, letters: "" };
  });
  const key = ({ mean }) => (mean === null ? Infinity : isUp ? -mean : mean);
  variants.sort((a, b) => key(a) - key(b) || a.at - b.at);
  const isWhole = scores.every((own) => own !== null);
  const common = isWhole ? weights.length : 0;
  const ranking = { variants, pairs: [], common, total: joined.total, undecided: "", joined };
  return { ...ranking, ...saidOfJoin(app, ranking) };
}

/** The samples that every column with a score has scored, in the order of the leading one. */
function joinedColumns(app) {
  const { columns, metric, n } = app;
  const known = columns.map(({ rows, state, leftOut }) => {
    const scores = rankedScores(app, state);
    return Array.from({ length: n }, (_, at) => {
      const place = rows[at];
      const isWanted =
        place >= 0 &&
        state.sampleWeights[place] > 0 &&
        (state.run.isExpected[place] || leftOut.has(place));
      return { isWanted, score: isWanted && scores ? scores[place] : null };
    });
  });
  const has = known.map((own) => own.some(({ score }) => score !== null));
  const some = columns.map((_, at) => at).filter((at) => has[at]);
  const leading = has[app.leading] ? app.leading : some[0];
  const alike = metric === WEIGHTED ? alikeScores(app, some) : null;
  const taken = []; // the rows of the page
  const scores = columns.map((_, at) => (has[at] ? [] : null));
  let partly = 0;
  for (const at of leading === undefined ? [] : rowsInOrder(columns[leading], n)) {
    if (some.some((column) => known[column][at].score === null)) continue;
    const own = some.map((column) => known[column][at].score);
    const found = alike === null ? { scores: own, isPartly: false } : alike(at, own);
    if (found.scores.includes(null)) continue;
    taken.push(at);
    partly += found.isPartly;
    some.forEach((column, which) => scores[column].push(found.scores[which]));
  }
  const lead = columns[leading ?? app.leading];
  const places = taken.map((at) => lead.rows[at]);
  const total = app.allRows.filter((at) => known.some((own) => own[at].isWanted)).length;
  return {
    scores,
    taken,
    partly,
    total,
    weights: places.map((place) => lead.state.sampleWeights[place]),
    groups: renumbered(groupsOf(lead.run, places)),
    lacking: known.map((own) => total - own.filter(({ score }) => score !== null).length),
  };
}

/** Group numbers as they first appear: which flip is whose depends on them. */
function renumbered(groups) {
  if (groups === null) return null;
  const known = new Map();
  return groups.map((group) => {
    if (!known.has(group)) known.set(group, known.size);
    return known.get(group);
  });
}

/** The rows of the page that a column has, as its data have them. */
function rowsInOrder({ rows }, n) {
  const found = [];
  for (let at = 0; at < n; at++) if (rows[at] >= 0) found.push(at);
  return found.sort((a, b) => rows[a] - rows[b]);
}

/** Weighted scores over the metrics that apply to the sample in all of the columns. */
function alikeScores(app, some) {
  const { columns } = app;
  const lead = columns[app.leading].state;
  const counted = lead.run.metrics.filter(
    ({ name }) =>
      lead.weights.metrics[name] > 0 && columns.every(({ run }) => metricOf(run, name)),
  );
  const isAnew = weighedUnlike(app);
  const scoresAt = (metric, at) =>
    some.map((column) => {
      const { run, rows } = columns[column];
      return metricOf(run, metric.name).scores[rows[at]];
    });
  return (at, own) => {
    const found = counted.map((metric) => scoresAt(metric, at));
    const isPartly = found.some((scores) => scores.includes(null) && scores.some((one) => one !== null));
    if (!isPartly && !isAnew) return { scores: own, isPartly };
    const whole = counted.map((_, which) => which).filter((which) => !found[which].includes(null));
    const sizes = whole.map((which) => lead.weights.metrics[counted[which].name]);
    const scores = own.map((_, place) =>
      weightedMean(
        whole.map((which) => toUnit(counted[which], found[which][place])),
        sizes,
      ),
    );
    return { scores, isPartly };
  };
}

/** Whether the weighted scores of the columns follow from other metrics, or by other weights. */
function weighedUnlike({ columns }) {
  const counted = columns.map(({ state }) =>
    state.run.metrics
      .map(({ name }) => [name, state.weights.metrics[name]])
      .filter(([, weight]) => weight > 0)
      .sort()
      .join("|"),
  );
  return new Set(counted).size > 1;
}

/**
 * Why no letters can be given, empty where they can, and what else is to be said, in the language
 * of the page. `isUnlike`: the runs do not compare at all.
 */
function saidOfJoin(app, { joined, common, undecided, variants, isTesting }) {
  const { contest, unlike, kept_remarks: kept } = app.data;
  const { total, lacking, partly } = joined;
  const reasons = contest.anyway ? [] : [...unlike.all];
  const lead = app.columns[app.leading].state;
  if (app.metric === WEIGHTED && !contest.anyway) {
    if (weighedUnlike(app)) reasons.push(say("other_weights"));
    for (const { name } of lead.run.metrics)
      if (lead.weights.metrics[name] > 0 && unlike.metrics[name]) reasons.push(unlike.metrics[name]);
  }
  if (!contest.anyway && sampleWeightsDiffer(app)) reasons.push(say("other_sample_weights"));
  const isUnlike = reasons.length > 0;
  const needed = Math.max(Math.ceil(contest.min_pairs * total - TOLERANCE), 0);
  const lacks = app.columns
    .map(({ name }, at) => say("lacks", { name, n: lacking[at] }))
    .filter((_, at) => lacking[at])
    .join(say("comma"));
  if (app.columns.length < 2) reasons.push(say("one_alone"));
  else if (needed <= common && common - partly < needed)
    reasons.push(say("too_few_alike", { partly, total, needed }));
  else if (common < needed || !common)
    reasons.push(say("too_few_common", { common, total, needed, lacks }));
  const remarks = partly ? [...kept, say("applies_partly", { n: partly })] : [...kept];
  const isCrowded = isTesting === false && !undecided && variants.every(({ letters }) => !letters);
  if (isCrowded && !reasons.length) remarks.unshift(say("crowded"));
  const leftOut = total - common;
  if (leftOut && !reasons.length && !undecided) remarks.push(say("left_out_common", { n: leftOut, total, lacks }));
  return { undecided: reasons.join(say("semicolon")) || undecided, remarks, isUnlike };
}

/** Whether a sample weighs more in one column than in another, as where its document differs. */
function sampleWeightsDiffer({ columns, allRows }) {
  return allRows.some((at) => {
    const weights = columns
      .filter(({ rows, run }) => rows[at] >= 0 && !run.isInvalid[rows[at]])
      .map(({ rows, state }) => state.sampleWeights[rows[at]]);
    return weights.some((weight) => weight !== weights[0]);
  });
}

/** Tests the pairs of a ranking, a piece at a time: p-values, adjusted ones, and letters. */
function* testedRanking(app, ranking) {
  const { contest } = app.data;
  const { joined } = ranking;
  if (ranking.isUnlike) return { ...ranking, isTesting: false };
  const named = ranking.variants.filter(({ n }) => n > 0);
  const both = named.flatMap((a, at) => named.slice(at + 1).map((b) => [a.at, b.at]));
  const pairs = [];
  for (const [a, b] of both) {
    pairs.push(untestedPair(app, joined, a, b, contest.alpha / both.length));
    yield;
  }
  const isTested = !ranking.undecided && pairs.length > 0;
  const tested = isTested ? yield* signFlips(pairs, joined, contest) : null;
  const undecided = ranking.undecided || (isTested ? reachOf(tested, joined, contest) : "");
  const isOutOfReach = undecided !== ranking.undecided;
  const shown = pairs.map(({ differing, ...pair }, at) => {
    if (isOutOfReach) return { ...pair, smallest_detectable: null };
    return undecided ? pair : { ...pair, ...tested.found[at] };
  });
  const variants = ranking.variants.map((one) => ({ ...one }));
  if (!undecided) {
    const rank = new Map(variants.map(({ name }, at) => [name, at]));
    const apart = shown.filter(({ significant }) => significant);
    const letters = lettersOf(variants.length, apart.map(({ a, b }) => [rank.get(a), rank.get(b)]));
    variants.forEach((one, at) => (one.letters = letters[at]));
  }
  const { remarks } = saidOfJoin(app, { ...ranking, variants, undecided, isTesting: false });
  return { ...ranking, variants, pairs: shown, undecided, remarks, isTesting: false };
}

/** What does not need a test. `differing` are the weighted differences that signs are flipped of. */
function untestedPair(app, { scores, weights: sizes, groups }, a, b, alphaOfEach) {
  const { alpha } = app.data.contest;
  const tamed = tame(sizes);
  const differences = scores[a].map((score, at) => differenceOf(score, scores[b][at]));
  const interval = weightedInterval(differences, tamed, UNBOUNDED, 1 - alpha, groups);
  const above = differences.filter((difference) => difference > 0).length;
  const below = differences.filter((difference) => difference < 0).length;
  return {
    a: app.columns[a].name,
    b: app.columns[b].name,
    diff: weightedMean(differences, tamed),
    ci_low: interval === null ? null : interval[0],
    ci_high: interval === null ? null : interval[1],
    p_value: null,
    p_adjusted: null,
    significant: false,
    n: differences.length,
    a_wins: app.isUp ? above : below,
    b_wins: app.isUp ? below : above,
    smallest_detectable: smallestDetectable(differences, tamed, groups, alphaOfEach),
    differing: unitSums(differences.map((difference, at) => difference * tamed[at]), groups),
    sides: [a, b],
  };
}

/** The sums of groups, 0 where only rounding is left of them. */
function unitSums(weighted, groups) {
  if (groups === null) return Float64Array.from(weighted);
  const n = new Set(groups).size; // they are numbered from 0 on
  const [sums, sizes] = [new Float64Array(n), new Float64Array(n)];
  weighted.forEach((value, at) => {
    sums[groups[at]] += value;
    sizes[groups[at]] += Math.abs(value);
  });
  return sums.map((sum, at) => (Math.abs(sum) <= TIE_TOLERANCE * sizes[at] ? 0 : sum));
}

/** p-values of all pairs, and adjusted by step-down max-T over them, all by the same flips. */
function* signFlips(pairs, joined, { alpha, seed, n_resamples: n }) {
  const exact = [];
  for (const { differing } of pairs) {
    const nonzero = [...differing].filter((difference) => difference !== 0);
    exact.push(yield* exactP(nonzero, pairs.length));
    yield;
  }
  const down = stepDown(pairs.map(({ differing }) => differing));
  const counts = pairs.map(() => 0);
  const units = pairs[0].differing.length;
  const bounds = pairs.map(({ differing }) => {
    const sizes = differing.map(Math.abs);
    return Math.abs(fsum(differing)) - TIE_TOLERANCE * fsum(sizes);
  });
  const isSampled = exact.includes(null) || (down.all === null && pairs.length > 1);
  if (isSampled) {
    const centred = centredColumns(pairs, joined);
    for (let chunk = 0; chunk * RESAMPLES_AT_ONCE < n; chunk++) {
      const flips = keptFlips(seed, chunk, units);
      yield;
      const sums = yield* sumsOfPairs(flips, pairs, centred);
      const last = Math.min(RESAMPLES_AT_ONCE, n - chunk * RESAMPLES_AT_ONCE);
      countExtremes(sums, bounds, counts, last);
      if (down.all === null) down.count(sums, last);
      yield;
    }
  }
  const raw = exact.map((p, at) => p ?? (counts[at] + 1) / (n + 1));
  const adjusted = down.adjusted(raw, n);
  const found = pairs.map((_, at) => ({
    p_value: raw[at],
    p_adjusted: adjusted[at],
    significant: adjusted[at] < alpha,
  }));
  return { found, exact };
}

function countExtremes(sums, bounds, counts, last) {
  sums.forEach((column, at) => {
    for (let pattern = 0; pattern < last; pattern++)
      counts[at] += Math.abs(column[pattern]) >= bounds[at];
  });
}

/** For each column its weighted distance from the first: pairs are differences of these. */
function centredColumns(pairs, { scores, weights, groups }) {
  const sizes = tame(weights);
  const sides = [...new Set(pairs.flatMap(({ sides: both }) => both))].sort((a, b) => a - b);
  const first = scores[sides[0]];
  const distance = (side) =>
    scores[side].map((score, at) => differenceOf(score, first[at]) * sizes[at]);
  return new Map(sides.map((side) => [side, unitSums(distance(side), groups)]));
}

/** The sum of each pair's differences under each pattern: all less twice the flipped ones. */
function* sumsOfPairs(flips, pairs, centred) {
  const flipped = new Map();
  for (const [side, column] of centred) {
    const total = fsum(column);
    flipped.set(side, flippedSums(flips, column).map((sum) => total - 2 * sum));
    yield;
  }
  return pairs.map(({ sides: [a, b] }) => {
    const other = flipped.get(b);
    return flipped.get(a).map((sum, at) => sum - other[at]);
  });
}

/** Westfall and Young's step-down max-T over columns of differences. */
function stepDown(columns) {
  const norms = columns.map((column) => Math.sqrt(sumOf(column.length, (at) => squared(column[at]))) || 1);
  const observed = columns.map((column, at) => Math.abs(fsum(column)) / norms[at]);
  const order = columns.map((_, at) => at).sort((a, b) => observed[b] - observed[a] || a - b);
  const sizes = columns.map((column, at) => fsum(column.map(Math.abs)) / norms[at]);
  const tolerance = TIE_TOLERANCE * Math.max(0, ...sizes);
  const bounds = order.map((at) => observed[at] - tolerance);
  const counts = order.map(() => 0);
  const differing = [...(columns[0] ?? []).keys()].filter((unit) =>
    columns.some((column) => column[unit] !== 0),
  );
  const isFew = differing.length <= ENUMERATED;
  const count = (sums, last) => {
    for (let pattern = 0; pattern < last; pattern++) {
      let largest = 0;
      for (let rank = order.length - 1; rank >= 0; rank--) {
        const size = Math.abs(sums[order[rank]][pattern]) / norms[order[rank]];
        if (size > largest) largest = size;
        counts[rank] += largest >= bounds[rank];
      }
    }
  };
  const all = isFew ? columns.map((column) => allSums(differing.map((unit) => column[unit]))) : null;
  return {
    all,
    count,
    adjusted(raw, n) {
      if (columns.length === 1) return raw;
      if (all !== null) count(all, all[0].length);
      const patterns = all === null ? n + 1 : all[0].length;
      let reached = 0;
      const found = [];
      order.forEach((at, rank) => {
        const reaching = counts[rank] + (all === null ? 1 : 0);
        reached = Math.max(reached, reaching / patterns, raw[at]);
        found[at] = reached;
      });
      return found;
    },
  };
}

/** The sums under every pattern in which the first sign is unchanged. */
function allSums(values) {
  let sums = Float64Array.of(values[0] ?? 0);
  for (const value of values.slice(1)) {
    const more = new Float64Array(2 * sums.length);
    sums.forEach((sum, at) => {
      more[at] = sum + value;
      more[at + sums.length] = sum - value;
    });
    sums = more;
  }
  return sums;
}

/** Why so many samples, or so few resamples, could show nothing; empty where they could. */
function reachOf({ exact }, { weights, groups }, { alpha, n_resamples: n }) {
  const units = groups === null ? weights.length : new Set(groups).size;
  const isSampled = exact.includes(null) || (exact.length > 1 && units > ENUMERATED);
  const isShort = (count) => 2 ** (1 - count) >= alpha;
  if (units < 2 || isShort(units)) {
    let needed = 2;
    while (isShort(needed)) needed += 1;
    return tooFewUnits(units, needed, groups === null ? "common" : "group", { alpha, over: "" });
  }
  if (isSampled && 1 / (n + 1) >= alpha)
    return say("few_resamples", { n, alpha, needed: Math.floor(1 / alpha) });
  return "";
}
