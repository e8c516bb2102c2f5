// Cuts a query into words: Chinese, which has no spaces, into the longest words of the index.
// An option such as --rag-where is one word.

function splitQuery(query) {
  const known = new Set([
    ...Object.keys(Search._index.terms),
    ...Object.keys(Search._index.titleterms),
  ]);
  return query
    .replace(/--(rag(?:-[a-z]+)+)/g, (text, name) => ` ${name.replaceAll("-", "_")} `)
    .replace(/\p{Script=Han}+/gu, (text) => ` ${chineseWords(text, known).join(" ")} `)
    .split(/[^\p{L}\p{N}_]+/u)
    .filter(Boolean);
}

function chineseWords(text, known) {
  const found = [];
  let start = 0;
  while (start < text.length) {
    let end = text.length;
    while (end > start + 1 && !known.has(text.slice(start, end))) end -= 1;
    // Single characters are not in the index.
    if (end > start + 1) found.push(text.slice(start, end));
    start = end;
  }
  return found.length ? found : [text];
}
