// Compact letters of a ranking, as pytest_rageval/stats/letters.py gives them.

const ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

// They may double with each pair, and their comparison takes the square of their number.
const MOST_COLUMNS = 200;

/**
 * The letters of `n` ranked names, best first; `apart` are pairs of ranks that can be told apart.
 * All are empty where 52 letters are too few.
 */
function lettersOf(n, apart) {
  let columns = n ? [[...Array(n).keys()]] : [];
  for (const pair of apart.map(inOrder).sort(byPlaces)) {
    columns = absorbed(columns.flatMap((column) => inserted(column, pair)));
    if (columns.length > MOST_COLUMNS) return Array(n).fill("");
  }
  const kept = swept(columns.sort(byPlaces));
  if (kept.length > ALPHABET.length) return Array(n).fill("");
  return Array.from({ length: n }, (_, at) =>
    kept.map((column, which) => (column.includes(at) ? ALPHABET[which] : "")).join(""),
  );
}

function inOrder(pair) {
  return [...pair].sort((a, b) => a - b);
}

/** As Python sorts lists of numbers. */
function byPlaces(a, b) {
  const at = a.findIndex((place, which) => place !== b[which]);
  return at < 0 ? a.length - b.length : at >= b.length ? 1 : a[at] - b[at];
}

function inserted(column, [one, other]) {
  if (!column.includes(one) || !column.includes(other)) return [column];
  return [one, other].map((left) => column.filter((place) => place !== left));
}

/** The columns that are no part of another, each once. */
function absorbed(columns) {
  const distinct = [...new Map(columns.map((column) => [column.join(), column])).values()];
  return distinct.filter(
    (column) => !distinct.some((other) => other !== column && isWithin(column, other)),
  );
}

function isWithin(places, column) {
  return places.every((place) => column.includes(place));
}

/** Without the columns all of whose pairs share another one; the last go first. */
function swept(columns) {
  let kept = columns;
  for (const column of [...columns].reverse()) {
    const others = kept.filter((other) => other !== column);
    if (joined(column).every((pair) => others.some((other) => isWithin(pair, other)))) kept = others;
  }
  return kept;
}

/** What only a letter can say: its pairs, or that a name stands alone. */
function joined(column) {
  if (column.length < 2) return [column];
  return column.flatMap((one, at) => column.slice(at + 1).map((other) => [one, other]));
}
