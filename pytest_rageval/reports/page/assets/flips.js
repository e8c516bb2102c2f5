// The sign flips of pytest_rageval/stats/permutation.py, bit for bit: numpy's PCG64 and its seeding.

const RESAMPLES_AT_ONCE = 1024;
const WORDS_OF_A_UNIT = RESAMPLES_AT_ONCE / 64;
const BYTES_OF_A_UNIT = RESAMPLES_AT_ONCE / 8;
const ALL_64 = (1n << 64n) - 1n;
const ALL_128 = (1n << 128n) - 1n;
const PCG_STEP = 0x2360ed051fc65da44385df649fccf645n;

/** A whole number of any size, from 0 on, in parts of 32 bits, the lowest first. */
function partsOf(number) {
  const parts = [];
  for (let left = BigInt(number); left > 0n || !parts.length; left >>= 32n)
    parts.push(Number(left & 0xffffffffn));
  return parts;
}

/** The 128-bit state and increment of PCG64 for numpy's SeedSequence of these numbers. */
function seeded(numbers) {
  const words = seedWords(numbers.flatMap(partsOf));
  const wide = (at) => [0, 2].map((by) => BigInt(words[at + by]) | (BigInt(words[at + by + 1]) << 32n));
  const [[high, low], [incHigh, incLow]] = [wide(0), wide(4)];
  const increment = ((((incHigh << 64n) | incLow) << 1n) | 1n) & ALL_128;
  const state = (increment + ((high << 64n) | low)) & ALL_128;
  return { state: (state * PCG_STEP + increment) & ALL_128, increment };
}

/** Eight words of 32 bits from a pool of four, as numpy's SeedSequence mixes them. */
function seedWords(entropy) {
  let constant = 0x43b0d7e5;
  const hashed = (value) => {
    value ^= constant;
    constant = Math.imul(constant, 0x931e8875);
    return folded(Math.imul(value, constant));
  };
  const mixed = (x, y) => folded(Math.imul(0xca01f9dd, x) - Math.imul(0x4973f715, y));
  const pool = [0, 1, 2, 3].map((at) => hashed(entropy[at] ?? 0));
  for (let from = 0; from < 4; from++)
    for (let to = 0; to < 4; to++) if (from !== to) pool[to] = mixed(pool[to], hashed(pool[from]));
  for (const more of entropy.slice(4))
    for (let to = 0; to < 4; to++) pool[to] = mixed(pool[to], hashed(more));
  constant = 0x8b51f9dd;
  return Array.from({ length: 8 }, (_, at) => {
    const value = pool[at % 4] ^ constant;
    constant = Math.imul(constant, 0x58f38ded);
    return folded(Math.imul(value, constant)) >>> 0;
  });
}

function folded(value) {
  return value ^ (value >>> 16);
}

/** The flips of each unit, a sample or a group, in one chunk of patterns: 1,024 bits each. */
function flipsOf(seed, chunk, units) {
  let { state, increment } = seeded([seed, chunk]);
  const bytes = new DataView(new ArrayBuffer(units * BYTES_OF_A_UNIT));
  for (let at = 0; at < units * WORDS_OF_A_UNIT; at++) {
    state = (state * PCG_STEP + increment) & ALL_128;
    const high = state >> 64n;
    const mixed = (high ^ state) & ALL_64;
    const turn = high >> 58n;
    bytes.setBigUint64(8 * at, (mixed >> turn) | ((mixed << (64n - turn)) & ALL_64), true);
  }
  return new Uint8Array(bytes.buffer);
}

/** The sum of a column's values whose bit is set, for each of the patterns of a chunk. */
function flippedSums(flips, column) {
  const sums = new Float64Array(RESAMPLES_AT_ONCE);
  for (let unit = 0; unit < column.length; unit++) {
    const value = column[unit];
    if (value === 0) continue;
    for (let at = 0; at < BYTES_OF_A_UNIT; at++) {
      const bits = flips[unit * BYTES_OF_A_UNIT + at];
      for (let bit = 0; bit < 8; bit++) sums[8 * at + bit] += value * ((bits >> (7 - bit)) & 1);
    }
  }
  return sums;
}

const MOST_KEPT = 1 << 26; // bytes: flips of 50,000 units and 10,000 patterns
const KEPT_FLIPS = new Map();

/** Flips are the same whatever the weights: kept, so that the next weights cost less. */
function keptFlips(seed, chunk, units) {
  const key = `${seed} ${chunk} ${units}`;
  if (!KEPT_FLIPS.has(key)) {
    const size = units * BYTES_OF_A_UNIT;
    if ((KEPT_FLIPS.size + 1) * size > MOST_KEPT) KEPT_FLIPS.clear();
    KEPT_FLIPS.set(key, flipsOf(seed, chunk, units));
  }
  return KEPT_FLIPS.get(key);
}
