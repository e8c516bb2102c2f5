// Sums, means, quantiles and intervals, step by step as pytest_rageval/stats has them.

const TOLERANCE = 1e-9;

/** The sum of `term(at)` for `at` below `n`; what rounding loses is summed, too (Neumaier). */
function sumOf(n, term) {
  let sum = 0;
  let lost = 0;
  for (let at = 0; at < n; at++) {
    const value = term(at);
    const next = sum + value;
    lost += Math.abs(sum) >= Math.abs(value) ? sum - next + value : value - next + sum;
    sum = next;
  }
  return sum + lost;
}

/** As Python's math.fsum, but for the last digit. */
function fsum(values) {
  return sumOf(values.length, (at) => values[at]);
}

/** Weights in the same proportions whose sums and squares stay within doubles. */
function tame(weights) {
  let largest = 0;
  for (const weight of weights) if (weight > largest) largest = weight;
  if (largest === 0 || (largest > 1e-100 && largest < 1e100)) return weights;
  return weights.map((weight) => weight / largest);
}

/** Sum of weight times value over the sum of weights, over values that are not null. */
function weightedMean(values, weights) {
  let largest = 0;
  for (let at = 0; at < values.length; at++) {
    if (values[at] !== null && weights[at] > largest) largest = weights[at];
  }
  if (largest === 0) return null;
  const unit = largest > 1e-100 && largest < 1e100 ? 1 : largest; // as tame() has it
  const size = (at) => (values[at] === null ? 0 : weights[at] / unit);
  return sumOf(values.length, (at) => values[at] * size(at)) / sumOf(values.length, size);
}

const EQUAL_SCORES = 1e-12;

/** a - b, and 0 where only rounding differs. */
function differenceOf(a, b) {
  const difference = a - b;
  const size = Math.max(Math.abs(a), Math.abs(b));
  return Math.abs(difference) <= EQUAL_SCORES * size ? 0 : difference;
}

function squared(value) {
  return value * value;
}

/** The smallest value such that those up to it hold a share q of the weight; upper: more than q. */
function weightedQuantile(values, weights, q, side = "lower") {
  const sizes = tame(weights);
  const pairs = values.map((value, at) => [value, sizes[at]]).filter((pair) => pair[1] > 0);
  if (pairs.length === 0) return null;
  pairs.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  let wanted = q * fsum(pairs.map((pair) => pair[1]));
  wanted += 1e-9 * (side === "upper" ? wanted : -wanted);
  let reached = 0;
  for (const [value, weight] of pairs) {
    reached += weight;
    if (reached >= wanted) return value;
  }
  return pairs[pairs.length - 1][0];
}

/** What is known of a list of scores (null = unscored) with one weight for each. */
function summarize(values, weights, range, groups = null) {
  const numbers = [];
  const sizes = [];
  const of = groups === null ? null : [];
  for (let at = 0; at < values.length; at++) {
    if (values[at] === null) continue;
    numbers.push(values[at]);
    sizes.push(weights[at]);
    if (of !== null) of.push(groups[at]);
  }
  const interval = weightedInterval(numbers, sizes, range, 0.95, of);
  return {
    mean: numbers.length ? fsum(numbers) / numbers.length : null,
    weighted_mean: weightedMean(numbers, sizes),
    n: numbers.length,
    unscored: values.length - numbers.length,
    ci_low: interval === null ? null : interval[0],
    ci_high: interval === null ? null : interval[1],
  };
}

/**
 * Bounded ranges: the ends of mean_bounds.js; unbounded ones: t of the ratio estimator.
 * `groups` is the number of its group for each value, null where each is its own.
 */
function weightedInterval(values, weights, range, confidence, groups = null) {
  const tamed = tame(weights);
  const high = range[1];
  const weighing = (low, value, at) => (tamed[at] > 0 ? Math.min(low, value) : low);
  const low = Number.isFinite(range[0]) ? values.reduce(weighing, range[0]) : range[0];
  const span = high - low;
  const numbers = [];
  const sizes = [];
  const of = groups === null ? null : [];
  for (let at = 0; at < values.length; at++) {
    if (!(tamed[at] > 0)) continue;
    numbers.push(Number.isFinite(span) ? unitScore((values[at] - low) / span) : values[at]);
    sizes.push(tamed[at]);
    if (of !== null) of.push(groups[at]);
  }
  if ((of === null ? numbers.length : new Set(of).size) < 2) return null;
  const probability = 0.5 + confidence / 2;
  if (Number.isFinite(span)) {
    const [lower, upper] = meanBounds(...scoresOfGroups(numbers, sizes, of), 1 - probability);
    return [low + span * lower, low + span * upper];
  }
  const found = meanError(numbers, sizes, of);
  if (found === null) return null;
  const half = tQuantile(probability, found.degrees) * found.error;
  const lower = timesPowerOfTwo(found.mean - half, found.exponent);
  const upper = timesPowerOfTwo(found.mean + half, found.exponent);
  if (!Number.isFinite(lower) || !Number.isFinite(upper)) return null;
  return [Math.max(lower, low), Math.min(upper, high)];
}

function unitScore(value) {
  return Math.min(Math.max(value, 0), 1);
}

/** Values and weights; with groups, the mean and the weight of each. */
function scoresOfGroups(values, weights, groups) {
  if (groups === null) return [values, weights];
  const sums = groupSums(values.map((value, at) => value * weights[at]), groups);
  const sizes = groupSums(weights, groups);
  return [sums.map((sum, at) => Math.min(sum / sizes[at], 1)), sizes];
}

/** The sum of the terms of each group, in the order in which the groups begin. */
function groupSums(terms, groups) {
  if (groups === null) return terms;
  const found = new Map();
  terms.forEach((term, at) => {
    if (!found.has(groups[at])) found.set(groups[at], []);
    found.get(groups[at]).push(term);
  });
  return [...found.values()].map(fsum);
}

/** A weighted mean and its standard error, in units of 2 ** exponent; null where too few count. */
function meanError(values, weights, groups) {
  const sizes = groupSums(weights, groups);
  const total = fsum(sizes);
  const count = (total * total) / sumOf(sizes.length, (at) => sizes[at] * sizes[at]);
  if (count < 2 - 1e-9) return null;
  let largest = 0;
  for (const value of values) largest = Math.max(largest, Math.abs(value));
  const exponent = largest > 0 ? Math.floor(Math.log2(largest)) + 1 : 0;
  const unit = values.map((value) => timesPowerOfTwo(value, -exponent));
  const [mean, variance] = ratioMeanAndVariance(unit, weights, groups, count);
  return { mean, error: Math.sqrt(variance), degrees: Math.max(count, 2) - 1, exponent };
}

/** In two steps: 2 ** 1074 is too much for a double, though the product may not be. */
function timesPowerOfTwo(value, exponent) {
  const half = Math.trunc(exponent / 2);
  return value * 2 ** half * 2 ** (exponent - half);
}

function ratioMeanAndVariance(values, weights, groups, count) {
  if (values.every((value) => value === values[0])) return [values[0], 0];
  const total = fsum(weights);
  const mean = sumOf(values.length, (at) => values[at] * weights[at]) / total;
  const residuals = groupSums(
    values.map((value, at) => (weights[at] * (value - mean)) / total),
    groups,
  );
  const squares = sumOf(residuals.length, (at) => squared(residuals[at]));
  return [mean, (squares * count) / (count - 1)];
}

const knownQuantiles = new Map();

/** x with P(T <= x) = probability, for T with so many degrees of freedom. */
function tQuantile(probability, degrees) {
  const key = `${probability} ${degrees}`;
  if (!knownQuantiles.has(key)) knownQuantiles.set(key, bisectedQuantile(probability, degrees));
  return knownQuantiles.get(key);
}

function bisectedQuantile(probability, degrees) {
  if (probability === 0.5) return 0;
  if (probability < 0.5) return -tQuantile(1 - probability, degrees);
  const gammas = gammaRatio(degrees / 2);
  let low = 0;
  let high = 1;
  while (tCdf(high, degrees, gammas) < probability) {
    low = high;
    high *= 2;
  }
  for (let step = 0; step < 200; step++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (tCdf(middle, degrees, gammas) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

function tCdf(x, degrees, gammas) {
  const share = degrees / (degrees + x * x);
  return 1 - 0.5 * incompleteBeta(degrees / 2, share, gammas);
}

/** The regularised incomplete beta function I_x(a, 1/2); `gammas` is gammaRatio(a). */
function incompleteBeta(a, x, gammas) {
  if (x === 0 || x === 1) return x;
  const front = (gammas / Math.sqrt(Math.PI)) * Math.exp(a * Math.log(x) + 0.5 * Math.log1p(-x));
  if (x < (a + 1) / (a + 2.5)) return (front * betaFraction(a, 0.5, x)) / a;
  return 1 - (front * betaFraction(0.5, a, 1 - x)) / 0.5;
}

/** gamma(a + 1/2) / gamma(a): the asymptotic series, reached from small a by the recurrence. */
function gammaRatio(a) {
  let factor = 1;
  while (a < 64) {
    factor *= a / (a + 0.5);
    a += 1;
  }
  const y = 1 / a;
  const series =
    1 +
    y *
      (-1 / 8 +
        y *
          (1 / 128 +
            y * (5 / 1024 + y * (-21 / 32768 + y * (-399 / 262144 + (y * 869) / 4194304)))));
  return factor * Math.sqrt(a) * series;
}

/** The continued fraction of the incomplete beta function, by Lentz's method. */
function betaFraction(a, b, x) {
  const away = (value) => (Math.abs(value) > 1e-300 ? value : 1e-300);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m < 10000; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    const step = d * c;
    result *= step;
    if (Math.abs(step - 1) < 1e-16) break;
  }
  return result;
}
