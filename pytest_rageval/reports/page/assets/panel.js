// The panel: weights of metrics and documents to change, what flips, and the YAML to keep it.

function panelSection(app) {
  return weightsTried(app, hint(say("panel_hint")));
}

/** The section with the weights, and beside them what they change. */
function weightsTried(app, ...notes) {
  app.panel = {};
  app.panel.changes = el("div", { class: "changes", role: "status", "aria-live": "polite" });
  return section(
    "weights",
    notes,
    weightFields(
      app,
      el("h3", {}, say("what_changes")),
      app.panel.changes,
      yamlOfChanges(app),
      el("div", { class: "buttons" }, panelButtons(app, { class: "primary" })),
    ),
  );
}

/** The inputs for the weights of metrics and documents, and beside them `outcome`. */
function weightFields(app, ...outcome) {
  app.panel.note = el("p", { class: "problem", role: "alert" });
  app.panel.metrics = el(
    "div",
    { class: "weights" },
    app.run.metrics.map((metric) => metricRow(app, metric)),
  );
  app.panel.docs = el("div", { class: "weights" });
  fillDocs(app);
  const panel = el(
    "div",
    { class: "panel" },
    el("fieldset", {}, el("legend", {}, say("metric_weights")), app.panel.metrics),
    app.run.docs.length || app.weights.docs.size
      ? el("fieldset", {}, el("legend", {}, say("doc_weights")), app.panel.docs, docForm(app))
      : null,
    outcome.length ? el("div", { class: "outcome" }, outcome) : null,
  );
  return [panel, app.panel.note];
}

function yamlOfChanges(app) {
  app.panel.yaml = el("textarea", {
    class: "yaml",
    readonly: true,
    rows: 6,
    spellcheck: "false",
    "aria-label": say("changed_yaml"),
  });
  return [el("h3", {}, say("changed_yaml")), app.panel.yaml];
}

function panelButtons(app, attributes) {
  app.panel.copy = button(say("copy_yaml"), () => copyYaml(app), attributes);
  app.panel.reset = button(say("reset"), app.reset);
  return [app.panel.copy, app.panel.reset];
}

function metricRow(app, metric) {
  const weight = app.weights.metrics[metric.name];
  const slider = el("input", {
    type: "range",
    min: "0",
    max: String(Math.max(1, ...app.run.metrics.map((one) => 2 * one.weight))), // one scale for all
    step: "0.01",
    "aria-label": say("slider_of", { name: metric.name }),
    value: String(weight),
    input: (event) => {
      number.value = event.target.value;
      setMetric(app, metric.name, number);
    },
  });
  const number = weightInput(say("weight_of", { name: metric.name }), weight, (input) => {
    slider.max = String(Math.max(Number(slider.max), Number(input.value)));
    slider.value = input.value || String(metric.weight);
    setMetric(app, metric.name, input);
  });
  number.placeholder = String(metric.weight);
  const share = el("span", { class: "share", "data-share": metric.name });
  slider.disabled = number.disabled = takesNoWeight(metric);
  return el(
    "div",
    { class: "weight" },
    el(
      "span",
      { class: "name" },
      given(metric.name),
      slider.disabled ? el("span", { class: "note" }, say("open_range")) : null,
    ),
    slider,
    number,
    share,
  );
}

/** Whether no run would give it a weight: its scores have no closed range, and it has none so far. */
function takesNoWeight({ weight, range }) {
  return weight === 0 && !range.every(Number.isFinite);
}

function weightInput(label, weight, oninput) {
  return el("input", {
    type: "number",
    min: "0",
    step: "any",
    inputmode: "decimal",
    "aria-label": label,
    value: String(weight),
    input: (event) => oninput(event.target),
  });
}

/** The number in an input, `before` in an empty one; null, with the input marked, for no weight. */
function readWeight(app, input, before = NaN) {
  const isEmpty = input.value.trim() === "" && !input.validity.badInput;
  const weight = isEmpty ? before : input.value.trim() === "" ? NaN : Number(input.value);
  const isGood = Number.isFinite(weight) && weight >= 0;
  input.setAttribute("aria-invalid", String(!isGood));
  app.panel.note.textContent = isGood ? "" : say("bad_weight");
  return isGood ? weight : null;
}

function setMetric(app, name, input) {
  const weight = readWeight(app, input, app.run.weights.metrics[name]);
  if (weight === null) return;
  app.weigh({ metrics: { ...app.weights.metrics, [name]: weight }, docs: app.weights.docs });
}

function setDoc(app, name, weight) {
  app.weigh({ metrics: app.weights.metrics, docs: new Map(app.weights.docs).set(name, weight) });
}

function fillDocs(app) {
  const rows = [...app.weights.docs].map(([name, weight]) => docRow(app, name, weight));
  app.panel.docs.replaceChildren(...(rows.length ? rows : [hint(say("no_doc_weights"))]));
}

function docRow(app, name, weight) {
  const before = app.run.weights.docs.get(name) ?? 1;
  const number = weightInput(say("weight_of", { name }), weight, (input) => {
    const given = readWeight(app, input, before);
    if (given !== null) setDoc(app, name, given);
  });
  number.placeholder = String(before);
  const count = samplesOf(app.run, name);
  const remove = button("×", () => removeDoc(app, name), {
    class: "remove",
    "aria-label": say("remove_doc", { name }),
    title: say("remove"),
  });
  const note = count ? say("in_samples", { n: count }) : say("not_in_run");
  return el(
    "div",
    { class: "weight doc" },
    el("span", { class: "name" }, given(name), el("span", { class: "note" }, note)),
    number,
    remove,
  );
}

function samplesOf(run, name) {
  const plain = plainDoc(name);
  return run.docs.reduce((sum, doc) => sum + (doc.plain === plain ? doc.n : 0), 0);
}

function removeDoc(app, name) {
  const docs = new Map(app.weights.docs);
  docs.delete(name);
  app.weigh({ metrics: app.weights.metrics, docs });
  fillDocs(app);
  app.panel.docName.focus();
}

function docForm(app) {
  const options = app.run.docs.slice(0, 500).map((doc) => el("option", { value: doc.name }));
  const name = el("input", {
    type: "text",
    list: "docs",
    autocomplete: "off",
    "aria-label": say("add_doc"),
    placeholder: say("doc"),
    dir: "auto",
  });
  const weight = weightInput(say("weight"), 2, (input) => readWeight(app, input));
  app.panel.docName = name;
  const submit = (event) => {
    event.preventDefault();
    addDoc(app, name, weight);
  };
  return el(
    "form",
    { class: "add", submit },
    name,
    weight,
    el("button", { type: "submit" }, say("add")),
    el("datalist", { id: "docs" }, options),
  );
}

function addDoc(app, nameInput, weightField) {
  const name = nameInput.value.trim();
  const weight = readWeight(app, weightField);
  if (weight === null) return;
  const plain = plainDoc(name);
  const isKnown = [...app.weights.docs.keys()].some((known) => plainDoc(known) === plain);
  if (!name || isKnown) {
    app.panel.note.textContent = say(name ? "doc_known" : "doc_missing");
    nameInput.focus();
    return;
  }
  setDoc(app, name, weight);
  fillDocs(app);
  nameInput.value = "";
  nameInput.focus();
}

function updatePanel(app) {
  updateFields(app, refusalOf);
  app.panel.changes.replaceChildren(...changeList(app));
}

/**
 * Brings what depends on the weights up to date; inputs stay, so that typing is not disturbed.
 * `refusal(app, total)` says why no run would take weights of metrics with this sum.
 */
function updateFields(app, refusal) {
  updateShares(app, refusal);
  const yaml = changedYaml(app);
  app.panel.yaml.value = yaml || say("nothing_changed");
  app.panel.yaml.rows = Math.min(Math.max(yaml.split("\n").length, 3), 14);
  app.panel.copy.disabled = !yaml || app.panel.isRefused;
  app.panel.copy.textContent = say("copy_yaml");
  app.panel.reset.disabled = !isChanged(app);
}

/** The share of each metric, and why no run would take these weights. */
function updateShares(app, refusal) {
  const weights = app.weights.metrics;
  const total = fsum(Object.values(weights));
  for (const share of app.panel.metrics.querySelectorAll("[data-share]")) {
    const part = total > 0 ? (100 * weights[share.dataset.share]) / total : 0;
    share.textContent = say("share", { percent: part.toFixed(part > 0 && part < 10 ? 1 : 0) });
  }
  sayRefusal(app, refusal(app, total));
}

/** Why no run would take these weights, null where it would. */
function refusalOf({ run, state }, total) {
  if (total === 0) return "all_zero";
  const samples = run.all.filter((at) => !run.isInvalid[at]);
  const isAnyCounted = samples.some((at) => state.sampleWeights[at] > 0);
  return samples.length && !isAnyCounted ? "no_sample_weighs" : null;
}

function sayRefusal({ panel }, refusal) {
  if (refusal !== null) panel.note.textContent = say(refusal);
  else if (panel.isRefused) panel.note.textContent = "";
  panel.isRefused = refusal !== null;
}

function isChanged(app) {
  return changedMetrics(app) || changedDocs(app);
}

function changedMetrics(app) {
  return app.run.metrics.some((metric) => app.weights.metrics[metric.name] !== metric.weight);
}

function changedDocs(app) {
  const before = app.run.weights.docs;
  const now = app.weights.docs;
  return before.size !== now.size || [...now].some(([name, weight]) => before.get(name) !== weight);
}

function changeList(app) {
  if (!isChanged(app)) return [el("p", { class: "hint" }, say("nothing_changed"))];
  const { state, run } = app;
  const lines = [
    flipLine(
      nameOf(WEIGHTED),
      figure(run.asRun.summaries[WEIGHTED].weighted_mean),
      figure(state.summaries[WEIGHTED].weighted_mean),
    ),
  ];
  if (run.asRun.verdict.outcome !== state.verdict.outcome) {
    lines.push(
      flipLine(say("verdict"), badge(run.asRun.verdict.outcome), badge(state.verdict.outcome)),
    );
  }
  const flips = [...flippedGates(app), ...flippedSamples(app)];
  return [
    el("ul", { class: "flips" }, lines, flips),
    flips.length ? null : el("p", { class: "hint" }, say("nothing_flips")),
  ].filter(Boolean);
}

function flipLine(name, before, after) {
  return el("li", {}, el("span", { class: "name" }, name), el("span", {}, before, " → ", after));
}

function flippedGates({ state, run }) {
  const outcomes = (gates) => new Map(gates.map((gate) => [gate.name, gate.outcome]));
  const before = outcomes(run.asRun.gates);
  const now = outcomes(state.gates);
  const names = [...new Set([...before.keys(), ...now.keys()])];
  return names
    .filter((name) => (before.get(name) ?? "passed") !== (now.get(name) ?? "passed"))
    .map((name) =>
      flipLine(
        [`${say("gate")} `, given(name)],
        badge(before.get(name) ?? "passed"),
        badge(now.get(name) ?? "passed"),
      ),
    );
}

/** How many samples went from which outcome to which; each can be looked at. */
function flippedSamples(app) {
  const counts = new Map();
  for (const [from, to] of sampleFlips(app)) {
    if (from !== to) counts.set(`${from} ${to}`, (counts.get(`${from} ${to}`) ?? 0) + 1);
  }
  return [...counts].sort().map(([key, n]) => {
    const [before, after] = key.split(" ");
    const show = button(String(n), () => app.showFlipped(before, after), {
      class: "link",
      "aria-label": say("labelled", { name: say("show_samples"), value: n }),
    });
    return el(
      "li",
      {},
      el("span", { class: "name" }, say("samples")),
      el("span", {}, badge(before), " → ", badge(after), " ", show),
    );
  });
}

function sampleFlips({ state, run }) {
  return run.all.map((at) => [run.asRun.outcomes[at], state.outcomes[at]]);
}

async function copyYaml(app) {
  const yaml = app.panel.yaml;
  try {
    await navigator.clipboard.writeText(yaml.value);
    app.panel.copy.textContent = say("copied");
  } catch {
    yaml.focus();
    yaml.select();
    app.panel.copy.textContent = say("select_and_copy");
  }
}

/** The line at the foot of the window while weights differ from those of the run. */
function changedBar(app) {
  const { state, run } = app;
  const before = run.asRun;
  return barOfWeights(app, () => [
    el(
      "span",
      {},
      `${say("weighted_score")} ${figure(before.summaries[WEIGHTED].weighted_mean)} → `,
      el("b", {}, figure(state.summaries[WEIGHTED].weighted_mean)),
    ),
    el(
      "span",
      {},
      badge(before.verdict.outcome),
      before.verdict.outcome === state.verdict.outcome
        ? null
        : [" → ", badge(state.verdict.outcome)],
      state.verdict.isAsRun ? asRunMark() : null,
    ),
  ]);
}

/** That line, hidden where nothing differs, with what `said` returns of what changed. */
function barOfWeights(app, said) {
  const bar = el("div", { class: "changed-bar", role: "region", "aria-label": say("changed") });
  bar.hidden = !isChanged(app);
  if (bar.hidden) return bar;
  bar.append(
    el("span", { class: "name" }, say("changed")),
    ...said(),
    el("a", { href: "#weights" }, say("to_panel")),
    button(say("reset"), app.reset),
  );
  return bar;
}

// Changed weights as YAML that a scenario can take.

/** What to put into the scenario: the two mappings, each whole, where they differ. */
function changedYaml(app) {
  const parts = [];
  if (changedMetrics(app))
    parts.push(yamlMapping("metric_weights", Object.entries(app.weights.metrics)));
  if (changedDocs(app)) parts.push(yamlMapping("doc_weights", [...app.weights.docs]));
  return parts.join("");
}

function yamlMapping(key, entries) {
  if (!entries.length) return `${key}: {}\n`;
  return `${key}:\n${entries.map(([name, weight]) => `  ${yamlText(name)}: ${yamlNumber(weight)}\n`).join("")}`;
}

const YAML_WORDS = /^(y|yes|n|no|on|off|true|false|null)$/i;

/** A plain name as it is, any other in double quotes, with marks spelled out that cannot be seen. */
function yamlText(text) {
  if (/^[A-Za-z][\w.@-]*$/.test(text) && !YAML_WORDS.test(text)) return text;
  return JSON.stringify(text).replace(
    /[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** YAML 1.1 takes 1e-7 for text; 1.0e-7 is a number. */
function yamlNumber(number) {
  const [digits, exponent] = String(number).split("e");
  if (exponent === undefined) return digits;
  return `${digits.includes(".") ? digits : `${digits}.0`}e${exponent}`;
}
