// All that the site needs from a script: colours, drawers, copy buttons, search, boxes that scroll.
// Every page can be read without it. No inline code, no eval: see the policy in each page's head.
(() => {
  const root = document.documentElement;
  const one = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];

  // Light, dark, or what the system says. Runs in the head, before anything is painted.
  const MODES = ["auto", "light", "dark"];
  const system = matchMedia("(prefers-color-scheme: dark)");
  const saved = () => { try { return localStorage.getItem("mode"); } catch { return null; } };
  const save = mode => { try { localStorage.setItem("mode", mode); } catch { /* not kept */ } };
  function paint(mode) {
    root.dataset.mode = mode;
    root.dataset.theme = mode === "auto" ? (system.matches ? "dark" : "light") : mode;
  }
  paint(MODES.includes(saved()) ? saved() : "auto");
  system.addEventListener("change", () => paint(root.dataset.mode));

  function modeButtons() {
    const name = mode => `Colours: ${{ auto: "as the system", light: "light", dark: "dark" }[mode]}`;
    for (const button of all(".theme-switch-button")) {
      const words = one(".visually-hidden", button);
      words.textContent = button.title = name(root.dataset.mode);
      button.addEventListener("click", () => {
        const mode = MODES[(MODES.indexOf(root.dataset.mode) + 1) % 3];
        paint(mode); save(mode);
        words.textContent = button.title = name(mode);
      });
    }
  }

  // Narrow: a drawer over the page. Wide: the column folds away.
  function drawer(name, wide) {
    const toggle = one(`.${name}-toggle`), side = one(`#pst-${name}-sidebar`), dialog = one(`#pst-${name}-sidebar-modal`);
    if (!toggle || !side || !dialog) return;
    const move = (from, to) => { to.append(...from.childNodes); to.classList.add(...from.classList); from.className = ""; };
    const fold = () => toggle.setAttribute("aria-expanded", String(!side.classList.toggle("pst-sidebar-hidden")));
    toggle.addEventListener("click", () => {
      if (matchMedia(`(min-width: ${wide}px)`).matches) return fold();
      move(side, dialog); dialog.showModal(); toggle.setAttribute("aria-expanded", "true");
    });
    dialog.addEventListener("close", () => { move(dialog, side); toggle.setAttribute("aria-expanded", "false"); toggle.focus(); });
    dialog.addEventListener("click", event => { if (event.target === dialog || event.target.closest("a")) dialog.close(); });
  }

  function copyButtons() {
    if (!navigator.clipboard) return;
    for (const pre of all("div.highlight > pre")) {
      if (pre.closest(".cell_output")) continue;
      const button = document.createElement("button");
      button.type = "button"; button.className = "copy"; button.textContent = "Copy";
      button.addEventListener("click", async () => {
        try { await navigator.clipboard.writeText(pre.textContent); button.textContent = "Copied"; }
        catch { button.textContent = "Not allowed"; }
        setTimeout(() => { button.textContent = "Copy"; }, 1500);
      });
      pre.parentNode.append(button);
    }
  }

  // A box that scrolls must take the keyboard's focus, and must have a name then.
  function scrollBoxes() {
    const name = box => box.matches("pre") ? "Code or output, scrolls" : "Formula, scrolls";
    const sizes = new ResizeObserver(entries => {
      const boxes = entries.map(entry => entry.target);
      const wide = boxes.map(box => box.scrollWidth > box.clientWidth + 1);
      boxes.forEach((box, i) => {
        const marks = { tabindex: "0", role: "group", "aria-label": name(box) };
        for (const [key, value] of Object.entries(marks)) wide[i] ? box.setAttribute(key, value) : box.removeAttribute(key);
      });
    });
    all("pre, div.math").forEach(box => sizes.observe(box));
  }

  // The heading that is being read is marked in the list of the page's headings.
  function contents() {
    const links = new Map(all("#pst-page-toc-nav a").map(a => [decodeURIComponent(a.hash.slice(1)), a]));
    const seen = new Set();
    const mark = current => links.forEach((a, id) => {
      a.classList.toggle("active", id === current);
      if (id === current) a.setAttribute("aria-current", "true"); else a.removeAttribute("aria-current");
    });
    const watch = new IntersectionObserver(entries => {
      for (const e of entries) e.isIntersecting ? seen.add(e.target.id) : seen.delete(e.target.id);
      const first = [...links.keys()].find(id => seen.has(id));
      if (first) mark(first);
    }, { rootMargin: "-80px 0px -60% 0px" });
    for (const id of links.keys()) { const section = document.getElementById(id); if (section) watch.observe(section); }
  }

  function search() {
    const dialog = one("#pst-search-dialog");
    const open = () => { dialog?.showModal(); one("input", dialog)?.select(); };
    all(".search-button__button").forEach(button => button.addEventListener("click", open));
    dialog?.addEventListener("click", event => { if (event.target === dialog) dialog.close(); });
    addEventListener("keydown", event => {
      if ((event.ctrlKey || event.metaKey) && event.key === "k" && dialog) { event.preventDefault(); open(); }
    });
    if (one("#search-results")) one(".bd-search-container input")?.focus();
  }

  // On a phone the strip of stages scrolls: start with this page's stage in sight.
  function strip() {
    const here = one(".stages [aria-current]"), row = here?.closest("ol");
    if (row) row.scrollLeft = here.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
  }

  addEventListener("beforeprint", () => all("article details").forEach(fold => { fold.open = true; }));
  addEventListener("DOMContentLoaded", () => {
    modeButtons(); strip(); search(); drawer("primary", 992); drawer("secondary", 1200); contents();
    (window.requestIdleCallback ?? (later => setTimeout(later, 50)))(() => { copyButtons(); scrollBoxes(); });
  });
})();
