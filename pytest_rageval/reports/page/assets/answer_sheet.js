// Answers as people label them, blind: what the page asks and shows, and the table that it downloads.

const ANSWERS = {
  columns: "question,contexts,answer,id,metric,asked,annotator,label,note,drawn,digest",
  keysOf: ({ levels }) => digitsOf(levels),
  moreKeys: noAndYes,
  head: answersHead,
  hint: (sheet) => say(sheet.has_cells ? "label_hint_support" : "label_hint"),
  notices: answerNotices,
  asked: askedOf,
  title: ({ rows, has_cells: hasCells }, at) =>
    say(hasCells ? "label_cell_at" : "label_at", { at: at + 1, of: rows.length }),
  parts: answerParts,
  buttonOf: (sheet, at) => ({
    name: levelName(sheet, sheet.levels[at]),
    word: levelWords(sheet)[at],
  }),
  stays: () => false,
  lacking: () => null,
  fileName: answersFileName,
  cells: answerCells,
};

/** The key of each level: its own digit where all have one, else its place. */
function digitsOf(levels) {
  const isDigit = (level) => Number.isInteger(level) && level >= 0 && level <= 9;
  return levels.map((level, at) => String(levels.every(isDigit) ? level : at + 1));
}

/** Keys for no and yes, where there are two levels. */
function noAndYes(sheet) {
  if (sheet.levels.length !== 2) return [];
  const [no, yes] = isTurned(sheet) ? [...sheet.levels].reverse() : sheet.levels;
  return [
    ["n", no],
    ["y", yes],
  ];
}

function answersHead({ description: about, question, metric }) {
  return [
    description(about === question ? "" : about),
    definitions([[say("metric"), given(metric)]], { class: "facts" }),
  ];
}

function answerNotices({ question, meanings, rows, has_cells: hasCells }) {
  return [
    question || meanings.length || hasCells ? null : notice(say("label_unset")),
    rows.some((row) => row.drawn === "chosen") ? notice(say("label_chosen")) : null,
  ];
}

function answerParts({ sheet }, row) {
  return [
    row.is_cut && notice(say("label_cut")),
    block("question", plainText(row.question)),
    ...(sheet.has_cells ? cellBlocks(row) : answerBlocks(row)),
  ];
}

function answerBlocks({ contexts, answer }) {
  const listed = contexts.length ? textList(contexts.map(plainText)) : noText();
  return [block("contexts", listed), block("answer", plainText(answer))];
}

/** A statement and the source that may support it; a source of one part has no number. */
function cellBlocks({ contexts, answer }) {
  const parts = contexts.map(plainText);
  const source = parts.length > 1 ? textList(parts) : (parts[0] ?? noText());
  return [block("label_statement", plainText(answer)), block("label_source", source)];
}

/** What is to be answered; each row begins with it, for the top of the page is out of sight then. */
function askedOf({ question, meanings, metric, has_cells: hasCells }) {
  if (hasCells && !question) return say("label_support");
  return question || say(meanings.length ? "label_which" : "label_right", { metric });
}

/** What the levels mean: in the words of the metric, else no and yes where there are two. */
function levelWords(sheet) {
  if (sheet.has_cells) return sheet.names.map((name) => say(`support_means_${name}`));
  if (sheet.meanings.length || sheet.levels.length !== 2) return sheet.meanings;
  const words = [say("label_no"), say("label_yes")];
  return isTurned(sheet) ? words.reverse() : words;
}

/** Whether the lower level says that an answer is right: lower is better, and nobody asks else. */
function isTurned({ question, meanings, higher_is_better: isUp }) {
  return !question && !meanings.length && !isUp;
}

/** What a level is called in the table: its number, or a word. */
function levelName({ levels, names }, level) {
  return names?.[levels.indexOf(level)] ?? String(level);
}

/** The name of the sheet with that of the person, so that two files do not meet. */
function answersFileName({ sheet, record }) {
  return sheet.file_name.replace(/(?=\.csv$)/, `-${inFileName(record.annotator)}`);
}

function inFileName(text) {
  return text.replace(/[^\p{L}\p{N}@.-]+/gu, "_");
}

function answerCells({ sheet, record }, row) {
  const words = levelWords(sheet);
  const levels = sheet.levels.map((level, at) => {
    const name = levelName(sheet, level);
    return words[at] ? `${name}: ${words[at]}` : name;
  });
  const asked = `${askedOf(sheet)} ${levels.join("; ")}`.replace(/\s+/g, " ");
  const isOne = sheet.has_cells && row.contexts.length === 1;
  const parts = row.contexts.map((text, at) => (isOne ? text : `[${at + 1}] ${text}`));
  const label = labelOf({ sheet, record }, row);
  const written = label === null ? "" : levelName(sheet, label);
  const own = [sheet.metric, asked, record.annotator];
  const texts = [row.question, parts.join("\n\n"), row.answer, row.sample_id, ...own].map(harmless);
  const note = harmless(record.notes[rowKey(row)] ?? "");
  return [...texts, written, note, row.drawn, row.digest];
}
