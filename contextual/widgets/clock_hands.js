import { widget, slider, choice, s, set, dial, hand, arc, line, dec, deg, whole, wrap, frequencies } from "./kit.js";

const LAST = 1023, RADIUS = 84;
const NAMES = ["fast", "middle", "slow", "all"];

/** Which of the n hands a name means; "all" has the fastest and the slowest. */
const indexOf = (name, n) => ({ fast: 0, middle: Math.floor(n / 4), slow: n - 1, all: 0 })[name];

export function compute({ start, distance, hand, base, d_head }) {
  const speeds = frequencies(d_head, base), n = speeds.length, i = indexOf(hand, n);
  const apart = (k) => wrap((distance * speeds[k] * 180) / Math.PI);
  return {
    n_hands: n,
    river: start * speeds[i],
    bank: (start + distance) * speeds[i],
    apart: apart(i),
    slowest: apart(n - 1),
    turns: Math.floor((distance * speeds[i]) / (2 * Math.PI) + 0.5),
    match: speeds.reduce((t, w) => t + Math.cos(distance * w), 0) / n,
  };
}

export function describe({ start, distance, hand }, r) {
  const tokens = distance === 1 ? "1 token" : `${whole(distance)} tokens`;
  const where = `River at ${whole(start)}, bank at ${whole(start + distance)}: ${tokens} apart.`;
  const match = `match ${dec(r.match)}, wherever the two stand.`;
  if (hand === "all")
    return `${where} Of ${r.n_hands} hands the fastest differs by ${deg(r.apart)}, the slowest by ${deg(r.slowest)}. Together they ${match}`;
  const back = r.turns > 0 && Math.abs(r.apart) < 1.05;
  const again = back ? `: back where it was, after ${r.turns === 1 ? "1 turn" : `${r.turns} turns`}` : "";
  return `${where} The ${hand} hand differs by ${deg(r.apart)}${again}. All ${r.n_hands} hands together ${match}`;
}

/** The two hands on one large dial, or all of them on small ones, eight in a row. */
function dials(svg) {
  const g = dial(0, 0, RADIUS), sweep = s("path", { class: "ftc-arc" });
  const zero = s("line", { x1: RADIUS - 8, x2: RADIUS, class: "ftc-axis" });
  g.append(zero, sweep);
  const river = hand(g, RADIUS - 20, "river", RADIUS), bank = hand(g, RADIUS - 4, "bank", RADIUS);
  const many = s("g"), below = s("text", { class: "ftc-strong" });
  let small = [], count = 0;
  svg.append(g, many, below);
  function build(n) {
    count = n;
    const r = n > 32 ? 9 : 13, step = 2 * r + 4, rows = Math.ceil(n / 8);
    const one = (_, i) => {
      const d = dial((i % 8 - 3.5) * step, (Math.floor(i / 8) - (rows - 1) / 2) * step, r);
      many.append(d);
      return [hand(d, r - 3, "river"), hand(d, r - 1, "bank")];
    };
    many.replaceChildren();
    small = Array.from({ length: n }, one);
  }
  return (x, y, state, r) => {
    const all = state.hand === "all", speeds = all ? frequencies(state.d_head, state.base) : [];
    if (all && count !== r.n_hands) build(r.n_hands);
    set(g, { transform: `translate(${x} ${y})`, display: all ? "none" : null });
    set(many, { transform: `translate(${x} ${y})`, display: all ? null : "none" });
    const [end, start] = [state.start + state.distance, state.start];
    speeds.forEach((w, i) => { small[i][0].turn(start * w); small[i][1].turn(end * w); });
    const turn = (r.apart * Math.PI) / 180, gap = Math.max(0, 0.7 - Math.abs(turn)) / 2;
    const side = turn < 0 ? -gap : gap;
    river.turn(r.river, -side);
    bank.turn(r.bank, side);
    set(sweep, { d: Math.abs(turn) < 0.01 ? "" : arc(30, r.river, turn) });
    const text = all ? `${r.n_hands} hands, the fastest first` : `${state.hand} hand: ${deg(r.apart)} apart`;
    set(below, { x, y: y + RADIUS + 42, text });
  };
}

/** The match of all hands over distance, with the present distance marked. */
function plot(svg) {
  const low = -0.35, high = 1, title = s("text", { text: "match of all hands", class: "ftc-left" });
  const curve = s("path", { class: "ftc-line" }), mark = s("line", { class: "ftc-mark" });
  const dot = s("circle", { r: 6, class: "ftc-dot" }), value = s("text", { class: "ftc-strong ftc-value" });
  const axes = s("g");
  svg.append(title, axes, curve, mark, dot, value);
  let drawn = "";
  return (left, top, width, height, state, r) => {
    const X = (d) => left + (width * d) / LAST, Y = (v) => top + (height * (high - v)) / (high - low);
    const key = [left, top, width, state.base, state.d_head].join();
    if (key !== drawn) {
      drawn = key;
      const w = frequencies(state.d_head, state.base);
      const match = (d) => w.reduce((t, x) => t + Math.cos(d * x), 0) / w.length;
      set(curve, { d: line(Array.from({ length: LAST + 1 }, (_, d) => [X(d), Y(match(d))])) });
      const grid = [0, 0.5, 1].flatMap((v) => [
        s("line", { x1: left, x2: left + width, y1: Y(v), y2: Y(v), class: v ? "ftc-faint" : "ftc-axis" }),
        s("text", { x: left - 8, y: Y(v) + 4, class: "ftc-right", text: dec(v, 1).replace(".0", "") || "0" })]);
      const ticks = [0, 250, 500, 750, 1000].map((d) =>
        s("text", { x: X(d), y: top + height + 18, text: whole(d) }));
      axes.replaceChildren(...grid, ...ticks, s("text", { x: left + width / 2, y: top + height + 38, text: "tokens apart" }));
    }
    const x = X(state.distance), y = Y(r.match), half = 52;
    set(title, { x: left, y: top - 34 });
    set(mark, { x1: x, x2: x, y1: top - 8, y2: top + height });
    set(dot, { cx: x, cy: y });
    const at = Math.min(left + width - half, Math.max(left + half - 8, x));
    set(value, { x: at, y: top - 13, text: `${whole(state.distance)} apart: ${dec(r.match)}` });
  };
}

export default widget({
  title: "Clock hands: how far apart are two words?",
  question: "River at 0, bank at 3. Both move 100 places on. Does their match change?",
  source: "One pair of numbers is one hand. Match: the mean cosine over all hands. 100,000 is SmolLM2's base, 10,000 that of the first papers.",
  traits: ["start", "distance", "hand", "base", "d_head"],
  compute,
  describe,
  build(ui, st) {
    const place = { min: 0, max: LAST, exact: true };
    ui.controls(
      slider(st, "start", { ...place, label: "Place of river", say: (v) => `place ${whole(v)}` }),
      slider(st, "distance", { ...place, label: "Bank comes later by", say: (v) => `${whole(v)} tokens` }),
      choice(st, "hand", { label: "Hand", options: NAMES.map((value) => ({ value, label: value })) }),
      choice(st, "base", { label: "Base", other: whole,
        options: [100, 10000, 100000].map((value) => ({ value, label: whole(value) })) }),
    );
    const svg = s("svg", { "aria-hidden": "true" }), turn = dials(svg), mark = plot(svg);
    ui.picture.append(svg);
    let size = 0;
    return (state, r) => {
      const w = Math.max(280, ui.width()), wide = w >= 500, height = wide ? 272 : 504;
      if (size !== w) set(svg, { viewBox: `0 0 ${w} ${height}`, width: w, height });
      size = w;
      turn(wide ? 132 : w / 2, 120, state, r);
      if (wide) mark(300, 64, w - 316, 152, state, r);
      else mark(34, 310, w - 54, 150, state, r);
    };
  },
});
