// The words that an answer has and another lacks: a longest common subsequence, within bounds.

const MOST_CELLS = 1_000_000;
const TOKENS =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*|(?:(?!\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Thai}|\p{Script=Lao}|\p{Script=Khmer}|\p{Script=Myanmar})[\p{L}\p{N}\p{M}_])+/gu;

/** The words of a text, characters where no spaces part them: what is compared, from and to. */
function wordsOf(text) {
  return [...text.matchAll(TOKENS)].map((found) => ({
    key: searchable(found[0]),
    from: found.index,
    to: found.index + found[0].length,
  }));
}

/**
 * `text` in parts {kind, text}: `same`, `new` (not in `basis`), and between them `gone`, which only
 * `basis` has. Case and punctuation do not count. null where the texts are too long to compare.
 */
function differingParts(basis, text) {
  const [before, now] = [wordsOf(basis), wordsOf(text)];
  const pairs = commonPairs(before, now);
  if (pairs === null) return null;
  const parts = [];
  const add = (kind, of, from, to) => {
    if (to <= from) return;
    const last = parts.at(-1);
    if (kind === "same" && last?.kind === "same") last.text += of.slice(from, to);
    else parts.push({ kind, text: of.slice(from, to) });
  };
  let [was, at, shown] = [0, 0, 0];
  for (const [inBasis, inText] of [...pairs, [before.length, now.length]]) {
    const first = at < inText ? now[at].from : shown;
    add("same", text, shown, first);
    if (was < inBasis) add("gone", basis, before[was].from, before[inBasis - 1].to);
    shown = at < inText ? now[inText - 1].to : first;
    add("new", text, first, shown);
    const end = now[inText]?.to ?? text.length;
    add("same", text, shown, end);
    [was, at, shown] = [inBasis + 1, inText + 1, end];
  }
  return parts;
}

/** Places of words that both have, in order: as many as there can be; null where it takes too long. */
function commonPairs(before, now) {
  const number = new Map();
  const numbers = (words) =>
    words.map(({ key }) => number.get(key) ?? number.set(key, number.size).get(key));
  const [left, right] = [numbers(before), numbers(now)];
  const shorter = Math.min(left.length, right.length);
  let start = 0;
  while (start < shorter && left[start] === right[start]) start += 1;
  let end = 0;
  while (end < shorter - start && left.at(-1 - end) === right.at(-1 - end)) end += 1;
  const between = (all) => all.slice(start, all.length - end);
  const middle = middlePairs(between(left), between(right));
  if (middle === null) return null;
  const same = (n, one, other) => Array.from({ length: n }, (_, at) => [one + at, other + at]);
  return [
    ...same(start, 0, 0),
    ...middle.map(([one, other]) => [start + one, start + other]),
    ...same(end, left.length - end, right.length - end),
  ];
}

function middlePairs(left, right) {
  const [rows, columns] = [left.length, right.length];
  if (rows * columns > MOST_CELLS) return null;
  const width = columns + 1;
  const longest = new Uint32Array((rows + 1) * width);
  for (let one = rows - 1; one >= 0; one--) {
    const wanted = left[one];
    for (let here = one * width + columns - 1, other = columns - 1; other >= 0; other--, here--)
      longest[here] =
        right[other] === wanted
          ? longest[here + width + 1] + 1
          : Math.max(longest[here + width], longest[here + 1]);
  }
  const pairs = [];
  let [one, other] = [0, 0];
  while (one < rows && other < columns) {
    const here = one * width + other;
    if (left[one] === right[other]) pairs.push([one++, other++]);
    else if (longest[here + width] >= longest[here + 1]) one += 1;
    else other += 1;
  }
  return pairs;
}

/** How often a text has each of its words. */
function bagOf(text) {
  const counts = new Map();
  for (const { key } of wordsOf(text)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** F1 of the words of two texts. */
function sharedWords(one, other) {
  const size = (bag) => [...bag.values()].reduce((sum, n) => sum + n, 0);
  let common = 0;
  for (const [word, n] of one) common += Math.min(n, other.get(word) ?? 0);
  return common === 0 ? 0 : (2 * common) / (size(one) + size(other));
}
