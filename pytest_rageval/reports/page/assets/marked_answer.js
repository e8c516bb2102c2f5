// The answer beside the reference that is closest to it, with the words that differ marked.

const MOSTLY_OTHER = 1 / 3;
const FEW_WORDS = 12;
const LONG_BOX = 120; // characters, of a text that may scroll in its box

function answerAndReference(run, at) {
  const { data } = run;
  const answer = data.answer[at];
  const references = data.references[at] ?? [];
  const shown = references.filter((number) => number >= 0);
  const n = shown.length + (references.at(-1) < 0 ? -references.at(-1) : 0);
  if (!shown.length && !data.answer.some((number) => number >= 0)) return null;
  const closest = closestReference(run, answer, shown);
  const [ours, theirs] = closest !== null && answer >= 0 ? wordMarks(run, answer, closest) : [null, null];
  const said = answer < 0 ? noText() : answerWithMarks(run, at, answer, ours);
  const of = n > 1 ? el("span", { class: "note" }, say("of_references", { n })) : null;
  const head = el("h4", {}, say(n > 1 ? "closest_reference" : "reference"), of);
  return el(
    "div",
    { class: "pair" },
    el("div", {}, el("h4", {}, say("answer")), said),
    closest === null ? null : el("div", {}, head, markedText(run, closest, theirs, "not_answered")),
  );
}

/** The reference that shares most words with the answer; null where there is none. */
function closestReference(run, answer, references) {
  if (!references.length) return null;
  if (answer < 0 || references.length === 1) return references[0];
  const words = bagOf(textAt(run, answer));
  const shares = references.map((number) => sharedWords(words, bagOf(textAt(run, number))));
  return references[shares.indexOf(Math.max(...shares))];
}

/** The parts of the answer, and of the reference; null for one that would be marked all over. */
function wordMarks(run, answer, reference) {
  run.wordMarks ??= new Map();
  const key = `${answer} ${reference}`;
  if (!run.wordMarks.has(key)) {
    const [ours, theirs] = [textAt(run, answer), textAt(run, reference)];
    run.wordMarks.set(key, [marksOf(theirs, ours), marksOf(ours, theirs)]);
  }
  return run.wordMarks.get(key);
}

function marksOf(basis, text) {
  const parts = differingParts(basis, text)?.filter(({ kind }) => kind !== "gone");
  if (!parts) return null;
  const count = (kind) =>
    parts
      .filter((part) => part.kind === kind)
      .reduce((sum, part) => sum + wordsOf(part.text).length, 0);
  const [same, other] = [count("same"), count("new")];
  return other > FEW_WORDS && same < MOSTLY_OTHER * (same + other) ? null : parts;
}

/** With what its sources do not support marked, where that is found; else with words that differ. */
function answerWithMarks(run, at, answer, differing) {
  const unsupported = unsupportedParts(run, at, textAt(run, answer));
  if (unsupported === null) return markedText(run, answer, differing, "not_expected");
  const legend = el("p", { class: "note" }, say("marked_unsupported"));
  return [...markedText(run, answer, unsupported, "not_supported", "unsupported"), legend];
}

function markedText(run, number, parts, said, kindOfMark) {
  const text = textAt(run, number);
  if (text === "") return longText(run, number);
  const marked = ({ kind, text: part }) =>
    kind === "new" ? el("mark", { class: kindOfMark, "data-said": say(said) }, part) : part;
  const tabindex = text.length > LONG_BOX ? "0" : null;
  const isCut = typeof run.data.texts[number] !== "string";
  return [
    el("p", { class: "text", dir: "auto", tabindex }, parts === null ? text : parts.map(marked)),
    isCut ? longText(run, number).at(-1) : null,
  ];
}
