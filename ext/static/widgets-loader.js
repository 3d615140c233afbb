// Starts the widgets of a page from the block of JSON that ext/widgets.py wrote.
(() => {
  const ftc = window.ftc, block = document.getElementById("ftc-state");
  if (!ftc || !block) return;
  const saved = JSON.parse(block.textContent), models = {}, waiting = {};
  const root = document.currentScript.src.replace(/[^/]*$/, "");
  const model = (values) => {
    const heard = new Set();
    return {
      get: (key) => values[key],
      set(key, value) { values[key] = value; for (const f of heard) f(); },
      on: (_, f) => heard.add(f),
      off: (_, f) => heard.delete(f),
      save_changes() {},
      send() {},
    };
  };
  // Stored numbers in a file of their own: it calls ftc.part(file, base64).
  ftc.part = (file, text) => waiting[file]?.take(text);
  ftc.load = (file) => (waiting[file] ??= (() => {
    let take;
    const script = document.createElement("script");
    const kept = new Promise((yes, no) => {
      take = yes;
      script.onerror = () => { delete waiting[file]; script.remove(); no(new Error(file)); };
    });
    script.src = `${root}widgets/${file}`;
    document.head.append(script);
    return { kept, take };
  })()).kept;
  ftc.mount = (box) => {
    const { widget, state } = saved[box.dataset.ftc], live = document.createElement("div");
    const end = new AbortController(), twin = [...box.childNodes];
    box.replaceChildren(live);
    try {
      const shared = (models[box.dataset.ftc] ??= model(state));
      ftc.widgets[widget].render({ model: shared, el: live, signal: end.signal });
    } catch (error) {
      end.abort();
      box.replaceChildren(...twin);
      console.error(error);
    }
    return { model: models[box.dataset.ftc], end };
  };
  ftc.mounted = [...document.querySelectorAll("[data-ftc]")].map((box) => ftc.mount(box));
})();
