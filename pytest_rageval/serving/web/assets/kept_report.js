// A report in which somebody labels stays until the labels are downloaded, or are given up.

/** Takes note of how many labels the report says that it has and that are not downloaded. */
function listenToReport() {
  window.addEventListener("message", ({ source, data }) => {
    const frame = reportFrame();
    if (frame === null || source !== frame.contentWindow) return;
    if (Number.isInteger(data?.unsaved)) frame.dataset.unsaved = data.unsaved;
  });
  // The frame cannot ask: a page without the rights of this one opens no dialog.
  window.addEventListener("beforeunload", (event) => {
    if (unsavedLabels()) event.preventDefault();
  });
}

function reportFrame() {
  return document.querySelector("#report iframe");
}

function unsavedLabels() {
  return Number(reportFrame()?.dataset.unsaved ?? 0);
}

/** Whether the report may go: asks where labels would go with it. */
function mayDropReport() {
  const n = unsavedLabels();
  return n === 0 || window.confirm(say("labels_lost", { n }));
}

/** Whether the place that the address names may be shown; if not, the address is what it was. */
function mayMove({ chosen }) {
  if (mayDropReport()) return true;
  history.replaceState(null, "", `#scenario=${encodeURIComponent(chosen)}`);
  return false;
}

/** Keeps the report that is there, and says that there is a newer one. */
function keepReport(app, shown) {
  if (shown === null || document.querySelector("#report .newer")) return;
  const show = () => {
    if (mayDropReport()) redrawSection("report", () => drawnPart(app, "report"));
  };
  const words = [say("newer_page"), " ", button(say("show_newer"), show)];
  document.getElementById("report").prepend(el("p", { class: "notice newer", role: "status" }, words));
}
