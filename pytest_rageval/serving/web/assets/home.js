// The first view: the scenarios of the project, each with its last verdict, its figures over time.

function homeView(app) {
  const all = app.scenarios;
  if (all === null) return homeFrame(app, hint(say(app.warning ? "no_scenarios" : "looking")));
  if (!all.length) return homeFrame(app, hint(say("no_scenarios")), el("p", {}, newLink("primary")));
  app.list = {
    items: el("ul", { class: "scenario-list" }),
    said: el("p", { class: "note", role: "status" }),
    all: el("div", { class: "run-all" }),
  };
  const search = el("input", {
    type: "search",
    value: app.search,
    placeholder: say("search_scenarios"),
    "aria-label": say("search"),
    autocomplete: "off",
    dir: "auto",
    input: (event) => {
      app.search = event.target.value;
      fillList(app);
    },
  });
  const made = homeFrame(
    app,
    el("div", { class: "home-line" }, search, lookAgain(app), newLink(), app.list.all),
    app.list.said,
    app.list.items,
  );
  fillList(app);
  return made;
}

function homeFrame(app, ...parts) {
  const name = app.project ? given(app.project) : say("scenarios");
  return el("section", { id: "home" }, el("h1", { tabindex: "-1" }, name), ...parts);
}

function lookAgain(app) {
  return button("↻", () => app.loadScenarios(true), {
    class: "quiet",
    "aria-label": say("look_again"),
    title: say("look_again"),
  });
}

function newLink(kind = "") {
  return el("a", { href: "#new", class: `button ${kind}` }, say("from_file"));
}

/** Brings the list up to date; the search and its focus stay. */
function fillScenarios(app) {
  if (app.view !== "home") return;
  if (app.scenarios?.length && app.list?.items.isConnected) fillList(app);
  else drawMain(app);
}

function fillList(app) {
  const { items, said } = app.list;
  const wanted = searchable(app.search.trim());
  const found = app.scenarios.filter((one) => searchable(`${one.name} ${one.shown}`).includes(wanted));
  const counts = { n: found.length, of: app.scenarios.length };
  said.textContent = !found.length ? say("none_fits") : wanted ? say("found_scenarios", counts) : "";
  const kept = focusedPart(items);
  items.replaceChildren(...found.map((one) => scenarioItem(app, one)));
  if (kept) items.querySelector(kept)?.focus();
  fillRunAll(app);
}

/** What finds the link or the button again that has the focus now. */
function focusedPart(items) {
  const one = document.activeElement;
  const id = items.contains(one) && one.closest("[data-scenario]")?.dataset.scenario;
  return id ? `[data-scenario="${CSS.escape(id)}"] ${one.localName}` : null;
}

function scenarioItem(app, one) {
  const { id, name, shown, problem, trend } = one;
  const link = el("a", { href: `#scenario=${encodeURIComponent(id)}`, class: "name" }, given(name));
  return el(
    "li",
    { "data-scenario": id },
    el("div", { class: "what" }, link, name === shown ? null : el("span", { class: "note" }, given(shown))),
    el("div", { class: "standing" }, standing(app, one), problem || one.unfinished ? null : whyFailed(one)),
    el("div", { class: "course" }, trend.length > 1 ? sparkline(trend) : null),
    el("span", { class: "note when" }, one.ran_at ? moment(one.ran_at).slice(0, 16) : ""),
    el("div", { class: "act" }, problem ? null : runOne(app, one)),
    problem ? el("p", { class: "problem" }, given(serverSaid(problem))) : null,
  );
}

/** What is known of a scenario's last run, in a few signs. */
function standing(app, { id, problem, unfinished, unread, last, variants, verdict, overridden = [] }) {
  if (app.running?.scenario === id) return el("span", { class: "badge", id: "running-now" }, runningWords(app));
  if (app.waiting.includes(id)) return el("span", { class: "note" }, say("is_waiting"));
  if (problem) return badge("bad", {}, "broken");
  if (unfinished) return badgeWith("bad", "⚠", say(`verdict_${unfinished.verdict}`));
  if (unread) return [badge(verdict), el("p", { class: "note" }, given(serverSaid(unread)))];
  if (variants.length) {
    const ran = verdict === null ? el("span", { class: "note" }, say("not_run")) : badge(verdict);
    const count = el("span", { class: "note" }, say("n_variants", { n: variants.length }));
    return [ran, " ", count, otherSettings({ overridden })];
  }
  if (last === null) return el("span", { class: "note" }, say("not_run"));
  return pointStanding(last);
}

function runningWords(app) {
  const progress = app.runs.get(app.running.scenario)?.progress ?? null;
  return say("is_running") + (progress === null ? "" : ` · ${say("done_of", progress)}`);
}

/** The gates that failed, each with what it found. */
function whyFailed({ last }) {
  if (!last?.failed_gates.length) return null;
  const more = last.gates_failed - last.failed_gates.length;
  const words = last.failed_gates.map(({ name, message }) =>
    el("li", {}, given(name), " ", el("span", { class: "note" }, given(runSaid(message)))),
  );
  return el("ul", { class: "why" }, words, more > 0 ? el("li", { class: "note" }, say("n_more", { n: more })) : null);
}

function pointStanding(point) {
  const { weighted_score: { mean }, verdict } = point;
  return [badge(verdict), " ", el("span", { class: "score" }, figure(mean)), ...notesOn(point), otherSettings(point)];
}

/** That a run asked some rows only, so that its mean is estimated; that a model wrote questions. */
function notesOn({ sampled, made }) {
  const notes = [sampled ? say("sampled_rows", { n: sampled }) : "", made ? given(runSaid(made)) : ""];
  return notes.filter(Boolean).map((note) => el("p", { class: "note" }, note));
}

/** That a run was not as the file says. */
function otherSettings(point) {
  if (!point?.overridden.length) return null;
  return el("p", { class: "note" }, say("changed_for_run"), say("colon"), overriddenWords(point));
}

/** The weighted scores of the last whole runs, oldest first, between 0 and 1 unless some lie outside. */
function sparkline(values) {
  const [low, high] = [Math.min(0, ...values), Math.max(1, ...values)];
  const x = (at) => 2 + (96 * at) / (values.length - 1);
  const y = (value) => 26 - (24 * (value - low)) / (high - low);
  const points = values.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const label = say("course_of", { n: values.length, first: fixed(values[0]), last: fixed(values.at(-1)) });
  return image(
    label,
    { class: "plot sparkline", viewBox: "0 0 100 28", width: 100, height: 28 },
    svg("polyline", { points }),
    svg("circle", { cx: x(values.length - 1), cy: y(values.at(-1)), r: 2.5 }),
  );
}

function runOne(app, { id, name }) {
  if (app.running?.scenario === id) return stopButton(app);
  return button(say("start_run"), () => startRun(app, id), {
    disabled: isBusy(app),
    "aria-label": say("run_of", { name }),
  });
}

function stopButton(app) {
  const live = app.runs.get(app.running.scenario);
  if (!live) return null;
  const words = say(live.isStopping ? "stopping" : "stop_run");
  return button(words, () => stopRun(app), { class: "stop", disabled: live.isStopping });
}

/** Whether no further run can start. */
function isBusy(app) {
  return app.isStarting || app.running !== null || app.waiting.length > 0;
}

/** The button that runs all, or how far that is. */
function fillRunAll(app) {
  const good = app.scenarios.filter(({ problem }) => !problem).length;
  const { waiting } = app;
  const parts = waiting.length
    ? [el("span", { class: "note", role: "status" }, say("n_wait", { n: waiting.length })), app.running ? stopButton(app) : null]
    : [button(say("run_all"), () => runAll(app), { class: "primary", disabled: isBusy(app) || !good })];
  app.list.all.replaceChildren(...parts.filter(Boolean));
}

async function runAll(app) {
  let refusal = null;
  try {
    app.waiting = (await ask(api("runs"), { method: "POST", body: {} })).waiting;
    app.announce(say("announce_start"));
  } catch (caught) {
    refusal = caught;
  }
  await app.loadScenarios(false); // it takes an earlier warning away
  if (refusal && !isForAll(app, refusal)) app.warn(serverSaid(refusal.message));
}
