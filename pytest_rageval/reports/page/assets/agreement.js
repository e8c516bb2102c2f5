// The judge held against people: how well they agree, where they do not, and corrected means.

const TOO_FEW = 10;

function agreementSection(app) {
  const { agreement, corrected, human } = app.run.data;
  const targets = new Set([...targetsOf(app.run), ...human.map(({ metric }) => metric)]);
  const names = [...targets].filter(
    (target) => Object.hasOwn(agreement, target) || Object.hasOwn(corrected, target),
  );
  if (!names.length) return null;
  return section(
    "agreement",
    hint(say("agreement_hint")),
    names.map((name) => agreementOf(app, name)),
  );
}

function agreementOf(app, name) {
  const { agreement } = app.run.data;
  const found = Object.hasOwn(agreement, name) ? agreement[name] : null;
  const parts = found
    ? [
        el("p", { class: "counts" }, labelCounts(found, isOfCells(app.run, name))),
        el(
          "div",
          { class: "side-by-side" },
          el("div", {}, coefficientTable(name, found)),
          el("div", {}, confusionTable(app, name, found), agreementSlices(name, found)),
        ),
        disagreementTable(app, name, found),
      ]
    : [];
  const means = byPeople(app, name);
  if (!found && !means) return null;
  return el(
    "article",
    { class: "subsection", "data-agreement": name },
    el(
      "h3",
      {},
      given(nameOf(name)),
      name === WEIGHTED && app.state.changed.metrics ? asRunMark() : null,
    ),
    means,
    parts,
  );
}

/** What a level is called: its number, or its word where the labels are of cells. */
function levelOf(app, metric, level) {
  const { levels, names } = app.run.data.human.find((one) => one.metric === metric) ?? {};
  return names?.[levels.indexOf(level)] ?? String(level);
}

/** Whether labels are of cells, of statements held against sources, and not of answers. */
function isOfCells(run, metric) {
  return run.data.human.some((one) => one.metric === metric && one.names?.length);
}

/** A table with a heading; read aloud, its name says of which metric it is. */
function agreementTable(key, metric, heads, rows, kind) {
  const caption = say("labelled", { name: say(key), value: nameOf(metric) });
  return [el("h4", {}, say(key)), table(caption, heads, rows, { class: kind })];
}

function labelCounts(found, hasCells) {
  const [by, stale] = hasCells ? ["labels_of_cells", "cells_stale"] : ["labels_by", "labels_stale"];
  const counts = [
    say(by, { n: found.n, annotators: found.annotators }),
    found.n < TOO_FEW ? say("too_few_labels") : null,
    found.split ? say("labels_split", { n: found.split }) : null,
    found.stale ? say(stale, { n: found.stale }) : null,
    found.unscored ? say("labels_unscored", { n: found.unscored }) : null,
    found.unlabelled ? say("labels_none", { n: found.unlabelled }) : null,
  ];
  return counts.filter(Boolean).map((text) => el("span", {}, text));
}

const COEFFICIENTS = [
  ...["kappa", "weighted_kappa", "ac1", "ac2", "sensitivity", "specificity"],
  ...["spearman", "kendall", "auc", "bias", "alpha"],
];
const OF_TWO_LEVELS = ["sensitivity", "specificity", "auc"];
const OF_MORE_LEVELS = ["weighted_kappa", "ac2"];

function coefficientTable(metric, found) {
  const others = found.levels.length > 2 ? OF_TWO_LEVELS : OF_MORE_LEVELS;
  const isSaid = (name) => found[name] !== null || Object.hasOwn(found.why, name);
  const shown = COEFFICIENTS.filter((name) => !others.includes(name) && isSaid(name));
  const rows = shown.map((name) => {
    const [low, high] = [found[`${name}_low`] ?? null, found[`${name}_high`] ?? null];
    const sign = name === "bias" ? signed : fixed;
    return el(
      "tr",
      { "data-coefficient": name },
      el("th", { scope: "row" }, say(`agreement_${name}`)),
      el("td", { class: "number" }, found[name] === null ? "–" : sign(found[name])),
      el("td", { class: "number" }, low === null ? "" : `${sign(low)} – ${sign(high)}`),
      el("td", { class: "message" }, coefficientRemark(found, name)),
    );
  });
  const figures = ["value", "interval"].map((key) => numberHead(say(key)));
  const heads = [say("coefficient"), ...figures, say("details")];
  return agreementTable("coefficients", metric, heads, rows, "judged");
}

function coefficientRemark(found, name) {
  if (found[name] === null) return runSaid(found.why[name]);
  const isKappa = name === (found.levels.length > 2 ? "weighted_kappa" : "kappa");
  return isKappa && found.ceiling !== null ? say("ceiling", { kappa: fixed(found.ceiling) }) : "";
}

/** People in rows, the judge in columns; each cell leads to its samples. */
function confusionTable(app, metric, { levels, confusion, cells }) {
  if (!confusion.length) return null;
  const name = (level) => levelOf(app, metric, level);
  const heads = [say("people_and_judge"), ...levels.map((level) => numberHead(name(level)))];
  const cell = (row, column) => {
    const n = confusion[row][column];
    const at = cells[`${row},${column}`] ?? [];
    const wanted = { metric, human: name(levels[row]), judge: name(levels[column]) };
    const show = () => app.showCell({ ...wanted, samples: new Set(at) });
    const label = say("labelled", { name: say("cell", wanted), value: n });
    const made = at.length ? button(String(n), show, { class: "link", "aria-label": label }) : n;
    return el("td", { class: row === column ? "number agreed" : "number" }, made);
  };
  const rows = levels.map((level, row) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, name(level)),
      levels.map((_, column) => cell(row, column)),
    ),
  );
  return agreementTable("confusion", metric, heads, rows, "confusion");
}

function disagreementTable(app, metric, { disagreements }) {
  if (!disagreements.length) return null;
  const { question, answer } = app.run.data;
  const shown = (number) =>
    el("td", { class: "asked" }, el("span", { dir: "auto" }, beginning(app.run, number)));
  const rows = disagreements.map((one) => {
    const hasCells = isOfCells(app.run, metric);
    const id = hasCells ? one.sample_id : app.run.data.samples.id[one.at];
    const open = button(given(id), () => app.openSample(one.at), {
      class: "link",
      "aria-label": say("open_sample", { id }),
    });
    const most = { n: one.agreeing, of: one.annotators };
    const cell = (key, ...text) => el("td", { class: "number", "data-name": say(key) }, text);
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, open),
      shown(question[one.at]),
      shown(answer[one.at]),
      cell(
        "people",
        levelOf(app, metric, one.human),
        one.annotators > 1 ? el("span", { class: "note" }, ` ${say("people_agreeing", most)}`) : null,
      ),
      cell("judge", levelOf(app, metric, one.judge)),
      cell("score", fixed(one.score)),
      el("td", { class: "message" }, given(one.reason)),
    );
  });
  const figures = ["people", "judge", "score"].map((key) => numberHead(say(key)));
  const heads = [say("id"), say("question"), say("answer"), ...figures, say("reason")];
  return agreementTable("disagreements", metric, heads, rows, "judged");
}

function agreementSlices(metric, { slices }) {
  if (!slices.length) return null;
  const rows = slices.flatMap(([field, values]) =>
    values.map(([value, n, kappa]) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, given(field === "doc_name" ? say("doc") : field)),
        el("td", {}, given(value)),
        el("td", { class: "number" }, String(n)),
        el("td", { class: "number" }, n < TOO_FEW ? say("too_few_here") : figure(kappa)),
      ),
    ),
  );
  const heads = [say("field"), say("value"), numberHead("n"), numberHead(say("kappa"))];
  return agreementTable("agreement_slices", metric, heads, rows, "agreement-slices");
}

/**
 * The mean that labels give, under the judge's own; null where there is none, or where other
 * weights of metrics make other weighted scores.
 */
function byPeople(app, name) {
  const found = correctedOf(app, name);
  if (!found) return null;
  const { mean, ci_low: low, ci_high: high, labels, worth, why } = found;
  const ends = low === null ? "" : ` (${fixed(low)} – ${fixed(high)})`;
  const said =
    mean === null
      ? runSaid(why)
      : [`${fixed(mean)}${ends}`, say("n_labels", { n: labels }), worthWords(worth), runSaid(why)]
          .filter(Boolean)
          .join(say("comma"));
  const text = say("labelled", { name: say("by_people"), value: said });
  return el("p", { class: "by-people" }, text, app.state.changed.docs ? asRunMark() : null);
}

function correctedOf({ run, state }, name) {
  const { corrected } = run.data;
  const isOfRun = name === WEIGHTED && state.changed.metrics;
  return Object.hasOwn(corrected, name) && !isOfRun ? corrected[name] : null;
}

/** The same mean alone, which leads where there is one: gates may judge it. */
function peoplesMean(app, name) {
  return correctedOf(app, name)?.mean ?? null;
}

function worthWords(worth) {
  return worth === null ? "" : say("worth", { n: Math.round(worth) });
}

/** What people said of a sample, for its detail. */
function peopleBlock(run, at) {
  const said = run.data.human.flatMap(({ metric, levels, names, labels }) =>
    labels
      .filter(([sample]) => sample === at)
      .map(([, annotator, level, isStale, cell]) =>
        el(
          "li",
          {},
          given(cell || nameOf(metric)),
          ` ${names[levels.indexOf(level)] ?? level} · `,
          given(annotator),
          isStale ? el("span", { class: "note" }, ` (${say("stale_label")})`) : null,
        ),
      ),
  );
  return said.length ? block("people", el("ul", { class: "people" }, said)) : null;
}
