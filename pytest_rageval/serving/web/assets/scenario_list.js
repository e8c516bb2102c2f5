// The scenarios to choose from, each with the verdict and the weighted score of its last run.

function scenarioNav(app) {
  const search = el("input", {
    type: "search",
    value: app.search,
    placeholder: say("search_scenarios"),
    "aria-label": say("search"),
    autocomplete: "off",
    dir: "auto",
    input: (event) => {
      app.search = event.target.value;
      fillScenarios(app);
    },
  });
  app.list = {
    items: el("ul", { class: "scenario-list" }),
    said: el("p", { class: "note", role: "status" }),
  };
  const again = button("↻", () => app.loadScenarios(true), {
    class: "quiet",
    "aria-label": say("look_again"),
    title: say("look_again"),
  });
  fillScenarios(app);
  return el(
    "nav",
    { id: "scenarios", "aria-labelledby": "scenarios-title" },
    el("h2", { id: "scenarios-title" }, say("scenarios")),
    el("div", { class: "search-line" }, search, again),
    app.list.said,
    app.list.items,
  );
}

function fillScenarios(app) {
  const { items, said } = app.list;
  const all = app.scenarios;
  if (all === null) {
    said.textContent = app.warning ? "" : say("looking");
    return;
  }
  const wanted = searchable(app.search.trim());
  const found = all.filter((one) => searchable(`${one.name} ${one.shown}`).includes(wanted));
  said.textContent = !all.length
    ? say("no_scenarios")
    : found.length
      ? say("found_scenarios", { n: found.length, of: all.length })
      : say("none_fits");
  const focused = document.activeElement?.dataset.scenario;
  items.replaceChildren(...found.map((one) => scenarioItem(app, one)));
  if (focused) items.querySelector(`[data-scenario="${CSS.escape(focused)}"]`)?.focus();
}

function scenarioItem(app, one) {
  const link = el(
    "a",
    {
      href: `#scenario=${encodeURIComponent(one.id)}`,
      "data-scenario": one.id,
      "aria-current": app.chosen === one.id ? "true" : null,
    },
    el("span", { class: "name" }, given(one.name)),
    el("span", { class: "standing" }, standing(app, one)),
    one.problem ? el("span", { class: "problem" }, given(one.problem)) : null,
    one.name === one.shown ? null : el("span", { class: "note" }, given(one.shown)),
  );
  return el("li", {}, link);
}

/** What is known of a scenario's last run, in a few signs. */
function standing(app, { id, problem, last, variants, verdict }) {
  if (app.running?.scenario === id) return el("span", { class: "badge" }, say("is_running"));
  const broken = problem ? mark("bad", "✕", say("broken")) : null;
  if (variants.length) {
    const ran = verdict === null ? el("span", { class: "note" }, say("not_run")) : badge(verdict);
    return [el("span", { class: "note" }, say("n_variants", { n: variants.length })), " ", broken ?? ran];
  }
  if (last === null) return broken ?? el("span", { class: "note" }, say("not_run"));
  const [score, gap, ended] = pointStanding(last);
  return [score, gap, broken ?? ended];
}

function mark(kind, sign, word) {
  const shown = el("span", { class: "sign", "aria-hidden": "true" }, sign);
  return el("span", { class: `badge ${kind}` }, shown, " ", word);
}

function pointStanding({ weighted_score: { mean }, verdict }) {
  return [el("span", { class: "score" }, figure(mean)), " ", badge(verdict)];
}
