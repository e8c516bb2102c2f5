// The exact p-value of sign flips, as pytest_rageval/stats/permutation.py finds it.

const TIE_TOLERANCE = 1e-12;
const FEW = 24;
const MOST_BY_HALVES = 44;
const MOST_ADDITIONS = 400_000_000;
const MOST_STATES = 1 << 22;
const LEAST_P = 5e-324;

/**
 * The p-value of differences other than 0, in pieces; null where that would take too long: `atOnce`
 * tests share the time that one may take.
 */
function* exactP(differences, atOnce) {
  if (differences.length <= FEW) return pByHalves(differences);
  const steps = stepsOnGrid(differences, Math.floor(MOST_ADDITIONS / atOnce));
  if (steps !== null) return yield* pOnGrid(steps);
  const doublings = 32 - Math.clz32(atOnce - 1);
  return differences.length <= MOST_BY_HALVES - 2 * doublings ? pByHalves(differences) : null;
}

/** The differences as whole multiples of a common step; null without one, or if too fine. */
function stepsOnGrid(differences, additions) {
  const sizes = differences.map(Math.abs);
  const total = fsum(sizes);
  const most = 2 * Math.min(MOST_STATES, Math.floor(additions / sizes.length));
  let step = sizes.reduce((largest, size) => Math.max(largest, size), 0);
  for (;;) {
    let least = Infinity;
    for (const size of sizes) {
      const left = Math.abs(size - roundedEven(size / step) * step);
      if (left > total / most && left < least) least = left;
    }
    if (least === Infinity) break;
    step = least;
  }
  const counts = sizes.map((size) => roundedEven(size / step));
  const whole = counts.reduce((sum, count) => sum + count, 0);
  const unit = total / whole;
  const error = sumOf(sizes.length, (at) => Math.abs(sizes[at] - counts[at] * unit));
  if (whole > most || error > (TIE_TOLERANCE / 2) * total) return null;
  return counts.map((count, at) => Math.sign(differences[at]) * count);
}

/** As Python rounds: a half to the even number. */
function roundedEven(value) {
  const rounded = Math.round(value);
  return rounded - value === 0.5 && rounded % 2 !== 0 ? rounded - 1 : rounded;
}

const STEPS_AT_ONCE = 16;
const DOUBLINGS = 512; // counts of patterns grow by a factor of 2 with each step, up to 1e154

/** By dynamic programming over the sum of the positive steps, of which only the lower tail is needed. */
function* pOnGrid(steps) {
  const sizes = steps.map(Math.abs).sort((a, b) => a - b);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const positive = steps.reduce((sum, step) => sum + Math.max(step, 0), 0);
  const observed = Math.min(positive, total - positive);
  const counts = new Float64Array(observed + 1);
  counts[0] = 1;
  let reached = 1;
  for (const [step, size] of sizes.entries()) {
    reached = Math.min(reached + size, counts.length);
    addShifted(counts, size, reached);
    if (step % DOUBLINGS === DOUBLINGS - 1)
      for (let at = 0; at < reached; at++) counts[at] *= 2 ** -DOUBLINGS;
    if (step % STEPS_AT_ONCE === 0) yield;
  }
  const share = counts.reduce((sum, count) => sum + count, 0) * 2 ** -(sizes.length % DOUBLINGS);
  return Math.max(Math.min(2 * share, 1), LEAST_P);
}

/** A function of its own: browsers run loops in generators slowly. */
function addShifted(counts, size, reached) {
  for (let at = reached - 1; at >= size; at--) counts[at] += counts[at - size];
}

/** By meeting in the middle: pairs of subsets of two halves, whose sums keep a bound, are counted. */
function pByHalves(differences) {
  const sizes = differences.map(Math.abs).sort((a, b) => a - b);
  const total = fsum(sizes);
  const observed = Math.abs(fsum(differences)) - TIE_TOLERANCE * total;
  if (observed <= 0) return 1;
  const bound = (total - observed) / 2;
  const half = (which) => subsetSums(sizes.filter((_, at) => at % 2 === which));
  const [left, right] = [half(0), half(1)];
  let count = 0;
  let fitting = right.length;
  for (const sum of left) {
    while (fitting > 0 && right[fitting - 1] > bound - sum) fitting -= 1;
    count += fitting;
  }
  return count * 2 ** (1 - sizes.length);
}

/** The sums of all subsets, sorted. */
function subsetSums(sizes) {
  let sums = Float64Array.of(0);
  for (const size of sizes) {
    const merged = new Float64Array(2 * sums.length);
    let [low, high] = [0, 0];
    for (let at = 0; at < merged.length; at++) {
      const isLow = high === sums.length || (low < sums.length && sums[low] <= sums[high] + size);
      merged[at] = isLow ? sums[low++] : sums[high++] + size;
    }
    sums = merged;
  }
  return sums;
}
