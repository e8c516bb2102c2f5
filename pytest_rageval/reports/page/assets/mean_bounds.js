// The ends of the interval of a weighted mean in 0..1, as pytest_rageval/stats/mean_bounds.py.

const MANY_SCORES = 200;
const GRID = 200;
const LEAST_GRID = 20;
const STEP = 0.2;
const LEAN = 0.3;
const MOST_LEANING = 0.8;
const NOTHING_LEFT = 1e-14;
const NEAR_ROOT = 1e-7;
const NO_MEAN = 1e-12;

function meanBounds(values, weights, tail) {
  const total = fsum(weights);
  const product = sumOf(values.length, (at) => values[at] * weights[at]);
  const mean = Math.min(Math.max(product / total, 0), 1);
  const shares = weights.map((weight) => weight / total);
  let rows = countedPairs(values.map((value, at) => [value, shares[at], 1]));
  const unseen = sumOf(rows.length, (at) => rows[at][2] * rows[at][1] * rows[at][1]);
  if (values.length > MANY_SCORES) rows = onAGrid(rows);
  const turned = rows.map(([value, share, shape]) => [1 - value, share, shape]);
  const lower = lowerEnd(rows, unseen, tail, mean);
  const upper = lowerEnd(turned, unseen, tail, 1 - mean);
  return [Math.min(lower, mean), Math.max(1 - upper, mean)];
}

/** Rows of value, share and shape; the shapes of those with the same value and share are added. */
function countedPairs(rows) {
  const found = new Map();
  for (const [value, share, shape] of rows) {
    if (!found.has(share)) found.set(share, new Map());
    const shapes = found.get(share);
    if (shapes.has(value)) shapes.get(value)[2] += shape;
    else shapes.set(value, [value, share, shape]);
  }
  return [...found.values()].flatMap((shapes) => [...shapes.values()]);
}

function onAGrid(rows) {
  const sizes = new Set(rows.map(([, share]) => share)).size;
  const steps = Math.max(LEAST_GRID, Math.floor(GRID / sizes));
  return countedPairs(
    rows.flatMap(([value, share, shape]) => {
      const below = Math.min(Math.floor(value * steps), steps - 1);
      const above = value * steps - below;
      return [
        [below / steps, share, (1 - above) * shape],
        [(below + 1) / steps, share, above * shape],
      ].filter(([, , part]) => part > 0);
    }),
  );
}

function lowerEnd(rows, unseen, tail, mean) {
  if (mean < NO_MEAN) return 0;
  const atoms = [...rows, [0, unseen, 1]];
  const wanted = -tQuantile(1 - tail, 1e6); // near enough to the normal quantile for a guess
  const near = (t) => nearQuantile(gammaSum(atoms, t)) - wanted;
  const [guess, slope] = rootOf(near, mean, firstGuess(atoms, wanted));
  const steeper = Math.exp(-0.5 * wanted * wanted) / Math.sqrt(2 * Math.PI) / tail;
  const exactly = (t) => Math.log(probabilityOf(gammaSum(atoms, t)) / tail);
  return rootOf(exactly, mean, [guess, slope * steeper])[0];
}

function firstGuess(atoms, wanted) {
  const n = atoms.length;
  const total = sumOf(n, (at) => atoms[at][1] * atoms[at][2]);
  const centre = sumOf(n, (at) => atoms[at][0] * atoms[at][1] * atoms[at][2]) / total;
  const variance = sumOf(n, (at) => atoms[at][2] * squared(atoms[at][1] * (atoms[at][0] - centre)));
  const deviation = Math.sqrt(variance) / total;
  return [centre + wanted * deviation, 1 / deviation];
}

/** Where a rising function is 0 between 0 and `top`, and its slope there, by the secant method. */
function rootOf(off, top, [t, slope]) {
  let low = 0;
  let high = top;
  let last = null;
  for (let step = 0; step < 100; step++) {
    if (!(low < t && t < high)) t = (low + high) / 2;
    const here = off(t);
    if (last !== null && (t - last[0]) * (here - last[1]) > 0) {
      slope = (here - last[1]) / (t - last[0]);
    }
    if (here < 0) low = t;
    else high = t;
    last = [t, here];
    t -= here / slope;
    if (Math.abs(here) < NEAR_ROOT || high - low < 1e-15) break;
  }
  return [Math.min(Math.max(t, low), high), slope];
}

/** The sum of gamma variables times terms; saddle is where its cumulant function is lowest. */
function gammaSum(atoms, t) {
  const terms = atoms.map(([value, share]) => share * (value - t));
  const shapes = atoms.map(([, , shape]) => shape);
  let left = 1 / terms.reduce((a, b) => Math.min(a, b));
  let right = 1 / terms.reduce((a, b) => Math.max(a, b));
  let saddle = 0;
  let spread = 0;
  for (let step = 0; step < 100; step++) {
    let slope = 0;
    let bend = 0;
    for (let at = 0; at < terms.length; at++) {
      const tilted = terms[at] / (1 - saddle * terms[at]);
      slope += shapes[at] * tilted;
      bend += shapes[at] * tilted * tilted;
    }
    spread = Math.sqrt(bend);
    if (Math.abs(slope) < 1e-8 * spread) break;
    if (slope > 0) right = saddle;
    else left = saddle;
    saddle -= slope / (spread * spread);
    if (!(left < saddle && saddle < right)) saddle = (left + right) / 2;
  }
  return { terms, shapes, saddle, spread };
}

function cumulant({ terms, shapes }, s) {
  let found = 0;
  for (let at = 0; at < terms.length; at++) found -= shapes[at] * Math.log(1 - s * terms[at]);
  return found;
}

function nearQuantile(of) {
  const root = Math.sqrt(Math.max(-2 * cumulant(of, of.saddle), 0));
  const r = of.saddle < 0 ? -root : root;
  return Math.abs(r) > 0.1 ? r + Math.log((of.saddle * of.spread) / r) / r : r;
}

/** The probability that the sum is not above 0: an integral along a leaning line left of 0. */
function probabilityOf(of) {
  const at = Math.min(of.saddle, -0.6 / of.spread);
  const tilted = of.terms.map((term) => term / (1 - at * term));
  let bend = 0;
  let third = 0;
  for (let place = 0; place < tilted.length; place++) {
    const square = of.shapes[place] * tilted[place] * tilted[place];
    bend += square;
    third += square * tilted[place];
  }
  const spread = Math.sqrt(bend);
  const lean = Math.min(Math.max((LEAN * 2 * third) / spread ** 3, -MOST_LEANING), MOST_LEANING);
  const along = Math.cos(lean) / spread;
  const aside = Math.sin(lean) / spread;
  let total = (0.5 * along) / at;
  let u = 0;
  let size = 1;
  while (size > NOTHING_LEFT) {
    u += STEP;
    const x = (Math.cosh(u) - 1) * aside;
    const y = Math.sinh(u) * along;
    let logs = 0; // of the absolute value of exp(-K), and its angle
    let turn = 0;
    for (let place = 0; place < tilted.length; place++) {
      const real = 1 - x * tilted[place];
      const imaginary = -y * tilted[place];
      logs += of.shapes[place] * Math.log(Math.hypot(real, imaginary));
      turn += of.shapes[place] * Math.atan2(imaginary, real);
    }
    const [dx, dy] = [Math.sinh(u) * aside, Math.cosh(u) * along];
    const distance = Math.hypot(at + x, y);
    const strength = (Math.exp(-logs) * Math.hypot(dx, dy)) / distance;
    total += strength * Math.sin(-turn + Math.atan2(dy, dx) - Math.atan2(y, at + x));
    size = Math.abs((strength / along) * at);
  }
  return Math.max((-Math.exp(cumulant(of, at)) * total * STEP) / Math.PI, 1e-300);
}
