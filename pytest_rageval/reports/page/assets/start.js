// The page comes to life: one state, drawn anew where it changes.

function start(data) {
  const run = prepare(data);
  run.differing = differingFromPython(run);
  const app = {
    run,
    state: run.asRun,
    weights: run.weights,
    slice: { field: null, target: failedTarget(run), isWhole: false },
    worst: firstWorst(run),
    // A run that failed opens with its worst samples, any other in the order of the data.
    table: {
      ...noFilters(),
      sort: run.asRun.verdict.outcome === "failed" ? "own outcome" : "own index",
    },
  };
  connect(app);
  takeWishes(app);
  drawPage(app);
  window.rageval = {
    weigh: (weights) => app.weigh({ metrics: weights.metrics, docs: new Map(weights.docs) }),
    state: () => app.state,
  };
  followLinks((id) => {
    const at = app.run.data.samples.id.indexOf(id);
    // While samples are labelled blind the report is not there.
    if (at >= 0 && app.dialog.isConnected) app.openSample(at);
  });
}

function noFilters() {
  return {
    search: "",
    outcomes: new Set(),
    bands: new Set(),
    slice: null,
    flip: null,
    cell: null,
    sort: "own index",
    isDescending: false,
    page: 0,
  };
}

const DRAWN = {
  verdict: verdictSection,
  worst: worstSection,
  overview,
  gates: gatesSection,
  comparison: comparisonSection,
  slices: slicesSection,
  distributions,
  trend: trendSection,
  weights: panelSection,
  agreement: agreementSection,
  samples: samplesSection,
  about: aboutSection,
};

/** What the parts of the page can ask for. */
function connect(app) {
  app.redraw = (...ids) => ids.forEach((id) => redrawSection(id, () => DRAWN[id](app)));
  app.weigh = (weights) => {
    app.weights = weights;
    app.state = weigh(app.run, weights);
    onceAFrame(app, update);
  };
  app.reset = () => {
    app.weights = app.run.weights;
    app.state = app.run.asRun;
    app.table.flip = null;
    update(app);
    app.redraw("weights");
    updatePanel(app);
    document.getElementById("weights-title").scrollIntoView({ block: "nearest" });
  };
  app.filter = (change, keepsPage) => {
    app.table = { ...app.table, ...(keepsPage ? {} : { page: 0 }), ...change };
    drawSamples(app);
  };
  app.clearFilters = () => {
    const { sort, isDescending } = app.table;
    app.table = { ...noFilters(), sort, isDescending };
    document.getElementById("search").value = "";
    drawSamples(app);
  };
  app.showSlice = (field, value) => showFiltered(app, { slice: { field, value } });
  app.showFlipped = (before, after) => showFiltered(app, { flip: [before, after] });
  app.showCell = (cell) => showFiltered(app, { cell });
  app.openSample = (at) => openDetail(app, at);
  app.drawPage = () => drawPage(app);
}

function showFiltered(app, filter) {
  app.clearFilters();
  app.filter(filter);
  focusTitle("samples-title");
}

function drawPage(app) {
  nameLanguage();
  const drawn = Object.entries(DRAWN)
    .map(([id, draw]) => [id, draw(app)])
    .filter(([, made]) => made !== null);
  app.sections = drawn.map(([id]) => id);
  const main = el(
    "main",
    { id: "main", tabindex: "-1" },
    drawn.map(([, made]) => made),
  );
  app.bar = changedBar(app);
  app.dialog = el("dialog", { "aria-labelledby": "detail-title" });
  document
    .getElementById("page")
    .replaceChildren(header(app), contents(app.sections), main, app.bar, app.dialog);
  updatePanel(app);
}

function update(app) {
  app.redraw("verdict", "worst", "overview", "gates", "distributions", "slices", "agreement", "comparison");
  drawSamples(app);
  updatePanel(app);
  putBar(app, changedBar(app));
}

withData(start);
