// What people say of the rows of a sheet, one at a time; kept in the browser, downloaded as a table.

/**
 * Shows a sheet in place of the page; `close` leads back to the page that asked for it.
 * A row gets one of the sheet's levels; `view` has what a page shows of it, and what it downloads.
 */
function openLabels(sheet, view, theme, close = null) {
  const app = { sheet, view, theme, kept: keptOf(sheet) };
  openRecord(app, app.kept.annotator);
  app.drawPage = () => drawLabels(app);
  app.keys = labelKeys(app);
  const press = (event) => pressedKey(app, event);
  document.addEventListener("keydown", press);
  const leave = () => {
    document.removeEventListener("keydown", press);
    close(app.theme);
  };
  app.close = close && leave;
  keepLabels(app);
  app.drawPage();
  if (!app.record.annotator) app.annotator.focus();
}

const KEPT = new Map();

/** What is kept of a sheet: a record of each annotator, and whose was open last. */
function keptOf({ key, annotator }) {
  if (!KEPT.size) window.addEventListener("beforeunload", warnOfLabels);
  if (!KEPT.has(key)) KEPT.set(key, keptLabels(key) ?? { annotator, records: [] });
  return KEPT.get(key);
}

function recordOf({ records }, name) {
  return records.find(({ annotator }) => annotator === name);
}

/** Turns to what one person said: labels and notes by row, and which of them are not downloaded. */
function openRecord(app, annotator) {
  const { kept } = app;
  if (!recordOf(kept, annotator))
    kept.records.push({ annotator, labels: {}, notes: {}, edits: {}, unsaved: {} });
  app.record = recordOf(kept, annotator);
  kept.annotator = annotator;
  app.last = null;
  app.at = Math.max(nextWithout(app, 0), 0);
}

function warnOfLabels(event) {
  const records = [...KEPT.values()].flatMap((kept) => kept.records);
  if (records.some((record) => !isDownloaded(record))) event.preventDefault();
}

function isDownloaded({ unsaved }) {
  return !Object.keys(unsaved).length;
}

function keptLabels(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null; // no storage, as in some private windows and frames
  }
}

function keepLabels(app) {
  try {
    localStorage.setItem(app.sheet.key, JSON.stringify(app.kept));
    app.isKept = true;
  } catch {
    app.isKept = false;
  }
  tellAround();
}

/** Says to a page around this one how many labels it must not throw away. */
function tellAround() {
  if (window === window.parent) return;
  const records = [...KEPT.values()].flatMap((kept) => kept.records);
  const unsaved = records.reduce((n, record) => n + Object.keys(record.unsaved).length, 0);
  window.parent.postMessage({ unsaved }, "*");
}

function rowKey({ sample_id: id, digest }) {
  return `${id} ${digest}`;
}

function labelOf({ sheet, record }, row) {
  const label = record.labels[rowKey(row)];
  return sheet.levels.includes(label) ? label : null;
}

/** The next row without a label, from `start` on and then from the beginning; -1: there is none. */
function nextWithout(app, start) {
  const { rows } = app.sheet;
  const isOpen = (row) => labelOf(app, row) === null;
  const later = rows.findIndex((row, at) => at >= start && isOpen(row));
  return later >= 0 ? later : rows.findIndex(isOpen);
}

function labelKeys(app) {
  const { sheet, view } = app;
  const keys = new Map();
  view.keysOf(sheet).forEach((key, at) => keys.set(key, () => setLabel(app, sheet.levels[at])));
  for (const [key, level] of view.moreKeys(sheet)) keys.set(key, () => setLabel(app, level));
  keys.set("u", () => undoLabel(app));
  keys.set("arrowleft", () => goTo(app, app.at - 1));
  keys.set("arrowright", () => goTo(app, app.at + 1));
  return keys;
}

function pressedKey(app, event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest("input, textarea")) {
    const isNamed = event.key === "Enter" && event.target === app.annotator;
    if ((event.key === "Escape" || isNamed) && !event.isComposing) leaveField(app, event);
    return;
  }
  const act = app.keys.get(event.key.toLowerCase());
  if (act === undefined) return;
  event.preventDefault();
  act();
}

/** Leaving the field of the name may ask something: that comes first. */
function leaveField(app, event) {
  event.preventDefault(); // else Enter also presses the button that gets the focus
  event.target.blur();
  (app.asked.querySelector("button") ?? app.row.querySelector("h2")).focus();
}

function setLabel(app, level) {
  if (isAsked(app)) return;
  const row = app.sheet.rows[app.at];
  app.record.labels[rowKey(row)] = level;
  app.last = app.at;
  noteChange(app, row);
  if (app.view.stays(app, level)) {
    updateLabels(app);
    return;
  }
  const next = app.at + 1 < app.sheet.rows.length ? app.at + 1 : nextWithout(app, 0);
  if (next < 0 || next === app.at) updateLabels(app);
  else goTo(app, next);
}

/** Takes back the label of this row, or the one just given. */
function undoLabel(app) {
  if (isAsked(app)) return;
  const { rows } = app.sheet;
  if (labelOf(app, rows[app.at]) === null && app.last !== null) goTo(app, app.last);
  delete app.record.labels[rowKey(rows[app.at])];
  app.last = null;
  noteChange(app, rows[app.at]);
  app.view.stays(app, null);
  updateLabels(app);
}

function noteChange(app, row) {
  app.record.unsaved[rowKey(row)] = true;
  app.foot.problem.textContent = "";
  keepLabels(app);
}

function goTo(app, to) {
  if (to < 0 || to >= app.sheet.rows.length) return;
  app.at = to;
  drawLabelRow(app);
  app.row.querySelector("h2").focus({ preventScroll: true });
  app.row.scrollIntoView({ behavior: "instant" });
}

function drawLabels(app) {
  nameLanguage();
  app.row = el("article", { class: "label-row", "aria-labelledby": "label-title" });
  const body = el("section", { "aria-label": say("labels") }, app.row, labelFoot(app));
  const main = el("main", { id: "main", class: "labels", tabindex: "-1" }, body);
  document.getElementById("page").replaceChildren(labelHead(app), main);
  drawLabelRow(app);
}

function labelHead(app) {
  const { sheet, view, record } = app;
  app.annotator = el("input", {
    type: "text",
    autocomplete: "name",
    dir: "auto",
    value: record.annotator,
    change: () => setAnnotator(app),
  });
  app.asked = el("div", { role: "alert" });
  const keys = [...view.keysOf(sheet), ...view.moreKeys(sheet).map(([key]) => key)];
  return el(
    "header",
    { class: "top" },
    toolBar(app),
    el("h1", {}, given(sheet.scenario)),
    ...view.head(sheet),
    hint(
      view.hint(sheet),
      el("span", { class: "keys" }, ` ${say("label_keys", { keys: keys.join(" ") })}`),
    ),
    ...view.notices(sheet),
    app.isKept ? null : notice(say("label_not_kept")),
    el("label", { class: "choice" }, el("span", {}, say("annotator")), app.annotator),
    app.asked,
  );
}

/** Another name has labels of its own; those here change hands only if the person says so. */
function setAnnotator(app) {
  const { kept, record } = app;
  const name = app.annotator.value.trim();
  app.asked.replaceChildren();
  if (!name || name === record.annotator) {
    app.annotator.value = record.annotator;
    return;
  }
  const isEmpty = !Object.keys(record.labels).length && !Object.keys(record.notes).length;
  if (recordOf(kept, name)) turnTo(app, name);
  else if (isEmpty || !record.annotator) renameTo(app, name);
  else askWhose(app, name);
}

function askWhose(app, name) {
  const { annotator, labels } = app.record;
  const names = { n: Object.keys(labels).length, annotator, name };
  const answer = (key, act) =>
    button(sayGiven(key, names), () => {
      app.foot.problem.textContent = "";
      act(app, name);
    });
  const [start, rename] = [answer("start_empty", turnTo), answer("rename", renameTo)];
  const buttons = el("div", { class: "buttons" }, start, rename);
  app.asked.replaceChildren(notice(sayGiven("labels_by_other", names)), buttons);
}

/** Whether it must first be said whose labels these are; leads there. */
function isAsked(app) {
  const start = app.asked.querySelector("button");
  if (start === null) return false;
  app.foot.problem.textContent = app.asked.firstChild.textContent;
  start.focus();
  return true;
}

function turnTo(app, name) {
  openRecord(app, name);
  keepLabels(app);
  app.asked.replaceChildren();
  goTo(app, app.at);
}

function renameTo(app, name) {
  app.record.annotator = app.kept.annotator = name;
  for (const row of app.sheet.rows)
    if (labelOf(app, row) !== null) app.record.unsaved[rowKey(row)] = true;
  keepLabels(app);
  app.asked.replaceChildren();
  updateLabels(app);
}

function drawLabelRow(app) {
  const { sheet, view, at } = app;
  const row = sheet.rows[at];
  app.row.replaceChildren(
    el("p", { class: "asked", dir: "auto" }, view.asked(sheet)),
    el("h2", { id: "label-title", tabindex: "-1" }, view.title(sheet, at)),
    ...view.parts(app, row).filter(Boolean),
    el("label", { class: "block" }, say("label_note"), noteField(app, row)),
  );
  updateLabels(app);
}

function noteField(app, row) {
  const key = rowKey(row);
  const input = (event) => {
    app.record.notes[key] = event.target.value;
    noteChange(app, row);
  };
  return el("textarea", { rows: 2, dir: "auto", value: app.record.notes[key] ?? "", input });
}

/** What stays at hand below the row. */
function labelFoot(app) {
  const step = (by) => () => goTo(app, app.at + by);
  app.foot = {
    labels: levelButtons(app),
    previous: button(`← ${say("previous")}`, step(-1)),
    next: button(`${say("next")} →`, step(1)),
    progress: el("progress", { max: app.sheet.rows.length, "aria-label": say("labels") }),
    count: el("span", { role: "status" }),
    problem: el("p", { class: "problem", role: "alert" }),
  };
  const { labels, previous, next, progress, count, problem } = app.foot;
  const undo = button(say("label_undo"), () => undoLabel(app), { "aria-keyshortcuts": "u" });
  const download = button(say("download"), () => downloadLabels(app), { class: "primary" });
  return el(
    "div",
    { class: "label-foot" },
    el("div", { class: "group levels", role: "group", "aria-label": say("label") }, labels),
    el("div", { class: "group" }, previous, next, undo),
    el("div", { class: "group" }, progress, count),
    el("div", { class: "group" }, download, app.close && button(say("close"), app.close)),
    problem,
  );
}

/** A button for each level, with the key to press where that is not the level itself. */
function levelButtons(app) {
  const { sheet, view } = app;
  const keys = view.keysOf(sheet);
  return sheet.levels.map((level, at) => {
    const { name, word } = view.buttonOf(sheet, at);
    const isHinted = keys[at] !== name && keys[at].length === 1;
    const parts = [el("b", {}, name), word && el("bdi", {}, ` ${word}`)];
    if (isHinted) parts.push(el("kbd", {}, keys[at]));
    return button(parts, () => setLabel(app, level), {
      class: "label",
      "aria-keyshortcuts": keys[at],
    });
  });
}

/** Brings the foot up to date; its buttons stay, so that focus does. */
function updateLabels(app) {
  const { rows, levels } = app.sheet;
  const label = labelOf(app, rows[app.at]);
  app.foot.labels.forEach((made, at) =>
    made.setAttribute("aria-pressed", String(levels[at] === label)),
  );
  app.foot.previous.disabled = app.at === 0;
  app.foot.next.disabled = app.at === rows.length - 1;
  const n = rows.filter((row) => labelOf(app, row) !== null).length;
  app.foot.progress.value = n;
  const figures = { n, of: rows.length };
  const isDone = n > 0 && isDownloaded(app.record);
  app.foot.count.textContent =
    n === rows.length && !isDone
      ? say("all_labelled", figures)
      : [say("labelled_of", figures), isDone && say("downloaded")].filter(Boolean).join(" · ");
}

function downloadLabels(app) {
  if (isAsked(app)) return;
  if (!app.record.annotator) {
    app.foot.problem.textContent = say("no_annotator");
    app.annotator.focus();
    return;
  }
  const lacking = app.view.lacking(app);
  if (lacking) {
    goTo(app, lacking.at);
    app.foot.problem.textContent = lacking.said;
    return;
  }
  const url = URL.createObjectURL(new Blob([sheetCsv(app)], { type: "text/csv" }));
  el("a", { href: url, download: app.view.fileName(app) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
  app.foot.problem.textContent = "";
  app.record.unsaved = {};
  keepLabels(app);
  updateLabels(app);
}

/** The table as the sheet has it in Python, with labels and notes. */
function sheetCsv(app) {
  const { sheet, view } = app;
  const lines = sheet.rows.map((row) => view.cells(app, row).map(csvCell).join(","));
  return `\ufeff${[view.columns, ...lines].join("\r\n")}\r\n`;
}

/** A text that no spreadsheet takes for a formula, as `quoted` in text/csv_text.py. */
function harmless(text) {
  return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text;
}

function csvCell(text) {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
