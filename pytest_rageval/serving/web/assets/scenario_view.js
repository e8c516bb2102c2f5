// The chosen scenario: what is known of it, its weights to change, its thresholds and gates.

/** What the fields for weights work on, made of what the server knows before a run. */
function preparedOutline(outline) {
  const { metrics, docs, doc_weights: weights } = outline;
  const whole = { name: WEIGHTED, higher_is_better: true };
  return {
    outline,
    metrics,
    metric: new Map([whole, ...metrics].map((metric) => [metric.name, metric])),
    docs: Object.entries(docs).map(([name, n]) => ({ name, nfc: name.normalize("NFC"), n })),
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
  if (hasVariants(app)) facts.push([say("variants"), given(entry.variants.join(", "))]);
  if (outline) facts.push([say("data"), sampleWords(outline)]);
  if (outline?.asks.length) facts.push([say("asks"), given(outline.asks.join(", "))]);
  return el(
    "section",
    { id: "head" },
    el("a", { href: "#", class: "back" }, `‹ ${say("all_scenarios")}`),
    el("h1", { id: "chosen", tabindex: "-1" }, given(entry.name)),
    outline?.description
      ? el("p", { class: "description", dir: "auto" }, outline.description)
      : null,
    definitions(facts, { class: "facts" }),
    detail === null && !app.readProblem
      ? el("p", { class: "loading", role: "status" }, say("reading"))
      : null,
    (outline?.warnings ?? []).map((text) =>
      notice(sayGiven("labelled", { name: say("warning"), value: text })),
    ),
    problemList(app),
    contentsOf(["run", ...(outline ? ["weights", "bounds"] : []), "history", "comparison"]),
  );
}

/** Links to the parts of the page; the address keeps the scenario. */
function contentsOf(ids) {
  const go = (event) => {
    event.preventDefault();
    const title = document.getElementById(`${event.currentTarget.hash.slice(1)}-title`);
    title.tabIndex = -1;
    title.focus({ preventScroll: true });
    title.scrollIntoView();
  };
  const link = (id) => el("li", {}, el("a", { href: `#${id}`, click: go }, say(id)));
  return el("nav", { class: "contents", "aria-label": say("sections") }, el("ul", {}, ids.map(link)));
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
    problems.map((text) => el("pre", { class: "text", dir: "auto" }, text)),
    el("p", { class: "buttons" }, button(say("read_again"), reread)),
  );
}

function weightsSection(app) {
  if (app.run === null) return null;
  app.panel = { said: el("p", { class: "note", role: "status" }) };
  app.panel.write = button(say("write_yaml"), () => writeYaml(app), { class: "primary" });
  return section(
    "weights",
    hint(say("editor_hint")),
    ownWeights(app.run.outline),
    weightFields(
      app,
      yamlOfChanges(app),
      el("div", { class: "buttons" }, app.panel.write, panelButtons(app)),
      app.panel.said,
    ),
  );
}

/** Which weights the fields do not offer, because the variants have weights of their own. */
function ownWeights({ own_weights: names }) {
  return names.length ? notice(sayGiven("own_weights", { names: names.join(", ") })) : null;
}

/** Brings what depends on the weights up to date. */
function updateWeights(app) {
  if (app.run === null) return;
  updateFields(app, refusalBefore);
  app.panel.write.disabled = !isChanged(app) || app.panel.isRefused || app.isWriting;
  updateRunButtons(app);
  redrawBar(app);
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

/** Whether a field holds what is no weight: it is shown then, and the old weight is not taken. */
function isMistyped({ panel }) {
  const field = document.querySelector("#weights .weight [aria-invalid=true]");
  if (field === null) return false;
  panel.note.textContent = say("bad_weight");
  field.focus();
  return true;
}

async function writeYaml(app) {
  if (isMistyped(app)) return;
  const { panel, chosen } = app;
  app.isWriting = true;
  panel.write.disabled = true;
  panel.note.textContent = "";
  try {
    const body = { digest: app.detail.digest, ...changedWeights(app) };
    const { changed } = await ask(api("scenarios", chosen, "weights"), { method: "POST", body });
    app.forget(chosen);
    await app.loadDetail(chosen);
    if (app.chosen !== chosen) return;
    const keys = changed.join(", ");
    app.panel.said.replaceChildren(
      ...(keys ? sayGiven("written", { keys }) : [say("nothing_written")]),
    );
  } catch (refusal) {
    if (isForAll(app, refusal) || app.chosen !== chosen) return;
    app.panel.note.replaceChildren(given(refusal.message), " ");
    if (refusal.status === 409) app.panel.note.append(button(say("read_again"), app.reread));
  } finally {
    app.isWriting = false;
    updateWeights(app);
  }
}

function boundsSection(app) {
  if (app.run === null) return null;
  const variants = app.detail.variants.filter(({ outline }) => outline);
  const parts = variants.map(({ name, outline }) => [name, boundsOf(outline), keyOfBounds(outline)]);
  const isOne = new Set(parts.map(([, , key]) => key)).size < 2;
  if (isOne) return section("bounds", boundsOf(variants[0]?.outline ?? app.run.outline));
  return section(
    "bounds",
    parts.map(([name, bounds]) => [el("h3", { class: "subsection" }, given(name)), bounds]),
  );
}

function keyOfBounds({ metrics, weighted_threshold: whole, gates, bands }) {
  const thresholds = metrics.map(({ name, threshold }) => [name, threshold]);
  return JSON.stringify([thresholds, whole, gates, bands]);
}

function boundsOf(outline) {
  const thresholds = [{ name: WEIGHTED, threshold: outline.weighted_threshold }, ...outline.metrics]
    .filter(({ threshold }) => threshold !== null)
    .map(({ name, threshold }) => [given(nameOf(name)), boundWords(threshold)]);
  const gates = [...gateLines([], outline.gates)].map(([path, value]) => [given(path), given(value)]);
  const [good, warn] = outline.bands.map(short);
  return [
    el(
      "div",
      { class: "bounds" },
      boundList("each_sample", thresholds),
      boundList("whole_scenario", gates),
    ),
    el("p", { class: "note" }, say("bands_are", { good, warn })),
  ];
}

function boundList(key, pairs) {
  const none = el("p", { class: "none" }, say("no_bounds"));
  return el(
    "div",
    { class: "outcome" },
    el("h3", {}, say(key)),
    pairs.length ? definitions(pairs, { class: "pairs" }) : none,
  );
}

function boundWords({ min, max }) {
  const ends = [
    min === null ? null : say("from", { min: short(min) }),
    max === null ? null : say("up_to", { max: short(max) }),
  ];
  return ends.filter(Boolean).join(say("comma"));
}

/** The gates as the scenario writes them, one line for each mapping that holds no other. */
function* gateLines(path, value) {
  const isMapping = (one) => one !== null && typeof one === "object" && !Array.isArray(one);
  if (!isMapping(value)) {
    yield [path.join("."), gateValue(value)];
    return;
  }
  const entries = Object.entries(value);
  const plain = entries.filter(([, inner]) => !isMapping(inner));
  if (path.length && plain.length) {
    yield [path.join("."), plain.map(([key, inner]) => `${key} ${gateValue(inner)}`).join(", ")];
  } else {
    for (const [key, inner] of plain) yield [key, gateValue(inner)];
  }
  for (const [key, inner] of entries) if (isMapping(inner)) yield* gateLines([...path, key], inner);
}

function gateValue(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
