import { widget, slider, choice, words, weights, ranked, pct } from "./kit.js";

const name = (text) => text.trim();

/** "lemon (2nd)" where the word stands there more than once, else "lemon". */
function labels(tokens) {
  const names = tokens.map(([text]) => name(text));
  return names.map((word, i) => {
    if (names.filter((w) => w === word).length < 2) return word;
    const nth = names.slice(0, i + 1).filter((w) => w === word).length;
    return `${word} (${nth}${["th", "st", "nd", "rd"][nth] ?? "th"})`;
  });
}

/** Thousandths of head (layer, head) as rows that get longer: row i has i + 1 of them. */
function table(data, layer, head) {
  const { values, n } = data, size = (n * (n + 1)) / 2, from = (layer * 9 + head) * size;
  return Array.from({ length: n }, (_, i) =>
    Array.from({ length: i + 1 }, (_, j) => values[from + (i * (i + 1)) / 2 + j]));
}

export function prepare(raw, { texts, text }) {
  const half = raw.length / 2, values = new Uint16Array(half);
  for (let i = 0; i < half; i++) values[i] = raw[i] + 256 * raw[half + i]; // low bytes, then high
  return { values, n: texts[text].length };
}

export function compute({ layer, head, row, text, texts, known }, data) {
  const reader = Math.min(row, texts[text].length - 1), shares = table(data, layer, head)[reader];
  const order = shares.map((_, j) => j).sort((a, b) => shares[b] - shares[a] || a - b);
  return {
    reader, shares, top: order[0], next: order[1] ?? -1,
    known: known.findIndex((k) => k.layer === layer && k.head === head),
  };
}

/** What the word most read is to the reader, if it can be said; for the first word: that. */
function relation(tokens, reader, top) {
  const id = tokens[reader][1];
  if (top === reader) return "itself";
  if (top === 0) return "the first word";
  if (tokens[top][1] === id) return "the same word, earlier";
  if (tokens[top - 1][1] === id) return `what followed ${name(tokens[reader][0])} before`;
  return top === reader - 1 ? "the word just before" : "";
}

/** A word that stood there before as another token: with and without a space. */
function otherToken(tokens, reader) {
  const [text, id] = tokens[reader], before = tokens.slice(0, reader);
  const same = before.filter(([t]) => name(t) === name(text));
  if (!same.length || same.some((t) => t[1] === id)) return "";
  return ` For the model it is new: token ${id}, not ${same[0][1]} as at the start, where no space came first.`;
}

export function describe({ layer, head, text, texts, known }, r) {
  const tokens = texts[text], label = labels(tokens), share = (j) => pct(r.shares[j] / 1000);
  const k = known[r.known], called = k ? `${k.name}, score ${k.score}` : "no name for this one";
  const start = `Layer ${layer}, head ${head}: ${called}. ${label[r.reader]} reads`;
  if (r.reader === 0) return `${start} itself 100 %: nothing stands before it.`;
  const what = relation(tokens, r.reader, r.top), also = what && what !== "itself" ? `: ${what}` : "";
  const top = what === "itself" ? "itself" : label[r.top];
  const next = r.shares[r.next] >= 5 ? `${also ? ";" : ","} then ${r.next === r.reader ? "itself" : label[r.next]} ${share(r.next)}` : "";
  const sink = r.top !== 0 && r.next !== 0 && r.shares[0] >= 5 ? ` It parks ${share(0)} on the first word.` : "";
  return `${start} ${top} ${share(r.top)}${also}${next}.${sink}${otherToken(tokens, r.reader)}`;
}

export default widget({
  title: "Real heads: who reads whom?",
  question: ({ text }) => text === 0 ? "The five words come twice. Where should a head look when it meets lemon again?"
    : "Which earlier word does the marked one read most? Guess before you look.",
  source: "Real weights of SmolLM2-135M. A score is what the head does on average on many other texts; it proves no purpose.",
  traits: ["layer", "head", "row", "text", "texts", "known"],
  part: ({ text }) => String(text),
  prepare,
  compute,
  describe,
  build(ui, st, { texts, known }) {
    const pair = {
      get: () => known.findIndex((k) => k.layer === st.get("layer") && k.head === st.get("head")),
      set: (i) => { st.set("layer", known[i].layer, false); st.set("head", known[i].head); },
    };
    const which = {
      get: () => st.get("text"),
      set: (i) => { st.set("row", Math.min(st.get("row"), texts[i].length - 1), false); st.set("text", i); },
    };
    const reader = { get: () => Math.min(st.get("row"), texts[st.get("text")].length - 1), set: (i) => st.set("row", i) };
    const called = ({ name, score }) => `${name} ${score}`;
    ui.controls(
      choice(st, pair, { label: "Known heads", wide: true, radios: 9, other: () => "",
        options: known.map((k, value) => ({ value, label: called(k) })) }),
      slider(st, "layer", { label: "Layer", min: 0, max: 29 }),
      slider(st, "head", { label: "Head", min: 0, max: 8 }),
      choice(st, which, { label: "Text", wide: true, radios: 0,
        options: texts.map((t, value) => ({ value, label: t.map(([x]) => x).join("") })) }),
    );
    const chips = texts.map((t) => t.map(([text]) => ({ text })));
    ui.picture.append(words(st, reader, { label: "Reader", tokens: () => chips[st.get("text")] }));
    const list = ranked(3);
    list.node.classList.add("ftc-narrow"); // a wide table has the numbers in its cells
    ui.after.append(list.node);
    let grid = null, shown = null;
    return ({ layer, head, text }, r, data) => {
      const label = labels(texts[text]), rows = table(data, layer, head);
      if (shown !== text) {
        const next = weights({ caption: "Per cent of each row", rows: label, cols: label,
          firstIsSink: true, pick: (i) => reader.set(i) });
        if (grid) grid.node.replaceWith(next.node); else ui.picture.append(next.node);
        [grid, shown] = [next, text];
      }
      rows.forEach((row, i) => label.forEach((_, j) => grid.set(i, j, j > i ? null : Math.max(row[j] / 1000, 1e-4))));
      grid.select(r.reader);
      const best = r.shares.map((v, j) => [v, j]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, 3);
      list.show(best.map(([v, j]) => ({ label: label[j], value: v / 1000, text: v ? pct(v / 1000) : "<1 %" })));
    };
  },
});
