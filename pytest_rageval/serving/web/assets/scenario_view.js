// The chosen scenario: what is known of it, and its weights to change.

/** What the fields for weights work on, made of what the server knows before a run. */
function preparedOutline(outline) {
  const { metrics, docs, doc_weights: weights } = outline;
  const whole = { name: WEIGHTED, higher_is_better: true };
  return {
    outline,
    metrics,
    metric: new Map([whole, ...metrics].map((metric) => [metric.name, metric])),
    docs: Object.entries(docs).map(([name, n]) => ({ name, plain: plainDoc(name), n })),
    weights: {
      metrics: Object.fromEntries(metrics.map(({ name, weight }) => [name, weight])),
      docs: new Map(Object.entries(weights)),
    },
  };
}

/** The weights that are not as in the file, as the server takes them; null: no weight any more. */
function changedWeights(app) {
  const { metrics, docs } = app.weights;
  const file = app.run.weights;
  const changed = app.run.metrics.filter(({ name, weight }) => metrics[name] !== weight);
  return {
    metric_weights: Object.fromEntries(changed.map(({ name }) => [name, metrics[name]])),
    doc_weights: Object.fromEntries([
      ...[...docs].filter(([name, weight]) => file.docs.get(name) !== weight),
      ...[...file.docs.keys()].filter((name) => !docs.has(name)).map((name) => [name, null]),
    ]),
  };
}

/** The weights of the file with those changes laid over that still make sense. */
function withChanges(run, changes) {
  const docs = new Map(run.weights.docs);
  for (const [name, weight] of Object.entries(changes.doc_weights)) {
    if (weight === null) docs.delete(name);
    else docs.set(name, weight);
  }
  const typed = (name) =>
    Object.hasOwn(changes.metric_weights, name) ? changes.metric_weights[name] : undefined;
  const metrics = run.metrics.map(({ name, weight }) => [name, typed(name) ?? weight]);
  return { metrics: Object.fromEntries(metrics), docs };
}

function scenarioHead(app) {
  const { entry, detail } = app;
  const outline = app.run?.outline;
  const facts = [[say("file"), given(entry.shown)]];
  if (hasVariants(app)) facts.push([say("variants"), given(inAList(entry.variants))]);
  if (outline) facts.push([say("data"), sampleWords(outline)]);
  if (outline?.asks.length) facts.push([say("asks"), given(inAList(outline.asks))]);
  return el(
    "section",
    { id: "head" },
    el("a", { href: "#", class: "back" }, `‹ ${say("all_scenarios")}`),
    el("h1", { id: "chosen", tabindex: "-1" }, given(entry.name)),
    description(outline?.description),
    definitions(facts, { class: "facts" }),
    detail === null && !app.readProblem
      ? el("p", { class: "loading", role: "status" }, say("reading"))
      : null,
    (outline?.warnings ?? []).map((text) =>
      notice(sayGiven("labelled", { name: say("warning"), value: serverSaid(text) })),
    ),
    madeNotice(app),
    problemList(app),
    contents(["run", ...(outline ? ["weights", "bounds"] : []), "history", "comparison"], goToPart),
  );
}

/** Leads to a part of the page; the address keeps the scenario. */
function goToPart(event) {
  event.preventDefault();
  const title = document.getElementById(`${event.currentTarget.hash.slice(1)}-title`);
  title.tabIndex = -1;
  title.focus({ preventScroll: true });
  title.scrollIntoView();
}

function sampleWords({ samples, invalid }) {
  return invalid ? say("with_invalid", { n: samples - invalid, invalid }) : grouped(samples);
}

function problemList({ detail, readProblem, reread }) {
  const problems = readProblem ? [readProblem] : (detail?.problems ?? []);
  if (!problems.length) return null;
  return el(
    "div",
    { class: "notice broken", role: "alert" },
    el("p", {}, say("cannot_run")),
    problems.map((text) => el("pre", { class: "text", dir: "auto" }, serverSaid(text))),
    el("p", { class: "buttons" }, button(say("read_again"), reread)),
  );
}

function weightsSection(app) {
  if (app.run === null) return null;
  app.panel = { said: el("p", { class: "note", role: "status" }), wrong: new Map() };
  return section(
    "weights",
    hint(say("editor_hint")),
    ownWeights(app.run.outline),
    weightFields(app),
  );
}

/** Which weights the fields do not offer, because the variants have weights of their own. */
function ownWeights({ own_weights: names }) {
  return names.length ? notice(sayGiven("own_weights", { names: inAList(names) })) : null;
}

/** Brings what depends on the settings up to date. */
function updateSettings(app) {
  if (app.run === null || !app.panel) return;
  updateShares(app, refusalBefore);
  const { write, reset } = app.panel;
  if (write) write.disabled = !hasChanges(app) || isOff(app) || app.isWriting;
  if (reset) reset.disabled = !hasChanges(app);
  updateRunButtons(app);
  redrawBar(app);
}

/** Whether what is typed cannot be run or written; beside the fields it is said why. */
function isOff(app) {
  return Boolean(app.panel?.isRefused || app.isWrong);
}

/** Why no run would take these weights, as far as it is known before a run. */
function refusalBefore({ run, weights }, total) {
  // Other metrics may weigh something in each variant.
  if (total === 0 && !run.outline.own_weights.length) return "all_zero";
  const named = run.docs.reduce((sum, doc) => sum + doc.n, 0);
  const { samples, invalid } = run.outline;
  const isAnyCounted =
    samples - invalid !== named || run.docs.some((doc) => weightOfDoc(doc, weights.docs) > 0);
  return samples > invalid && !isAnyCounted ? "no_sample_weighs" : null;
}

/** Whether a field holds what is no number, or not added yet: it is shown, and nothing is taken. */
function isMistyped({ panel }) {
  const note = document.getElementById("settings-note");
  const pending = document.querySelector("#gates .add input");
  if (pending && (pending.value || pending.validity.badInput)) {
    note.textContent = say("not_added");
    pending.focus();
    return true;
  }
  const fields = ":is(#weights .weight, #bounds .bound) [aria-invalid=true]";
  const field = document.querySelector(fields);
  if (field === null) return false;
  if (field.closest(".weight")) panel.note.textContent = say("bad_weight");
  else note.textContent = say("bad_bound");
  field.focus();
  return true;
}
