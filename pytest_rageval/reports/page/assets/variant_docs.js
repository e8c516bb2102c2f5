// Where a variant wins: means by document, over the common samples, of the weights that are tried.

const DOCS_TABLED = 30;
const DOCS_OPEN = 8; // more are shown on demand

function docsPart(app) {
  const found = meansByDoc(app);
  const n = found.filter(({ doc }) => doc !== null).length;
  if (n < 2 || n > DOCS_TABLED) return null;
  const names = app.columns.map(({ name }) => name);
  const heads = [say("doc"), ...names.map((name) => numberHead(given(name))), numberHead("n")];
  const label = say("by_doc", { n });
  return el(
    "details",
    {
      class: "by-doc",
      open: app.areDocsOpen ?? n <= DOCS_OPEN,
      toggle: (event) => (app.areDocsOpen = event.target.open),
    },
    el("summary", {}, label),
    hint(sayGiven("by_doc_hint", { metric: nameOf(app.metric) })),
    table(label, heads, found.map((one) => docMeansRow(app, one))),
  );
}

/** The documents of the samples that rank, those where means differ most first. */
function meansByDoc(app) {
  const { taken, scores, weights } = app.joined;
  const places = new Map();
  taken.forEach((at, place) => {
    const doc = docAt(app, at) || null;
    if (!places.has(doc)) places.set(doc, []);
    places.get(doc).push(place);
  });
  const found = [...places].map(([doc, own]) => {
    const sizes = own.map((place) => weights[place]);
    const means = scores.map((column) =>
      column === null ? null : weightedMean(own.map((place) => column[place]), sizes),
    );
    const known = means.filter((mean) => mean !== null);
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return { doc, means, best: app.isUp ? high : low, spread: differenceOf(high, low), n: own.length };
  });
  return found.sort((a, b) => (a.doc === null) - (b.doc === null) || b.spread - a.spread);
}

function docMeansRow(app, { doc, means, best, spread, n }) {
  const isBest = (mean) => mean !== null && differenceOf(mean, best) === 0;
  const winner = app.columns[means.findIndex(isBest)].name;
  const cells = means.map((mean, at) => {
    if (spread && isBest(mean)) return bestMean(mean);
    if (!spread || mean === null || doc === null) return figure(mean);
    return beatenMean(app, doc, mean, winner, app.columns[at].name);
  });
  const name = doc === null ? say("none_value") : given(doc.slice(0, 100));
  const show = () => app.showRows({ doc });
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, doc === null ? name : button(name, show, { class: "link" })),
    cells.map((cell) => el("td", { class: "number" }, cell)),
    el("td", { class: "number" }, String(n)),
  );
}

function bestMean(mean) {
  const sign = el("span", { class: "sign", "aria-hidden": "true" }, "▲ ");
  return [sign, el("b", {}, fixed(mean)), el("span", { class: "unseen" }, ` ${say("best_here")}`)];
}

/** Leads to the answers of this document with which the winner beats this variant. */
function beatenMean(app, doc, mean, winner, name) {
  const label = say("doc_beats", { mean: fixed(mean), a: winner, b: name, doc: doc.slice(0, 100) });
  const show = () => app.showBeaten(winner, name, doc);
  return button(fixed(mean), show, { class: "link", "aria-label": label });
}
