// What is around a page: its data, its colours, its language, and parts that are drawn anew.

const TOO_OLD =
  "This page needs a browser of 2023 or later. summary.md and results.json have its data too. " +
  "此页面需要 2023 年或更新的浏览器；也可查看同一文件夹的 summary.md 和 results.json。";

/** Starts with the data of the page, which are compressed where they are large. */
function withData(start) {
  const text = document.getElementById("data").textContent;
  if (text.startsWith("{")) return start(JSON.parse(text));
  if (!window.DecompressionStream) {
    document.getElementById("page").textContent = TOO_OLD;
    return null;
  }
  const bytes =
    Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(unpacked).json().then(start);
}

/** The line at the top, with buttons for colours and language. */
function toolBar(app) {
  return el(
    "div",
    { class: "bar" },
    el("p", { class: "product" }, "rageval"),
    el(
      "div",
      { class: "tools" },
      button(themeWords(app), () => nextTheme(app)),
      button(say("other_language"), () => nextLanguage(app), { lang: otherLanguage() }),
    ),
  );
}

/** The language and colours that a page around asks for (`#language=zh&theme=dark`), else the browser's. */
function takeWishes(app) {
  const wishes = new URLSearchParams(location.hash.slice(1));
  chooseLanguage(
    wishes.get("language") ?? preferredLanguage(navigator.languages ?? [navigator.language]),
  );
  app.theme = ["light", "dark"].includes(wishes.get("theme")) ? wishes.get("theme") : "auto";
  if (app.theme !== "auto") document.documentElement.dataset.theme = app.theme;
  document.documentElement.classList.toggle("framed", window !== window.parent);
}

function themeWords(app) {
  return say("theme", { theme: say(`theme_${app.theme}`) });
}

function nextTheme(app) {
  const themes = ["auto", "light", "dark"];
  app.theme = themes[(themes.indexOf(app.theme) + 1) % themes.length];
  if (app.theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = app.theme;
  document.querySelector(".tools button").textContent = themeWords(app);
  app.redraw?.("report"); // of the app: a frame takes its colours when it is loaded
}

function otherLanguage() {
  return language === "zh" ? "en" : "zh";
}

function nextLanguage(app) {
  if (app.mayRedraw?.() === false) return; // of the app: its frame is loaded anew
  chooseLanguage(otherLanguage());
  app.drawPage();
  document.querySelector(".tools button:last-child").focus();
}

/** Says in which language the page is, and what its first link leads to. */
function nameLanguage() {
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  document.getElementById("skip").textContent = say("skip_to_content");
}

/** Leads readers to a part, as a link to its title would. */
function focusTitle(id) {
  const title = document.getElementById(id);
  title.tabIndex = -1;
  title.focus();
}

/** Calls `update` once a frame, however fast a slider moves. */
function onceAFrame(app, update) {
  if (app.isWaiting) return;
  app.isWaiting = true;
  requestAnimationFrame(() => {
    app.isWaiting = false;
    update(app);
  });
}

/** Puts the line at the bottom in place of the one that is there. */
function putBar(app, bar) {
  app.bar.replaceWith(bar);
  app.bar = bar;
}

/** Calls `open` with the ID of `#sample=ID`, also where the page is open already. */
function followLinks(open) {
  const follow = () => {
    const found = /^#sample=(.*)$/.exec(location.hash);
    if (!found) return;
    let id = found[1];
    try {
      id = decodeURIComponent(id);
    } catch {
      // Not encoded: taken as it stands.
    }
    open(id);
  };
  follow();
  window.addEventListener("hashchange", follow);
}

/** Draws a part of the page in place of the one that is there; focus stays in it. */
function redrawSection(id, draw) {
  const old = document.getElementById(id);
  if (old === null) return;
  const focused = old.contains(document.activeElement);
  const made = draw();
  old.replaceWith(made);
  if (focused) made.querySelector("button, select, input")?.focus();
}

/** Which of the rows that were found are shown, `size` on a page, and buttons for the others. */
function pager(app, page, size) {
  const n = app.found.length;
  const pages = Math.ceil(n / size);
  const go = (to, which) => () => {
    app.filter({ page: to }, true);
    app.rows.querySelector(`[data-page="${which}"]:not([disabled])`)?.focus();
  };
  const step = (to, which) =>
    button(say(`${which}_page`), go(to, which), {
      disabled: to < 0 || to === pages,
      "data-page": which,
    });
  const figures = { from: page * size + 1, to: Math.min((page + 1) * size, n), n };
  return el(
    "div",
    { class: "pager" },
    el("span", { role: "status" }, say("shown_of", figures)),
    pages > 1
      ? [
          step(page - 1, "previous"),
          el("span", {}, say("page_of", { page: page + 1, pages })),
          step(page + 1, "next"),
        ]
      : null,
  );
}
