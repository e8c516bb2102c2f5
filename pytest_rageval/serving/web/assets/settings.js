// Thresholds and gates to edit in place: fields, what the server says of them, and the way to the file.

const CHECK_AFTER_MS = 400;

function keyOfPath(path) {
  return JSON.stringify(path);
}

/** The number that stands in a field: what was typed, else the file's; null for none. */
function shownBound(app, path, ofFile) {
  const found = app.edited.get(keyOfPath(path));
  return found === undefined ? ofFile : found.value;
}

function boundsSection(app) {
  if (app.run === null) return null;
  const variants = app.detail.variants.filter(({ outline }) => outline);
  const parts = variants.map(({ name, outline }) => [name, outline, keyOfBounds(outline)]);
  const isOne = new Set(parts.map(([, , key]) => key)).size < 2;
  if (isOne) return section("bounds", editedBounds(app));
  return section(
    "bounds",
    hint(say("bounds_of_variants")),
    parts.map(([name, outline]) => [el("h3", { class: "subsection" }, given(name)), boundsOf(outline)]),
  );
}

function keyOfBounds({ metrics, weighted_threshold: whole, gates, bands }) {
  const thresholds = metrics.map(({ name, threshold }) => [name, threshold]);
  return JSON.stringify([thresholds, whole, gates, bands]);
}

function editedBounds(app) {
  const { outline } = app.run;
  const [good, warn] = outline.bands.map(short);
  app.panel.wrong = new Map();
  return [
    el(
      "div",
      { class: "bounds" },
      el("fieldset", { id: "gates" }, el("legend", {}, say("whole_scenario")), gateFields(app)),
      el("fieldset", { id: "thresholds" }, el("legend", {}, say("each_sample")), thresholdFields(app)),
    ),
    el("p", { class: "note" }, say("bands_are", { good, warn })),
    wrongAt(app, []),
    el("p", { class: "problem", role: "alert", id: "settings-note" }),
    el("div", { class: "buttons" }, settingButtons(app)),
    app.panel.said,
  ];
}

function settingButtons(app) {
  app.panel.write = button(say("write_yaml"), () => writeYaml(app), { class: "primary" });
  app.panel.reset = button(say("reset"), app.reset);
  return [app.panel.write, app.panel.reset];
}

// Thresholds

function thresholdFields(app) {
  const { outline } = app.run;
  const whole = { name: WEIGHTED, threshold: outline.weighted_threshold };
  return [whole, ...outline.metrics].map(({ name, threshold }) => {
    const ends = ["min", "max"].map((end) => {
      const label = say(`threshold_${end}`, { name: nameOf(name) });
      return boundField(app, ["thresholds", name, end], threshold?.[end] ?? null, label, say(`short_${end}`));
    });
    return el("div", { class: "bound-row threshold" }, el("span", { class: "name" }, given(nameOf(name))), ends, wrongAt(app, ["thresholds", name]));
  });
}

/** A field for a number. Emptied, it means the file's value again. */
function boundField(app, path, ofFile, label, words = "") {
  const key = keyOfPath(path);
  const shown = shownBound(app, path, ofFile);
  const input = el("input", {
    type: "number",
    step: "any",
    inputmode: "decimal",
    "aria-label": label,
    placeholder: ofFile === null ? "–" : String(ofFile),
    value: shown === null ? "" : String(shown),
    input: () => {
      const isEmpty = input.value === "" && !input.validity.badInput;
      const isGood = isEmpty || input.value !== "";
      input.setAttribute("aria-invalid", String(!isGood));
      if (isEmpty || Number(input.value) === ofFile) app.edited.delete(key);
      else if (isGood) app.edited.set(key, { path, value: Number(input.value) });
      settingsEdited(app);
    },
  });
  return el("label", { class: "bound" }, words ? el("span", { class: "note" }, words) : null, input);
}

/** Where it is said what is wrong with the setting at a path. */
function wrongAt(app, path) {
  const line = el("p", { class: "problem", role: "alert" });
  app.panel.wrong.set(keyOfPath(path), line);
  return line;
}

// Gates

const FILE_KINDS = new Set(["agreement", "aurc", "compare_fail", "no_regression", "quantile", "selective"]);

/** The path and the number of each gate that is only a bound, as the server sees them. */
function* plainGates(gates, above = []) {
  for (const [name, value] of Object.entries(gates)) {
    const path = [...above, name];
    if (typeof value === "number") yield [path, value];
    else if (value !== null && typeof value === "object" && !Array.isArray(value) && !FILE_KINDS.has(name))
      yield* plainGates(value, path);
  }
}

/** The gates without those that are only bounds: they are shown, and changed in the file. */
function otherGates(gates) {
  const rest = {};
  for (const [name, value] of Object.entries(gates)) {
    if (typeof value === "number") continue;
    const isMapping = value !== null && typeof value === "object" && !Array.isArray(value);
    if (!isMapping || FILE_KINDS.has(name)) rest[name] = value;
    else if (Object.keys(otherGates(value)).length) rest[name] = otherGates(value);
  }
  return rest;
}

function gateFields(app) {
  const { gates } = app.run.outline;
  const ofFile = new Map([...plainGates(gates)].map(([path, value]) => [keyOfPath(path), { path, value }]));
  const added = [...app.edited.values()].filter(
    ({ path }) => path[0] === "gates" && !ofFile.has(keyOfPath(path.slice(1))),
  );
  const rows = [
    ...[...ofFile.values()].map(({ path, value }) => gateField(app, path, value)),
    ...added.map(({ path }) => gateField(app, path.slice(1), null)),
  ];
  const others = [...gateLines([], otherGates(gates))].map(([path, value]) => [given(path), given(value)]);
  return [
    rows.length ? rows : hint(say("no_gates")),
    comparedRuns(app),
    others.length ? [definitions(others, { class: "pairs" }), el("p", { class: "note" }, say("in_the_file"))] : null,
    addGateForm(app, ofFile),
  ];
}

/** The saved runs that a run is compared with, the pinned ones with their looks; null for none. */
function comparedRuns(app) {
  const { compare } = app.run.outline;
  const names = compare.map(({ name, looks }) => (looks > 1 ? sayGiven("pinned_run", { name, looks }) : given(name)));
  const listed = names.flatMap((name, at) => (at ? [", ", name] : [name]));
  return names.length ? el("p", { class: "note" }, say("compared_with"), " ", listed) : null;
}

function gateField(app, path, ofFile) {
  const whole = ["gates", ...path];
  const key = keyOfPath(whole);
  const name = gateName(path);
  const isRemoved = app.edited.get(key)?.value === null;
  const toggle = () => {
    if (ofFile === null || isRemoved) app.edited.delete(key);
    else app.edited.set(key, { path: whole, value: null });
    app.redraw("bounds");
    settingsEdited(app);
    document.querySelector(`[data-gate="${CSS.escape(key)}"] button, #gates select`)?.focus();
  };
  const words = isRemoved ? say("undo") : "×";
  const label = say(isRemoved ? "keep_gate" : "remove_gate", { name });
  return el(
    "div",
    { class: `bound-row gate${isRemoved ? " removed" : ""}`, "data-gate": key },
    el("span", { class: "name" }, gateWords(app, path)),
    isRemoved ? el("del", {}, String(ofFile)) : boundField(app, whole, ofFile, name),
    button(words, toggle, { class: isRemoved ? "link" : "remove", "aria-label": label, title: label }),
    wrongAt(app, whole),
  );
}

function gateName(path) {
  return path.join(" › ");
}

/** Whether a bare number for a gate of this metric is the most that it may be. */
function isLowBetter(app, metric) {
  return app.run.metric.get(metric)?.higher_is_better === false;
}

/** A gate as the file has it, with what it bounds below. */
function gateWords(app, path) {
  const isBy = path[0] === "by";
  const inner = isBy ? path.slice(2) : path;
  const kind = ["lower_bound", "pass_rate", "unscored", "invalid"].find((one) => inner.includes(one));
  const isMost = inner.at(-1) === "max" || (inner.at(-1) !== "min" && isLowBetter(app, inner[0]));
  const bounds = { mean: isMost ? "most" : "mean", lower_bound: isMost ? "upper_bound" : "lower_bound" };
  const what = say(`gate_${bounds[kind ?? "mean"] ?? kind}`);
  const where = isBy ? sayGiven("gate_by", { field: path[1], what }) : what;
  return [given(inner.join(" › ")), el("span", { class: "note" }, where)];
}

function addGateForm(app, ofFile) {
  const { metrics, groups } = app.run.outline;
  const names = [WEIGHTED, ...metrics.map(({ name }) => name)];
  const offered = [
    ["gate_of_means", names.map((name) => [name])],
    ["gate_of_ends", names.map((name) => [name, "lower_bound"])],
    ["gate_of_all", [["pass_rate"], ["unscored"], ["invalid"]]],
    ...groups.map((field) => [field, names.map((name) => ["by", field, name])]),
  ];
  const isThere = (path) => {
    const [name, ...more] = path;
    const known = [path, ...(more.length ? [] : [[name, "mean"], [name, "min"], [name, "max"]])];
    return known.some((one) => ofFile.has(keyOfPath(one)) || app.edited.has(keyOfPath(["gates", ...one])));
  };
  const groupsOf = offered.map(([key, paths], at) => {
    const label = at < 3 ? say(key) : say("gate_of_groups", { field: key });
    const nameIn = (path) => {
      if (at === 2) return say(`gate_${path[0]}`);
      const name = path[at < 3 ? 0 : 2];
      return `${nameOf(name)} – ${at === 1 && isLowBetter(app, name) ? say("gate_of_upper_ends") : label}`;
    };
    const options = paths.filter((path) => !isThere(path)).map((path) => el("option", { value: keyOfPath(path) }, nameIn(path)));
    return options.length ? el("optgroup", { label }, options) : null;
  });
  const select = el("select", { "aria-label": say("add_gate") }, groupsOf);
  const bound = el("input", { type: "number", step: "any", inputmode: "decimal", "aria-label": say("bound"), placeholder: "0.5" });
  const submit = (event) => {
    event.preventDefault();
    if (!select.value || bound.value === "") return bound.focus();
    const path = ["gates", ...JSON.parse(select.value)];
    app.edited.set(keyOfPath(path), { path, value: Number(bound.value) });
    app.redraw("bounds");
    settingsEdited(app);
    document.querySelector("#gates select")?.focus();
  };
  return el("form", { class: "add", submit }, select, bound, el("button", { type: "submit" }, say("add")));
}

// What is sent

/** All that is not as in the file, as the server takes it. */
function changedSettings(app) {
  const thresholds = {};
  const gates = [];
  const { outline } = app.run;
  const ofFile = new Map(outline.metrics.map(({ name, threshold }) => [name, threshold]));
  ofFile.set(WEIGHTED, outline.weighted_threshold);
  for (const { path, value } of app.edited.values()) {
    if (path[0] === "gates") gates.push([path.slice(1), value]);
    else {
      const [, name, end] = path;
      thresholds[name] ??= { min: null, max: null, ...ofFile.get(name) };
      thresholds[name][end] = value;
    }
  }
  return { ...changedWeights(app), thresholds, gates };
}

function hasChanges(app) {
  return isChanged(app) || app.edited.size > 0;
}

/** Something was edited: kept over a reload, and looked at by the server once the typing rests. */
function settingsEdited(app) {
  keepEdits(app);
  updateSettings(app);
  window.clearTimeout(app.checking);
  app.checking = window.setTimeout(() => checkSettings(app), CHECK_AFTER_MS);
}

/** One check at a time; what is edited meanwhile is looked at once more. */
async function checkSettings(app) {
  app.isUnchecked = true;
  if (app.isChecking) return;
  app.isChecking = true;
  try {
    while (app.isUnchecked) {
      app.isUnchecked = false;
      await checkOnce(app);
    }
  } finally {
    app.isChecking = false;
  }
}

async function checkOnce(app) {
  const { chosen } = app;
  if (app.run === null || chosen === null) return;
  let problems = [];
  try {
    if (hasChanges(app) && !app.panel.isRefused) {
      const body = changedSettings(app);
      problems = (await ask(api("scenarios", chosen, "settings", "check"), { method: "POST", body })).problems;
    }
  } catch (refusal) {
    if (isForAll(app, refusal)) return;
    problems = [{ path: [], text: refusal.message }];
  }
  if (app.chosen !== chosen || !app.panel?.wrong) return;
  app.isWrong = problems.length > 0;
  showProblems(app, problems);
  updateSettings(app);
}

/** Each problem beside its field, what is of no field below them all. */
function showProblems({ panel }, problems) {
  for (const line of panel.wrong.values()) line.textContent = "";
  for (const { path, text } of problems) {
    const line = panel.wrong.get(keyOfPath(path));
    const words = serverSaid(line ? text.replace(`${path.join(".")}: `, "") : text);
    (line ?? panel.wrong.get("[]")).textContent += `${words} `;
  }
}

/** Writes what is edited; a run that is started meanwhile waits for it. */
function writeYaml(app) {
  app.writing = writeEdited(app);
}

async function writeEdited(app) {
  if (isMistyped(app)) return;
  const { panel, chosen } = app;
  const note = document.getElementById("settings-note") ?? panel.note;
  app.isWriting = true;
  panel.write.disabled = true;
  note.textContent = "";
  try {
    const body = { digest: app.detail.digest, ...changedSettings(app) };
    const { changed } = await ask(api("scenarios", chosen, "settings"), { method: "POST", body });
    app.forget(chosen);
    await app.loadDetail(chosen);
    if (app.chosen !== chosen) return;
    const keys = inAList(changed);
    app.panel.said.replaceChildren(
      ...(keys ? sayGiven("written", { keys }) : [say("nothing_written")]),
    );
  } catch (refusal) {
    if (isForAll(app, refusal) || app.chosen !== chosen) return;
    note.replaceChildren(given(serverSaid(refusal.message)), " ");
    if (refusal.status === 409) note.append(button(say("read_again"), app.reread));
  } finally {
    app.isWriting = false;
    updateSettings(app);
  }
}

// As text, where they are not edited

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
      boundList("whole_scenario", gates),
      boundList("each_sample", thresholds),
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
    yield [path.join("."), inAList(plain.map(([key, inner]) => `${key} ${gateValue(inner)}`))];
  } else {
    for (const [key, inner] of plain) yield [key, gateValue(inner)];
  }
  for (const [key, inner] of entries) if (isMapping(inner)) yield* gateLines([...path, key], inner);
}

function gateValue(value) {
  return typeof value === "string" ? value : JSON.stringify(value);
}
