// Made questions as people review them: what the page shows, edits, and the table that it downloads.

const VERDICT_KEYS = { accept: "a", reject: "r", edit: "e" };

const REVIEWS = {
  columns:
    "id,question,reference,evidence,doc_name,section_path,question_type,verdict,reviewer,note,digest",
  keysOf: ({ levels }) => levels.map((verdict) => VERDICT_KEYS[verdict]),
  moreKeys: () => [],
  head: (sheet) => [description(sheet.description)],
  hint: () => say("review_hint"),
  notices: () => [],
  asked: () => say("review_asked"),
  title: ({ rows }, at) => say("label_at", { at: at + 1, of: rows.length }),
  parts: reviewParts,
  buttonOf: ({ levels }, at) => ({ name: say(`verdict_${levels[at]}`), word: "" }),
  stays: staysToEdit,
  lacking: lackingText,
  fileName: reviewsFileName,
  cells: reviewCells,
};

function reviewParts(app, row) {
  app.isEditing = labelOf(app, row) === "edit";
  return [
    definitions(factsOf(row), { class: "facts" }),
    ...["question", "reference"].map((name) =>
      app.isEditing ? textField(app, row, name) : block(name, plainText(row[name])),
    ),
    row.nuggets.length ? block("review_nuggets", textList(row.nuggets.map(nuggetText))) : null,
    ...evidenceBlocks(row),
  ];
}

function factsOf({ doc_name: doc, section_path: path, question_type: type }) {
  const known = WORDS.en[`type_${type}`] === undefined ? given(type) : say(`type_${type}`);
  return [
    doc && [say("review_document"), given(doc)],
    path && [say("review_section"), given(path)],
    type && [say("review_type"), known],
  ].filter(Boolean);
}

/** A text that is edited: as it was made until somebody writes another. */
function textField(app, row, name) {
  const { record } = app;
  const key = rowKey(row);
  const input = (event) => {
    record.edits[key] = { ...record.edits[key], [name]: event.target.value };
    noteChange(app, row);
  };
  const value = textOf(record, row, name);
  const field = el("textarea", { rows: 3, dir: "auto", "data-name": name, value, input });
  return el("label", { class: "block" }, say(name), field);
}

/** The question or the reference as this person wants it. */
function textOf({ edits }, row, name) {
  return edits[rowKey(row)]?.[name] ?? row[name];
}

/** A nugget to be read; people change it in the file that has it. */
function nuggetText({ text, importance }) {
  return plainText(importance === "okay" ? say("review_okay", { text }) : text);
}

/** The passages with their evidence; evidence that stands in none of them on its own. */
function evidenceBlocks({ evidence, passages }) {
  const alone = evidence.filter((quote) => !passages.some((text) => text.includes(quote)));
  const marked = passages.map((text) => markedPassage(text, evidence));
  const list = (made) => (made.length > 1 ? textList(made) : made[0]);
  if (!evidence.length && !passages.length) return [notice(say("review_nothing"))];
  return [
    marked.length && block(marked.length > 1 ? "review_passages" : "review_passage", list(marked)),
    alone.length && block("review_quotes", list(alone.map(plainText))),
  ];
}

function markedPassage(text, quotes) {
  const parts = [];
  let end = 0;
  for (const [from, to] of rangesOf(text, quotes)) {
    parts.push(text.slice(end, from), markOf(text.slice(from, to)));
    end = to;
  }
  return el("p", { class: "text", dir: "auto" }, ...parts, text.slice(end));
}

function markOf(text) {
  return el("mark", { "data-said": say("review_evidence") }, text);
}

/** Where the quotes stand in a text, in order; those that overlap are one. */
function rangesOf(text, quotes) {
  const found = quotes
    .filter((quote) => quote && text.includes(quote))
    .map((quote) => [text.indexOf(quote), text.indexOf(quote) + quote.length])
    .sort(([a], [b]) => a - b);
  const joined = [];
  for (const [from, to] of found) {
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/** Shows the fields of an edit, or takes them away; whoever edits stays at this question. */
function staysToEdit(app, verdict) {
  const isEdit = verdict === "edit";
  if (isEdit !== app.isEditing) {
    drawLabelRow(app);
    app.row.querySelector("h2").focus({ preventScroll: true });
  }
  if (isEdit) app.row.querySelector("[data-name]").focus();
  return isEdit;
}

/** The first edit without a text, and what to do about it; the file would be refused. */
function lackingText({ sheet, record }) {
  for (const [at, row] of sheet.rows.entries()) {
    if (labelOf({ sheet, record }, row) !== "edit") continue;
    const isBlank = (name) => row[name].trim() && !textOf(record, row, name).trim();
    if (isBlank("question")) return { at, said: say("review_blank") };
    if (isBlank("reference")) return { at, said: say("review_blank_reference") };
  }
  return null;
}

/** The name of the sheet with that of the person, in lower case and ASCII. */
function reviewsFileName({ sheet, record }) {
  const name = plainName(record.annotator);
  return sheet.file_name.toLowerCase().replace(/(?=\.csv$)/, `-${name}`);
}

/** A name in ASCII; digits stand for letters that it lacks, so that two people have two files. */
function plainName(text) {
  const plain = text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const known = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const lost = plain.match(/\P{ASCII}/gu) ?? [];
  const code = lost.reduce((sum, letter) => (sum * 31 + letter.codePointAt(0)) % 0xffffff, 7);
  return [known, lost.length ? code.toString(16) : ""].filter(Boolean).join("-") || "reviewer";
}

function reviewCells({ sheet, record }, row) {
  const verdict = labelOf({ sheet, record }, row) ?? "";
  const own = (name) => (verdict === "edit" ? textOf(record, row, name) : row[name]);
  const places = [row.doc_name, row.section_path, row.question_type];
  const texts = [row.sample_id, own("question"), own("reference"), row.evidence.join("\n\n"), ...places];
  const said = [verdict, record.annotator, record.notes[rowKey(row)] ?? "", row.digest];
  return [...texts, ...said].map(harmless);
}
