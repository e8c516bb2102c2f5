// One sample in a dialog: what was asked, answered, retrieved and expected, and what metrics say.

function openDetail(app, at) {
  const dialog = app.dialog;
  dialog.replaceChildren(...detailOf(app, at).filter(Boolean)); // null would be its text
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
  dialog.querySelector("h2").focus();
}

function detailOf(app, at) {
  const { run, state } = app;
  const { data } = run;
  const position = app.found.indexOf(at);
  const step = (by) => () => openDetail(app, app.found[position + by]);
  const remarks = remarksOf(run, at);
  const of = (kind) => remarks.filter((remark) => remark.kind === kind);
  return [
    el(
      "div",
      { class: "dialog-bar" },
      button(say("previous"), step(-1), { disabled: position <= 0 }),
      button(say("next"), step(1), { disabled: position < 0 || position === app.found.length - 1 }),
      button(say("close"), () => app.dialog.close(), { class: "primary" }),
    ),
    el("h2", { tabindex: "-1", id: "detail-title" }, given(data.samples.id[at])),
    el(
      "p",
      { class: "counts" },
      stateBadge(state, at),
      " ",
      `${say("weighted_score")} `,
      bandedScore(run, WEIGHTED, state.weighted[at]),
      state.sampleWeights[at] === 1
        ? null
        : ` · ${say("sample_weight")} ${short(state.sampleWeights[at])}`,
    ),
    ...of("error")
      .filter((remark) => !metricOf(run, remark.name))
      .map((remark) =>
        block("error_text", [
          el("p", { class: "note" }, given(remark.name)),
          longText(run, remark.text),
        ]),
      ),
    block("question", textOrNone(run, data.question[at])),
    block("answer", textOrNone(run, data.answer[at])),
    block("references", listOf(run, data.references[at])),
    supportBlock(run, at),
    block("scores", detailScores(app, at, remarks)),
    peopleBlock(run, at),
    ...causeBlocks(run, remarks),
    block("contexts", listOf(run, data.contexts[at])),
    metadataBlock(run, at),
    ...of("details").map((remark) =>
      el(
        "details",
        {},
        el("summary", {}, sayGiven("details_of", { name: remark.name })),
        detailsText(run, remark.text),
      ),
    ),
    ...of("raw").map((remark) =>
      el(
        "details",
        {},
        el("summary", {}, say("raw_row", { place: placeOf(remark.name) })),
        longText(run, remark.text),
      ),
    ),
  ];
}

const KINDS = ["error", "reason", "details", "raw", "cause"];

/** What was said of a sample: {kind, name, text}; the data have the remarks by sample, in order. */
function remarksOf(run, at) {
  const { remarks, remark_names: names } = run.data;
  let [first, end] = [0, remarks.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (remarks[middle][0] < at) first = middle + 1;
    else end = middle;
  }
  while (remarks[end]?.[0] === at) end += 1;
  return remarks
    .slice(first, end)
    .map(([, kind, name, text]) => ({ kind: KINDS[kind], name: names[name], text }));
}

/** "row 3" or "row 3, line 4", as the run says it, in the language of the page. */
function placeOf(text) {
  const [row, line] = text.match(/\d+/g);
  return line ? say("line_place", { row, line }) : say("row_place", { row });
}

function causeBlocks(run, remarks) {
  return remarks
    .filter(({ kind }) => kind === "cause")
    .map(({ name, text }) => block("cause", toldCause(run, name, text)));
}

/** The reason for the cause, in the page's language; beside English text, the cause in general. */
function toldCause(run, name, number) {
  const text = run.data.texts[number];
  const said = typeof text === "string" && text ? causeSaid(text) : null;
  if (said === null) return [el("p", {}, say(`cause_${name}`)), longText(run, number)];
  return el("p", {}, sayGiven("labelled", { name: say(`value_${name}`), value: said }));
}

function textOrNone(run, number) {
  return number < 0 ? noText() : longText(run, number);
}

/** Numbers of texts as a list; a negative one at the end says how many more there are. */
function listOf(run, numbers) {
  if (numbers === null || !numbers.length) return noText();
  const shown = numbers.filter((number) => number >= 0);
  const more =
    numbers.length > shown.length
      ? el("p", { class: "note" }, say("more_items", { n: -numbers.at(-1) }))
      : null;
  return [textList(shown.map((number) => longText(run, number))), more];
}

function detailScores({ run, state }, at, remarks) {
  const rows = targetsOf(run).map((target) => {
    const said = remarks.filter(
      (remark) => remark.name === target && (remark.kind === "reason" || remark.kind === "error"),
    );
    const missed = state.shortfalls[at].filter((shortfall) => shortfall.name === target);
    const threshold = run.data.scenario.thresholds.find(([name]) => name === target);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, given(nameOf(target))),
      el("td", { class: "number" }, bandedScore(run, target, scoresOf(state, target)[at])),
      el(
        "td",
        { class: "number" },
        target === WEIGHTED ? "" : short(state.weights.metrics[target]),
      ),
      el(
        "td",
        {},
        threshold ? thresholdText(threshold) : "",
        missed.map(({ ends }) => [" ", badge("bad", {}, ends ? "missed" : "refused")]),
      ),
      el(
        "td",
        { class: "said" },
        said.map((remark) => [
          el(
            "span",
            { class: remark.kind === "error" ? "badge error" : "note" },
            remark.kind === "error"
              ? [signOf("⚠"), " ", say("error_text")]
              : say("reason"),
          ),
          longText(run, remark.text),
        ]),
      ),
    );
  });
  return table(
    say("scores"),
    [
      say("metric"),
      numberHead(say("score")),
      numberHead(say("weight")),
      say("threshold"),
      say("details"),
    ],
    rows,
    { class: "scores" },
  );
}

function thresholdText([, min, max]) {
  const ends = [min === null ? null : `≥ ${short(min)}`, max === null ? null : `≤ ${short(max)}`];
  return ends.filter(Boolean).join(", ");
}

function metadataBlock(run, at) {
  const rows = [...run.fields.values()]
    .filter((field) => !isCause(run, field.name)) // it has a block of its own
    .map((field) => [field.name, field.values[field.at[at]]])
    .filter(([, value]) => textAt(run, value) !== "(none)")
    .map(([name, value]) =>
      el(
        "div",
        {},
        el("dt", {}, given(name === "doc_name" ? say("doc") : name)),
        el("dd", {}, longText(run, value)),
      ),
    );
  return rows.length ? block("metadata", el("dl", { class: "metadata" }, rows)) : null;
}

/** JSON, spread over lines where it is whole. */
function detailsText(run, number) {
  const text = run.data.texts[number];
  if (typeof text !== "string") return longText(run, number);
  return el(
    "pre",
    { class: "text", dir: "auto", tabindex: "0" },
    JSON.stringify(JSON.parse(text), null, 2),
  );
}
