/* The kit that every widget of the book is made of. No library, no innerHTML, no style
   attributes: it works under a strict Content-Security-Policy, from file:// and offline.

   A widget file imports what it needs from "./kit.js" and exports one widget({…}):

     title, question, source   three strings: heading, one question to ask before
                               touching, where the numbers are from
     traits                    names of the Python traits that it reads: they are `state`
     part(state)               optional: name of the stored part that this state needs
     prepare(bytes, state)     optional: turns that part (Uint8Array) into `data`, once
     compute(state, data)      pure: plain numbers, as `compute` in <name>.py
     describe(state, result, data)   pure: the sentence, as `describe` in <name>.py
     build(ui, st, state)      adds controls and picture once; returns
                               draw(state, result, data), which only sets attributes

   Events change the store, the store asks for one drawing per frame, drawing changes the
   page: no part knows another. Everything ends with `signal`. `base.py` joins kit and
   widget into one module for Jupyter; `ext/widgets.py` writes classic files for the page,
   where all of this is `window.ftc`. Text never carries markup. Targets are 44 px high. */

const NS = "http://www.w3.org/2000/svg";
const mine = Math.random().toString(36).slice(2, 8); // two copies of the kit on one page
let serial = 0;
export const uid = () => `ftc-${mine}-${++serial}`;

/** An HTML element: properties, on… listeners, else attributes; null and false are left out. */
export function h(tag, props = {}, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v == null || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "class") e.className = v;
    else if (k === "text") e.textContent = v;
    else if (k in e && k !== "list" && k !== "form") e[k] = v;
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...kids.filter((k) => k != null));
  return e;
}

/** An SVG element; `text` is its text. */
export function s(tag, attrs = {}, ...kids) {
  const e = document.createElementNS(NS, tag);
  set(e, attrs);
  e.append(...kids);
  return e;
}

/** Set attributes of an SVG element; null removes one. */
export function set(e, attrs) {
  for (const [k, v] of Object.entries(attrs)) {
    if (k === "text") e.textContent = v;
    else if (v == null) e.removeAttribute(k);
    else e.setAttribute(k, v);
  }
  return e;
}

// ---- numbers and words, as Python's contextual.widgets.base writes them --------------

export const clamp = (x, a, b) => Math.min(b, Math.max(a, x));
/** x with d digits, ties away from zero, real minus sign, no −0. */
export function fmt(x, d = 2) {
  const text = Math.abs(x).toFixed(d);
  return (x < 0 && Number(text) !== 0 ? "\u2212" : "") + text;
}
/** .833, 1.000, −.050: no digit before the point that says nothing. */
export const dec = (x, d = 3) => fmt(x, d).replace(/^(\u2212?)0\./, "$1.");
export const whole = (x) => fmt(x, 0).replace(/\B(?=(\d{3})+$)/g, ",");
/** A share of 1 in whole per cents; below half a per cent it says so. */
export function pct(x) {
  if (x < 0.005) return x === 0 ? "0 %" : "<1 %";
  return `${Math.floor(100 * x + 0.5 + 1e-9)} %`;
}
export const deg = (x) => `${fmt(x, 1)}°`;
/** Degrees wrapped to (−180, 180]. */
export function wrap(x) {
  const r = (180 - x) % 360;
  return 180 - (r < 0 ? r + 360 : r);
}
/** A token as it is spoken: "space bank". */
export const spoken = (t) =>
  t.replace(/\n/g, " newline ").replace(/\t/g, " tab ").replace(/^ /, "space ").trim() || "space";
const NAMED = new Set(["bank", "river", "money", "blood"]);
/** The class that gives a word its hue and edge through the whole book. */
export const hue = (word) => {
  const w = word.trim().toLowerCase();
  return NAMED.has(w) ? `ftc-w-${w}` : "";
};
export function bytes(b64) {
  return Uint8Array.from(atob(b64), (c) => c.charCodeAt(0));
}

// ---- maths that repeats Python; each is tested against it ----------------------------

export const dot = (a, b) => a.reduce((t, x, i) => t + x * b[i], 0);
export const norm = (a) => Math.sqrt(dot(a, a));
/** 0 where a vector has no direction, as contextual.vectors.cosine says. */
export function cosine(a, b) {
  const n = norm(a) * norm(b);
  return n ? dot(a, b) / n : 0;
}
/** Shares of x; closed places (open[i] false) are exactly 0; all closed: all 0. */
export function softmax(x, open = null) {
  const y = x.map((v, i) => (open && !open[i] ? -Infinity : v));
  const m = Math.max(...y);
  const e = y.map((v) => (v === -Infinity ? 0 : Math.exp(v - m)));
  const t = e.reduce((a, b) => a + b, 0);
  return e.map((v) => (t ? v / t : 0));
}
export const frequencies = (d, base) =>
  Array.from({ length: d / 2 }, (_, i) => base ** ((-2 * i) / d));
export const rotate2 = ([x, y], a) => [
  x * Math.cos(a) - y * Math.sin(a),
  x * Math.sin(a) + y * Math.cos(a),
];

// ---- state ----------------------------------------------------------------------------

/** Values in, one drawing a frame out. Saves at once when a hand lets go (final), at most
    ten times a second while it drags. */
export function store(model, { signal } = {}) {
  let due = 0, timer = 0;
  const draws = new Set();
  const run = () => { due = 0; for (const d of draws) d(); };
  const paint = () => { due ||= requestAnimationFrame(run); };
  const save = () => { clearTimeout(timer); timer = 0; model.save_changes(); };
  model.on("change", paint);
  signal?.addEventListener("abort", () => {
    model.off("change", paint);
    cancelAnimationFrame(due);
    clearTimeout(timer);
    draws.clear();
  }, { once: true });
  return {
    signal, paint, now: run, why: "", notes: [],
    get: (k) => model.get(k),
    set(k, v, final = true) {
      this.why = "";
      model.set(k, v);
      paint();
      if (final) save(); else timer ||= setTimeout(save, 100);
    },
    draw(fn) { draws.add(fn); },
  };
}
/** A control's key is a trait's name, or {get, set} for what is made of several. */
const bind = (st, key) =>
  typeof key === "string" ? { get: () => st.get(key), set: (v, f) => st.set(key, v, f) } : key;

/** The bytes of a stored part: in Jupyter they are there; in the page, fetched when asked. */
async function part(st, name) {
  const p = st.get("parts")[name];
  return bytes(typeof p === "string" ? p : await window.ftc.load(p.file));
}

// ---- the frame every widget lives in ----------------------------------------------------

/** Title, question, controls, picture, sentence, more, source, in this order. */
export function frame(el, { title, question, source }, signal) {
  const id = uid(), div = (c) => h("div", { class: `ftc-${c}` });
  const box = div("controls"), picture = div("picture"), after = div("after");
  const words = h("p", { class: "ftc-words" }), live = h("p", { class: "ftc-sr", role: "status" });
  const setTo = h("p", { class: "ftc-set" });
  el.classList.add("ftc");
  el.append(h("div", { class: "ftc-body", role: "group", "aria-labelledby": id },
    h("div", { class: "ftc-head" }, h("p", { id, class: "ftc-title", text: title }),
      h("span", { class: "ftc-badge", text: "live: move it" })),
    h("p", { class: "ftc-question", text: question }),
    box, setTo, picture, words, live, after, h("p", { class: "ftc-source", text: source })));
  let timer = 0, first = true, width = picture.clientWidth;
  const watch = new ResizeObserver(([e]) => {
    if (Math.abs(e.contentRect.width - width) < 0.5) return;
    width = e.contentRect.width;
    ui.resized();
  });
  watch.observe(picture);
  signal?.addEventListener("abort", () => {
    watch.disconnect();
    clearTimeout(timer);
    el.replaceChildren();
    el.classList.remove("ftc");
  }, { once: true });
  const ui = {
    picture, after, resized() {},
    controls: (...nodes) => box.append(...nodes),
    width: () => width,
    /** The visible sentence now, the spoken one 600 ms after the last change. */
    say(text) {
      if (words.textContent === text) return;
      words.textContent = text;
      clearTimeout(timer);
      if (!first) timer = setTimeout(() => { live.textContent = text; }, 600);
      first = false;
    },
    printed(text) { if (setTo.textContent !== text) setTo.textContent = text; },
  };
  return ui;
}

/** A widget out of its pure functions and its drawing; see the top of this file. */
export function widget(spec) {
  const render = ({ model, el, signal }) => {
    const own = signal ? null : new AbortController(), end = signal ?? own.signal;
    const st = store(model, { signal: end }), all = () => Object.fromEntries(spec.traits.map((k) => [k, st.get(k)]));
    const { title, source } = spec, ask = spec.question; // a text, or made from the first state
    const ui = frame(el, { title, source, question: typeof ask === "string" ? ask : ask(all()) }, end);
    const draw = spec.build(ui, st, all()), ready = new Map();
    const fetch = (name, state) => {
      ready.set(name, null);
      part(st, name).then(
        (raw) => { ready.set(name, { data: spec.prepare(raw, state) }); st.paint(); },
        () => { ready.delete(name); ui.say("These numbers could not be loaded: go online, or choose again."); });
    };
    const step = () => {
      const state = all(), name = spec.part?.(state);
      if (name != null && !ready.has(name)) fetch(name, state);
      if (name != null && !ready.get(name)) { ui.say("Loading the numbers …"); return; }
      const data = name == null ? undefined : ready.get(name).data;
      const result = spec.compute(state, data);
      draw(state, result, data);
      ui.say([spec.describe(state, result, data), st.why].filter(Boolean).join(" "));
      ui.printed(`Set to: ${st.notes.map((note) => note()).join(" · ")}`);
    };
    st.draw(step);
    ui.resized = st.paint;
    const first = spec.part?.(all()), here = first != null && st.get("parts")[first];
    if (typeof here === "string") ready.set(first, { data: spec.prepare(bytes(here), all()) });
    st.now();
    if (own) return () => own.abort();
  };
  return { ...spec, render };
}

// ---- controls: native elements only ------------------------------------------------------

const quiet = { "data-lm-suppress-shortcuts": "true" };

/** A range with its value beside it; `exact` makes the value a number field. */
export function slider(st, key, { label, min, max, step = 1, say = whole, exact = false }) {
  const id = uid(), v = bind(st, key);
  const input = h("input", { ...quiet, id, type: "range", min, max, step });
  const out = exact
    ? h("input", { ...quiet, type: "number", class: "ftc-number", min, max, step,
      inputMode: "numeric", "aria-label": `${label}, exact` })
    : h("span", { class: "ftc-out", "aria-hidden": "true" }); // an <output> would speak too
  let typing = false;
  const put = (x, final) => {
    const to = Number((Math.round((clamp(x, min, max) - min) / step) * step + min).toFixed(10));
    if (Number.isFinite(x)) v.set(to, final);
    if (!Number.isFinite(x)) st.why = `${label} stays at ${say(v.get())}: no number was given.`;
    else if (x < min || x > max) st.why = `${label} goes from ${say(min)} to ${say(max)}.`;
    st.paint();
  };
  input.addEventListener("input", () => put(input.valueAsNumber, false));
  input.addEventListener("change", () => put(input.valueAsNumber, true));
  if (exact) {
    const done = () => { if (typing) { typing = false; put(out.valueAsNumber, true); } };
    out.addEventListener("input", (e) => {
      if (e.inputType) typing = true; else put(out.valueAsNumber, true); // its own arrows
    });
    out.addEventListener("change", done);
    out.addEventListener("blur", done);
  }
  st.draw(() => {
    const now = v.get();
    if (input.valueAsNumber !== now) input.value = now;
    input.setAttribute("aria-valuetext", say(now));
    if (!exact) out.textContent = say(now);
    else if (!typing && out.valueAsNumber !== now) out.value = now;
  });
  st.notes.push(() => `${label} ${say(v.get())}`);
  return h("div", { class: `ftc-control ftc-slider ${exact ? "" : "ftc-inline"}` }, h("label", { htmlFor: id, text: label }), input, out);
}

/** One of several, options [{value, label}]: radios up to `radios` of them, else a select;
    `wide` takes a line of its own. A value that is none of them (set from Python) shows as one more. */
export function choice(st, key, { label, options, radios = 5, other = String, wide = false }) {
  const v = bind(st, key), at = () => options.findIndex((o) => o.value === v.get());
  st.notes.push(() => `${label} ${options[at()]?.label ?? other(v.get())}`);
  if (options.length > radios) return select(st, v, { label, options, at, other, wide });
  const name = uid();
  const radio = (o) => h("input", { ...quiet, type: "radio", name, onchange: () => v.set(o.value) });
  const boxes = options.map(radio), rest = h("input", { ...quiet, type: "radio", name });
  const pill = (box, text) => h("label", { class: "ftc-pill" }, box, text);
  const restText = h("span"), restPill = pill(rest, restText);
  st.draw(() => {
    const i = at();
    boxes.forEach((b, j) => { b.checked = i === j; });
    restPill.hidden = i >= 0 || other(v.get()) === "";
    rest.checked = !restPill.hidden;
    if (i < 0) restText.textContent = other(v.get());
  });
  return h("fieldset", { class: `ftc-control ftc-choice ${wide ? "ftc-wide" : ""}` }, h("legend", { text: label }),
    h("div", { class: "ftc-pills" },
      ...options.map((o, i) => pill(boxes[i], h("span", { text: o.label }))), restPill));
}
function select(st, v, { label, options, at, other, wide }) {
  const id = uid(), option = (o) => h("option", { text: o.label });
  const rest = h("option"), sel = h("select", { ...quiet, id });
  sel.append(...options.map(option));
  sel.addEventListener("change", () => {
    if (sel.selectedIndex < options.length) v.set(options[sel.selectedIndex].value);
  });
  st.draw(() => {
    const i = at();
    if (i < 0) { rest.textContent = other(v.get()); sel.append(rest); } else rest.remove();
    sel.selectedIndex = i < 0 ? options.length : i;
  });
  return h("div", { class: `ftc-control ftc-select ${wide ? "ftc-wide" : ""}` }, h("label", { htmlFor: id, text: label }), sel);
}

/** A check box. */
export function toggle(st, key, { label }) {
  const v = bind(st, key);
  const box = h("input", { ...quiet, type: "checkbox", onchange: () => v.set(box.checked) });
  st.draw(() => { box.checked = v.get(); });
  st.notes.push(() => `${label}: ${v.get() ? "yes" : "no"}`);
  return h("div", { class: "ftc-control ftc-toggle" },
    h("label", { class: "ftc-pill" }, box, h("span", { text: label })));
}

/** A line of text (or `lines` of them), taken on Enter or on leaving, with words to choose
    from. check(text) returns a sentence if the text will not do: then the last one stays. */
export function field(st, key, { label, maxLength = 120, options = [], check = () => "", lines = 1 }) {
  const id = uid(), v = bind(st, key), list = options.length ? uid() : null;
  const input = h(lines > 1 ? "textarea" : "input",
    { ...quiet, id, maxLength, list, rows: lines > 1 ? lines : null, spellcheck: false,
      autocomplete: "off", class: "ftc-text" });
  let typing = false;
  const done = () => {
    if (!typing) return;
    typing = false;
    const text = input.value, why = check(text);
    if (!why) v.set(text);
    st.why = why;
    st.paint();
  };
  input.addEventListener("input", () => { typing = true; });
  input.addEventListener("change", done);
  st.draw(() => { if (!typing && input.value !== v.get()) input.value = v.get(); });
  st.notes.push(() => `${label} ${v.get()}`);
  return h("div", { class: "ftc-control ftc-field" }, h("label", { htmlFor: id, text: label }), input,
    list && h("datalist", { id: list }, ...options.map((value) => h("option", { value }))));
}

/** A row of words to pick one from: a native radio group drawn as chips. tokens() returns
    [{text, sub}]; a new list is drawn anew. A leading space is a small bracket. */
export function words(st, key, { label, tokens }) {
  const v = bind(st, key), name = uid(), row = h("div", { class: "ftc-chips" });
  let shown = null, boxes = [];
  st.draw(() => {
    const list = tokens();
    if (list !== shown) {
      shown = list;
      boxes = list.map((t, i) => h("input", { ...quiet, type: "radio", name,
        "aria-label": [spoken(t.text), t.sub].filter(Boolean).join(", "), onchange: () => v.set(i) }));
      row.replaceChildren(...list.map((t, i) => h("label", { class: `ftc-chip ${hue(t.text)}` }, boxes[i],
        h("span", { class: "ftc-face" }, token(t.text), t.sub ? h("small", { text: t.sub }) : null))));
    }
    boxes.forEach((b, i) => { b.checked = i === v.get(); });
  });
  st.notes.push(() => `${label} ${shown?.[v.get()]?.text.trim() ?? ""}`);
  return h("fieldset", { class: "ftc-words-row" }, h("legend", { text: label }), row);
}
/** A token's text, its leading space drawn. */
export const token = (text) =>
  h("span", { class: text.startsWith(" ") ? "ftc-space" : "", text: text.trim() || "\u00a0" });

// ---- marks --------------------------------------------------------------------------------

const CIVIDIS = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56]];
/** The colour of a weight between 0 and 1, always on this one scale. */
export function cividis(t) {
  const x = clamp(t, 0, 1) * 9, i = Math.min(8, Math.floor(x));
  return `rgb(${CIVIDIS[i].map((c, k) => Math.round(c + (CIVIDIS[i + 1][k] - c) * (x - i))).join(",")})`;
}
/** The ink that can be read on it: both inks have a contrast above 4.5 at the border. */
export const ink = (t) => (t > 0.465 ? "#000" : "#fff");

/** A table of weights: rows read, columns are read. set(i, j, share), null where the mask
    is closed; select(i) marks a reader. pick(i) is called when a row is tapped. */
export function weights({ caption, rows, cols, firstIsSink = false, pick }) {
  const cells = rows.map(() => cols.map((_, j) => h("td", { class: firstIsSink && j === 0 ? "ftc-sink" : "" })));
  const last = rows.map(() => cols.map(() => undefined));
  const lines = rows.map((r, i) => h("tr", { onclick: () => pick?.(i) },
    h("th", { scope: "row", text: r }), ...cells[i]));
  const head = (c, j) => h("th", { scope: "col", class: firstIsSink && j === 0 ? "ftc-sink" : "" }, h("span", { text: c }));
  const table = h("table", { class: "ftc-grid" }, h("caption", { text: caption }),
    h("colgroup", {}, h("col"), ...cols.map(() => h("col"))),
    h("thead", {},
      firstIsSink ? h("tr", { "aria-hidden": "true" }, h("td"),
        h("td", { class: "ftc-sink-name", colSpan: cols.length, text: "first word (sink)" })) : null,
      h("tr", {}, h("td", { class: "ftc-corner", text: "reads ↓\nis read →" }), ...cols.map(head))),
    h("tbody", {}, ...lines));
  const node = h("div", { class: "ftc-scroll" }, table);
  return {
    node,
    set(i, j, x) {
      if (last[i][j] === x) return;
      const td = cells[i][j], closed = !x, text = closed ? "0" : pct(x).replace(" %", "");
      if (closed !== !last[i][j] || last[i][j] === undefined) td.classList.toggle("ftc-closed", closed);
      last[i][j] = x;
      if (td.textContent !== text) td.textContent = text;
      td.style.background = closed ? "" : cividis(x);
      td.style.color = closed ? "" : ink(x);
    },
    select(i) {
      lines.forEach((tr, k) => tr.classList.toggle("ftc-chosen", k === i));
    },
  };
}

/** A short list with bars: items [{label, value 0..1, text}] are given to show(). */
export function ranked(n) {
  const rows = Array.from({ length: n }, () => {
    const name = h("span", { class: "ftc-name" }), bar = h("span", { class: "ftc-bar" }), text = h("span", { class: "ftc-out" });
    return { li: h("li", {}, name, h("span", { class: "ftc-track" }, bar), text), name, bar, text };
  });
  return {
    node: h("ol", { class: "ftc-ranked" }, ...rows.map((r) => r.li)),
    show(items) {
      rows.forEach((r, i) => {
        r.li.hidden = i >= items.length;
        if (r.li.hidden) return;
        r.name.textContent = items[i].label;
        r.text.textContent = items[i].text;
        r.bar.style.width = `${100 * clamp(items[i].value, 0, 1)}%`;
      });
    },
  };
}

/** The d of a path through points [x, y]. */
export const line = (points) =>
  points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

/** A circle round (x, y) with room for hands: angle in radians, 0 at three o'clock,
    anticlockwise, as contextual.position.rotate turns. */
export function dial(x, y, r) {
  return s("g", { transform: `translate(${x} ${y})` }, s("circle", { r, class: "ftc-dial" }));
}
/** One hand of a dial, in the hue and dash of its word; turn(angle) moves it. With a `rim`
    the word stands outside it, `shift` radians further so that two words do not meet. */
export function hand(g, r, word, rim = 0) {
  const stroke = s("line", { class: `ftc-hand ${hue(word)}` });
  const tip = s("circle", { r: r > 30 ? 5 : 0, class: `ftc-tip ${hue(word)}` });
  const label = s("text", { class: `ftc-label ${hue(word)}`, text: rim ? word : "" });
  g.append(stroke, tip, label);
  return {
    turn(angle, shift = 0) {
      const x = r * Math.cos(angle), y = -r * Math.sin(angle);
      set(stroke, { x2: x.toFixed(2), y2: y.toFixed(2) });
      set(tip, { cx: x.toFixed(2), cy: y.toFixed(2) });
      if (!rim) return;
      const a = angle + shift, far = rim + 14 + 9 * Math.abs(Math.cos(a));
      set(label, { x: (far * Math.cos(a)).toFixed(1), y: (5 - far * Math.sin(a)).toFixed(1) });
    },
  };
}
/** The d of the arc of radius r from angle a by `turn` radians. */
export function arc(r, a, turn) {
  const p = (t) => `${(r * Math.cos(t)).toFixed(2)} ${(-r * Math.sin(t)).toFixed(2)}`;
  return `M${p(a)}A${r} ${r} 0 ${Math.abs(turn) > Math.PI ? 1 : 0} ${turn > 0 ? 0 : 1} ${p(a + turn)}`;
}
