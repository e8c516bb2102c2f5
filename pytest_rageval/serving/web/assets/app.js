// The app comes to life: one state, drawn anew where it changes.

const FIRST_POINTS = 50;
const SECTIONS = {
  head: scenarioHead,
  run: runSection,
  report: reportSection,
  weights: weightsSection,
  bounds: boundsSection,
  history: historySection,
  comparison: comparePoints,
};

function startApp() {
  const app = {
    theme: recall("theme") ?? "auto",
    project: "",
    scenarios: null,
    search: "",
    running: null,
    waiting: [],
    runs: new Map(),
    edits: new Map(Object.entries(JSON.parse(recall("edits") ?? "{}"))),
    draft: null,
    made: null,
    warning: "",
    ...nothingChosen(),
  };
  connectApp(app);
  listenToReport();
  const asked = navigator.languages ?? [navigator.language];
  chooseLanguage(recall("language") ?? preferredLanguage(asked));
  if (app.theme !== "auto") document.documentElement.dataset.theme = app.theme;
  document.getElementById("skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", () => chooseLinked(app, true));
  let seconds = 0;
  window.setInterval(() => tick(app, ++seconds), 1000);
  app.drawPage();
  app.loadScenarios(false).then(() => chooseLinked(app, false));
}

function nothingChosen() {
  return {
    view: "home",
    chosen: null,
    entry: null,
    detail: null,
    readProblem: null,
    run: null,
    weights: null,
    edited: new Map(),
    isWrong: false,
    panel: null,
    runButton: null,
    runNote: null,
    runProblem: null,
    points: null,
    count: 0,
    baselines: [],
    asked: FIRST_POINTS,
    unpicked: new Set(),
    pair: null,
    isPicked: false,
    compared: null,
  };
}

/** What this window keeps over a reload; nothing where the browser keeps nothing. */
function remember(key, value) {
  try {
    sessionStorage.setItem(key, String(value));
  } catch {
    // Storage is full or forbidden: the page works without.
  }
}

function recall(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}

/** What the parts of the page can ask for. */
function connectApp(app) {
  app.redraw = (...ids) => ids.forEach((id) => redrawPart(app, id));
  app.drawPage = () => drawApp(app);
  app.mayRedraw = mayDropReport;
  app.announce = (text) => {
    document.getElementById("announced").textContent = text;
  };
  app.warn = (text) => {
    app.warning = text;
    document.getElementById("warning").textContent = text;
  };
  app.weigh = (weights) => {
    app.weights = weights;
    settingsEdited(app);
  };
  app.reset = () => {
    app.weights = app.run.weights;
    app.edited.clear();
    app.isWrong = false;
    app.forget(app.chosen);
    app.redraw("weights", "bounds");
    updateSettings(app);
  };
  app.forget = (id) => {
    app.edits.delete(id);
    saveEdits(app);
  };
  app.reread = () => {
    Object.assign(app, { detail: null, readProblem: null });
    app.redraw("head");
    app.loadDetail(app.chosen);
  };
  app.loadScenarios = (isFresh) => loadScenarios(app, isFresh);
  app.loadDetail = (id) => loadDetail(app, id);
  app.loadPoints = (id, limit) => loadPoints(app, id, limit);
  app.showRun = (id) => {
    redrawBar(app);
    if (app.chosen !== id) return fillScenarios(app);
    app.redraw("run");
    document.getElementById("run").scrollIntoView({ block: "nearest" });
    document.querySelector("#run button")?.focus({ preventScroll: true });
  };
  app.runEnded = ({ scenario }) => {
    if (app.chosen === scenario) app.redraw("run");
    updateRunButtons(app);
    redrawBar(app);
    app.loadScenarios(false);
    if (app.chosen === scenario) app.loadPoints(scenario, app.asked);
  };
}

function keepEdits(app) {
  const changes = { ...changedWeights(app), bounds: [...app.edited] };
  if (hasChanges(app)) app.edits.set(app.chosen, changes);
  else app.edits.delete(app.chosen);
  saveEdits(app);
}

function saveEdits(app) {
  remember("edits", JSON.stringify(Object.fromEntries(app.edits)));
}

/** `#scenario=ID` is the scenario that is shown, also after a reload; `#new` is how one is made. */
function chooseLinked(app, isMove) {
  const found = /^#scenario=([\w-]+)$/.exec(location.hash);
  const id = found?.[1] ?? null;
  const view = id !== null ? "scenario" : location.hash === "#new" ? "new" : "home";
  if ((view === app.view && id === app.chosen) || app.scenarios === null) return;
  if (!mayMove(app)) return;
  Object.assign(app, nothingChosen(), { chosen: id, view });
  app.entry = app.scenarios.find((one) => one.id === id) ?? null;
  drawMain(app);
  redrawBar(app);
  if (isMove) {
    window.scrollTo(0, 0);
    document.querySelector("h1")?.focus();
  }
  if (app.entry === null) return;
  const { unfinished } = app.entry;
  if (unfinished && app.running === null) follow(app, { ...unfinished, scenario: id }); // why it ended
  app.loadDetail(id);
  app.loadPoints(id, FIRST_POINTS);
}

async function loadScenarios(app, isFresh) {
  try {
    const found = await ask(query("/api/scenarios", isFresh ? { fresh: 1 } : {}));
    app.warn(found.problem ?? "");
    Object.assign(app, { scenarios: found.scenarios, project: found.project, waiting: found.waiting });
    noteRunning(app, found.running);
  } catch (refusal) {
    if (!isForAll(app, refusal)) app.warn(refusal.message);
    fillScenarios(app);
    return;
  }
  const stateOf = (entry) => `${entry?.last?.run} ${entry?.verdict} ${entry?.unread}`;
  const before = stateOf(app.entry);
  app.entry = app.scenarios.find((one) => one.id === app.chosen) ?? app.entry;
  if (stateOf(app.entry) !== before) app.redraw("run");
  fillScenarios(app);
  redrawBar(app);
}

/** Without an id, a run that a request of another program waits for: it cannot be followed. */
function noteRunning(app, running) {
  if (running?.run) follow(app, running);
  else if (running || app.running?.run === "") app.running = running;
  updateRunButtons(app);
}

/** Each second: the time of a run that goes on, and now and then whether one that is not ours does. */
function tick(app, seconds) {
  if (app.running?.run) updateProgress(app, app.runs.get(app.running.scenario));
  else if (app.waiting.length) app.loadScenarios(false); // the next one begins
  else if (app.running !== null && seconds % 5 === 0) app.loadScenarios(false);
}

async function loadDetail(app, id) {
  let detail;
  try {
    detail = await ask(api("scenarios", id));
  } catch (refusal) {
    if (isForAll(app, refusal) || app.chosen !== id) return;
    app.readProblem = refusal.message;
    app.redraw("head");
    return;
  }
  if (app.chosen !== id) return;
  app.detail = detail;
  if (detail.problems.length) app.entry.problem ??= detail.problems[0];
  app.entry.variants = detail.variants.map(({ name }) => name);
  app.run = detail.outline === null ? null : preparedOutline(detail.outline);
  app.panel = null;
  if (app.run !== null) {
    const changes = app.edits.get(id) ?? noChanges();
    app.weights = withChanges(app.run, changes);
    app.edited = new Map(changes.bounds);
  }
  app.redraw("head", "run", "weights", "bounds");
  updateSettings(app);
  if (app.run !== null && hasChanges(app)) checkSettings(app);
}

function noChanges() {
  return { metric_weights: {}, doc_weights: {}, bounds: [] };
}

async function loadPoints(app, id, limit) {
  try {
    const { points, count, baselines } = await ask(query("/api/history", { scenario: id, limit }));
    if (app.chosen !== id) return;
    Object.assign(app, { points, count, baselines, asked: limit });
    const isThere = (wanted) =>
      baselines.includes(wanted) || points.some(({ run }) => run === wanted);
    if (!app.isPicked || !app.pair?.every(isThere)) Object.assign(app, { pair: null, compared: null });
    app.redraw("history", "comparison");
  } catch (refusal) {
    if (isForAll(app, refusal) || app.chosen !== id) return;
    document.getElementById("history").replaceChildren(hint(given(refusal.message)));
  }
}

function drawApp(app) {
  nameLanguage();
  remember("theme", app.theme);
  remember("language", language);
  app.bar = el("div", {});
  document.getElementById("page").replaceChildren(
    el("header", { class: "top" }, toolBar(app)),
    el("p", { id: "warning", class: "notice", role: "alert" }, app.warning),
    el("main", { id: "main", tabindex: "-1" }),
    app.bar,
  );
  drawMain(app);
  redrawBar(app);
}

function drawMain(app) {
  const name = app.entry?.name ?? app.project;
  document.title = name ? `${name} · rageval` : "rageval";
  const main = document.getElementById("main");
  if (app.view === "home") main.replaceChildren(homeView(app));
  else if (app.view === "new") main.replaceChildren(newView(app));
  else if (app.entry === null) main.replaceChildren(unknownView());
  // A part that has nothing to show yet keeps its place.
  else main.replaceChildren(...Object.keys(SECTIONS).map((id) => drawnPart(app, id)));
  updateSettings(app);
  if (app.isWrong) checkSettings(app); // and says again what is wrong
}

function unknownView() {
  return el(
    "section",
    { class: "empty" },
    el("a", { href: "#", class: "back" }, `‹ ${say("all_scenarios")}`),
    el("h1", { tabindex: "-1" }, say("unknown_scenario")),
  );
}

function drawnPart(app, id) {
  return SECTIONS[id](app) ?? el("div", { id, hidden: true });
}

function redrawPart(app, id) {
  if (id === "report" && unsavedLabels()) return; // other colours are not worth labels
  const isHeading = document.activeElement?.id === "chosen";
  redrawSection(id, () => drawnPart(app, id));
  if (isHeading) document.getElementById("chosen")?.focus();
  if (id !== "run") return;
  updateReport(app);
  if (app.runs.get(app.chosen)?.view) updateProgress(app, app.runs.get(app.chosen));
}

/** The line at the foot of the window: another scenario that runs, or weights that changed. */
function redrawBar(app) {
  const shown = barShown(app);
  if (app.bar.dataset.shown === shown) return;
  const isFocused = app.bar.contains(document.activeElement);
  const bar = barOf(app, shown);
  bar.classList.add("changed-bar");
  bar.dataset.shown = shown;
  app.bar.replaceWith(bar);
  app.bar = bar;
  if (isFocused) bar.querySelector("button:enabled")?.focus();
}

function barShown(app) {
  const { running } = app;
  if (app.view === "home") return "";
  if (running?.run === "") return "another";
  if (running !== null) return running.scenario === app.chosen ? "" : running.run;
  return app.run !== null && hasChanges(app) ? "changed" : "";
}

function barOf(app, shown) {
  Object.assign(app, { barText: null, barButton: null, barStop: null });
  if (shown === "") return el("div", { hidden: true });
  if (shown !== "changed") return runningBar(app);
  app.barButton = button("", () => startRun(app), { class: "primary" });
  updateRunButtons(app);
  return el(
    "div",
    { role: "region", "aria-label": say("changed") },
    el("span", { class: "name" }, say("changed")),
    app.barButton,
    button(say("reset"), app.reset),
  );
}

function runningBar(app) {
  app.barText = el("span", {}, barWords(app));
  if (app.running.run) app.barStop = button(say("stop_run"), () => stopRun(app));
  const href = `#scenario=${encodeURIComponent(app.running.scenario)}`;
  return el(
    "div",
    { role: "region", "aria-label": say("progress") },
    app.barText,
    el("a", { href }, say("show")),
    app.barStop,
  );
}

function barWords(app) {
  const { scenario } = app.running ?? {};
  const progress = app.runs.get(scenario)?.progress ?? null;
  const found = app.scenarios?.find((one) => one.id === scenario);
  const done = progress === null ? "" : ` · ${say("done_of", progress)}`;
  return [...sayGiven("another_runs", { name: found?.name ?? "–" }), done];
}

startApp();
