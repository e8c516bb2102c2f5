// A scenario from a file: choose the file, correct its columns, see what will be written, write it.

const FIELDS = [
  "question", "answer", "references", "contexts", "reference_contexts", "retrieved_ids", "reference_ids",
  "doc_name", "id", "must_include", "must_not_include", "must_match", "must_satisfy", "nuggets", "tags",
];

function emptyDraft() {
  return { files: null, isWhole: true, folder: "", mostMb: 0, suffixes: [], file: "", name: "", given: noneGiven(), found: null, problem: null, isBusy: false, doing: "reading_file" };
}

function noneGiven() {
  return { key_map: {}, left_out: [] };
}

function newView(app) {
  app.draft ??= emptyDraft();
  if (app.draft.files === null) loadFiles(app);
  return el(
    "section",
    { id: "new" },
    el("a", { href: "#", class: "back" }, `‹ ${say("all_scenarios")}`),
    el("h1", { tabindex: "-1" }, say("from_file")),
    hint(say("from_file_hint")),
    fileChoice(app),
    foundView(app),
  );
}

async function loadFiles(app) {
  app.draft.files = [];
  try {
    const { files, is_whole: isWhole, folder, suffixes, most_mb: mostMb } = await ask(api("files"));
    Object.assign(app.draft, { files, isWhole, folder, suffixes, mostMb });
    redrawFiles(app);
  } catch (refusal) {
    if (!isForAll(app, refusal)) app.warn(serverSaid(refusal.message));
  }
}

function redrawFiles(app) {
  if (app.view === "new") document.getElementById("file-choice")?.replaceWith(fileChoice(app));
}

function fileChoice(app) {
  const { files, isWhole, file, folder, suffixes, mostMb } = app.draft;
  const own = el("input", {
    type: "file",
    id: "upload",
    accept: suffixes.join(","),
    change: (event) => event.target.files.length && uploadFile(app, event.target.files[0]),
  });
  const options = [
    { value: "", label: "–" },
    ...(files ?? []).map((name) => ({ value: name, label: name })),
    ...(file && !files?.includes(file) ? [{ value: file, label: file }] : []),
  ];
  return el(
    "div",
    { id: "file-choice", class: "bounds" },
    el(
      "div",
      { class: "outcome" },
      el("h2", {}, say("own_file")),
      el("label", { class: "button upload" }, say("choose_file"), own),
      folder ? el("p", { class: "note" }, sayGiven("goes_to", { folder, mb: mostMb })) : null,
    ),
    el(
      "div",
      { class: "outcome" },
      el("h2", {}, say("project_file")),
      choice(say("file"), options, file, (name) => name && chooseFile(app, name)),
      isWhole ? null : el("p", { class: "note" }, say("not_all_files")),
    ),
  );
}

async function uploadFile(app, file) {
  const { draft } = app;
  if (draft.mostMb && file.size > draft.mostMb * 1e6) {
    return draftProblem(app, say("too_large", { mb: draft.mostMb }));
  }
  startReading(app);
  try {
    const answer = await fetch(query("/api/files", { name: file.name }), {
      method: "POST",
      cache: "no-store",
      headers: { "Content-Type": "application/octet-stream" },
      body: file,
    });
    const found = await answer.json().catch(() => null);
    if (!answer.ok) throw new Refusal(answer.status, found);
    chooseFile(app, found.file);
  } catch (refusal) {
    const words = refusal instanceof Refusal ? serverSaid(refusal.message) : say("no_answer");
    draftProblem(app, words);
  }
}

function chooseFile(app, file) {
  const name = file.split("/").at(-1).replace(/(\.gz)?$/i, "").replace(/\.[^.]+$/, "");
  Object.assign(app.draft, { file, name, given: noneGiven(), found: null });
  redrawFiles(app);
  readFile(app);
}

function startReading(app, doing = "reading_file") {
  Object.assign(app.draft, { isBusy: true, doing, problem: null });
  redrawFound(app);
}

function draftProblem(app, problem) {
  Object.assign(app.draft, { isBusy: false, problem });
  redrawFound(app);
}

/** What is sent of the file: names of columns and choices that were offered. */
function draftBody({ file, name, given: { key_map, left_out, ...more } }) {
  const given = { ...more };
  if (Object.keys(key_map).length) given.key_map = key_map;
  if (left_out.length) given.left_out = left_out;
  return { file, name, given };
}

async function readFile(app) {
  const { draft } = app;
  startReading(app);
  const body = draftBody(draft);
  const asked = JSON.stringify(body);
  draft.asked = asked;
  try {
    const found = await ask(api("proposals"), { method: "POST", body });
    if (draft.asked !== asked) return;
    Object.assign(draft, { found, isBusy: false });
    redrawFound(app);
    app.announce(say(`announce_${found.problem ? "problem" : found.scenario ? "columns" : "question"}`));
  } catch (refusal) {
    if (isForAll(app, refusal) || draft.asked !== asked) return;
    draftProblem(app, serverSaid(refusal.message));
  }
}

function redrawFound(app) {
  const old = document.getElementById("found");
  if (old === null) return;
  const { activeElement } = document;
  const kept = old.contains(activeElement) ? activeElement.dataset.kept : null;
  old.replaceWith(foundView(app));
  if (kept) document.querySelector(`#found [data-kept="${CSS.escape(kept)}"]`)?.focus();
}

function foundView(app) {
  const { found, problem, isBusy, doing } = app.draft;
  const parts = [];
  if (problem) parts.push(el("p", { class: "notice broken", role: "alert" }, given(problem)));
  if (found?.problem) parts.push(problemView(app, found));
  if (found?.question) parts.push(questionView(app, found.question));
  if (found?.columns.length) parts.push(columnTable(app, found.columns));
  if (found?.scenario) parts.push(previewOf(app, found.scenario));
  return el(
    "div",
    { id: "found", "aria-busy": String(isBusy) },
    isBusy ? el("p", { class: "loading", role: "status" }, say(doing)) : null,
    parts,
  );
}

/** Why the file cannot be used, with the ways to read it that may do. */
function problemView(app, { problem, choices }) {
  return el("div", { class: "notice broken", role: "alert" }, el("p", {}, given(serverSaid(problem))), waysOf(app, choices));
}

function waysOf(app, choices) {
  if (!choices.length) return null;
  const ways = choices.map(({ case: words, keys }) =>
    el("li", {}, button(given(serverSaid(words)), () => takeChoice(app, keys), { class: "way" })),
  );
  return el("ul", { class: "ways" }, ways);
}

/** What cannot be decided, with the ways that there are. */
function questionView(app, { text, choices }) {
  return el(
    "div",
    { class: "notice question", role: "alert" },
    el("h2", {}, say("asked")),
    el("p", {}, given(serverSaid(text))),
    waysOf(app, choices),
    el("p", { class: "note" }, say("or_below")),
  );
}

function takeChoice(app, keys) {
  const { draft } = app;
  draft.given = { ...draft.given, ...keys, key_map: { ...draft.given.key_map, ...keys.key_map } };
  readFile(app);
}

function columnTable(app, columns) {
  const heads = [say("column"), say("cells"), say("field")];
  const rows = columns.map((column) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, given(column.name)),
      el(
        "td",
        { class: "said" },
        el("span", {}, given(column.examples.join(" | ") || "–")),
        el("span", { class: "note" }, given(serverSaid(column.cells))),
      ),
      el("td", { class: "field" }, fieldChoice(app, column), whyNote(app, column)),
    ),
  );
  return [el("h2", {}, say("columns")), hint(say("columns_hint")), table(say("columns"), heads, rows, { class: "data-columns" })];
}

function whyNote(app, { name, field, why }) {
  const isKept = field && app.draft.given.left_out.includes(name);
  const words = isKept ? say("cannot_leave") : why ? serverSaid(why) : "";
  return words ? el("span", { class: "note" }, words) : null;
}

function fieldChoice(app, { name, field }) {
  const known = field && !FIELDS.includes(field) ? [...FIELDS, field] : FIELDS;
  const options = ["", ...known].map((one) =>
    el("option", { value: one, selected: one === field }, one ? `${one} – ${fieldWords(one)}` : say("no_field")),
  );
  return el("select", {
    "aria-label": say("field_of", { name }),
    "data-kept": `field ${name}`,
    change: (event) => takeField(app, name, event.target.value),
  }, options);
}

function fieldWords(field) {
  return WORDS.en[`field_${field}`] ? say(`field_${field}`) : field;
}

/** A column is another field, or none. */
function takeField(app, column, field) {
  const { given: before } = app.draft;
  const others = Object.entries(before.key_map).filter(([, one]) => one !== column);
  const leftOut = before.left_out.filter((one) => one !== column);
  app.draft.given = {
    ...before,
    key_map: { ...Object.fromEntries(others), ...(field ? { [field]: column } : {}) },
    left_out: field ? leftOut : [...leftOut, column],
  };
  readFile(app);
}

function previewOf(app, scenario) {
  const { draft } = app;
  const name = el("input", {
    type: "text",
    value: draft.name,
    maxlength: 80,
    "data-kept": "name",
    id: "scenario-name",
    dir: "auto",
    // Read again once it is to be made: a click on the button must not lose it.
    input: (event) => {
      draft.name = event.target.value.trim();
    },
  });
  return el(
    "div",
    { class: "preview" },
    el("h2", {}, say("will_be_written")),
    definitions(previewPairs(scenario), { class: "pairs" }),
    previewRemarks(scenario),
    el("details", {}, el("summary", {}, given(scenario.file)), el("pre", { class: "text", tabindex: "0", dir: "auto" }, scenario.text)),
    el("p", { class: "buttons" }, el("label", { for: "scenario-name" }, say("name_of_scenario")), name,
      button(say("make"), () => makeScenario(app), { class: "primary", disabled: draft.isBusy, "data-kept": "make" })),
  );
}

function previewPairs({ rows, invalid, metrics, gates, tried }) {
  const bounds = gates.map(([name, least]) => say("at_least", { name: nameOf(name), least: short(least) }));
  const pairs = [
    [say("data"), invalid ? say("with_invalid", { n: rows - invalid, invalid }) : grouped(rows)],
    [say("measured"), inAList(metrics)],
    [say("gates"), bounds.join(say("comma"))],
  ];
  if (tried === null) return pairs;
  const means = Object.entries(tried.means).map(([name, mean]) => `${nameOf(name)} ${figure(mean)}`);
  return [...pairs, [say("tried_on", { n: tried.rows }), means.join(say("comma"))]];
}

function previewRemarks({ asks, module, judged, rows, covered, odd, odd_count: n, bare, invalid, first_invalid: first, missed, open }) {
  const words = [];
  if (module) words.push(sayGiven("asks_system", { what: inAList(asks), file: module }));
  if (judged) words.push([say("asks_judge")]);
  if (invalid) words.push(sayGiven("invalid_first", { n: invalid, reason: first }));
  if (n) words.push([say("odd_rows", { n, rows: odd.join(say("comma")) + (n > odd.length ? " …" : "") })]);
  if (bare) words.push([say("bare_rows", { n: bare })]);
  const shares = covered.map(([name, count]) => `${nameOf(name)} ${grouped(count)}`);
  if (covered.some(([, count]) => count < rows)) words.push([say("covered_rows", { n: grouped(rows), shares: inAList(shares) })]);
  if (missed.length) words.push([say("tried_low")]);
  return [
    words.map((parts) => notice(...parts)),
    open.length ? el("details", {}, el("summary", {}, say("not_decided", { n: open.length })), el("ul", {}, open.map((text) => el("li", {}, given(serverSaid(text)))))) : null,
  ];
}

async function makeScenario(app) {
  const { draft } = app;
  if (draft.asked !== JSON.stringify(draftBody(draft))) await readFile(app);
  if (!draft.found?.scenario || draft.problem) return;
  const { digest, module } = draft.found.scenario;
  startReading(app, "making_scenario");
  try {
    const made = await ask(api("scenarios"), { method: "POST", body: { ...draftBody(draft), digest } });
    await app.loadScenarios(false);
    app.made = { ...made, module };
    if (made.id === null) return draftProblem(app, say("not_found_by_pytest", { files: inAList(made.files) }));
    app.draft = null;
    location.hash = `#scenario=${made.id}`;
  } catch (refusal) {
    if (!isForAll(app, refusal)) draftProblem(app, serverSaid(refusal.message));
  }
}

/** What was just written, where a scenario has come from. */
function madeNotice({ made, chosen }) {
  if (!made || made.id !== chosen) return null;
  const files = inAList(made.files);
  return el(
    "div",
    { role: "status" },
    el("p", { class: "note" }, sayGiven("written", { keys: files })),
    made.module ? notice(...sayGiven("fill_in", { file: made.module })) : null,
  );
}
