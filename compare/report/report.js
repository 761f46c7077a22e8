// Shows one page of the report at a time and draws figures when they scroll into view.
// Without this script the pages follow each other, with tables and without figures.
"use strict";
(() => {
  const root = document.documentElement;
  const pages = [...document.querySelectorAll(".page")];
  const hidden = new Set(); // names of schemes that the user has switched off
  const drawn = new Map(); // canvas -> spec
  const scrolled = new Map(); // page -> scroll position when it was left
  root.classList.add("js");

  // -- pages: #scenario/stress ---------------------------------------------------------------------------------
  let current = null;
  let followed = false; // true after a click on a link; false for back and forward

  function show(page) {
    if (page === current) return;
    current = page;
    for (const each of pages) each.classList.toggle("current", each === page);
    for (const link of document.querySelectorAll(".side a")) {
      if (link.hash.slice(1) === page.id) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${page.dataset.title} · ${document.body.dataset.title}`;
    menu(false);
    for (const canvas of page.querySelectorAll(".canvas")) {
      if (drawn.has(canvas)) Plotly.Plots.resize(canvas);
      else seen.observe(canvas);
    }
  }

  function route(first) {
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* not a valid link: show the first page */ }
    const target = document.getElementById(name);
    const page = (target && target.closest(".page")) || pages[0];
    show(page);
    if (target && target !== page) target.scrollIntoView();
    else if (!first) window.scrollTo(0, followed ? 0 : scrolled.get(page) || 0);
    if (!first && (!target || target === page)) page.querySelector("h1").focus({ preventScroll: true });
    followed = false;
  }

  addEventListener("hashchange", () => route(false));
  addEventListener("scroll", () => current && scrolled.set(current, scrollY), { passive: true });
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("a[href^='#']");
    if (!link) return;
    if (link.classList.contains("skip")) {
      event.preventDefault();
      current.querySelector("h1").focus();
    } else followed = true;
  });

  const button = document.querySelector(".pages-button");
  function menu(open) {
    button.setAttribute("aria-expanded", String(open));
    document.getElementById(button.getAttribute("aria-controls")).classList.toggle("closed", !open);
  }
  button.addEventListener("click", () => menu(button.getAttribute("aria-expanded") !== "true"));

  // -- light and dark ------------------------------------------------------------------------------------------
  const system = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = document.querySelector(".theme-button");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  function themed() {
    themeButton.textContent = isDark() ? "Light" : "Dark";
    for (const canvas of drawn.keys()) draw(canvas);
  }
  themeButton.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* the browser does not allow storage */ }
    themed();
  });
  try { if (localStorage.getItem("theme")) root.dataset.theme = localStorage.getItem("theme"); } catch { /* the same */ }
  system.addEventListener("change", themed);

  // -- figures -------------------------------------------------------------------------------------------------
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting || drawn.has(target)) continue;
      seen.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "400px" });

  const specs = new Map();
  function specOf(canvas) {
    const name = canvas.dataset.of;
    if (!specs.has(name)) specs.set(name, JSON.parse(document.getElementById(name).textContent));
    return specs.get(name)[Number(canvas.dataset.index)];
  }

  function colours() {
    const style = getComputedStyle(root);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    return { ink: of("ink"), soft: of("soft"), surface: of("page"), line: of("line"), panel: of("panel") };
  }

  // returns a copy with the page's colours in place of "ink", "soft" and "surface"
  function inked(value, colour) {
    if (Array.isArray(value)) return typeof value[0] === "object" && value[0] ? value.map((v) => inked(v, colour)) : value;
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([key, v]) => [key,
      key.endsWith("color") && typeof v === "string" && v in colour ? colour[v] : inked(v, colour)]));
  }

  function template(colour) {
    const axis = {
      gridcolor: colour.line, linecolor: colour.soft, tickcolor: colour.soft, showline: true, zeroline: false, ticks: "outside", ticklen: 4,
      tickfont: { color: colour.soft, size: 11 }, title: { font: { size: 12, color: colour.ink }, standoff: 8 }, minor: { ticks: "" },
    };
    return { layout: {
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour.ink },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false, xaxis: axis, yaxis: axis,
      hoverlabel: { bgcolor: colour.panel, bordercolor: colour.soft, font: { color: colour.ink, size: 12 }, align: "left" },
    } };
  }

  function draw(canvas) {
    const spec = specOf(canvas);
    const colour = colours();
    const data = spec.data.map((trace) => ({
      ...inked(trace, colour), ...(spec.x && !trace.x ? { x: spec.x } : {}), visible: !hidden.has(trace.meta),
    }));
    const layout = {
      ...inked(spec.layout, colour), template: template(colour),
      margin: { l: 58, r: 16, t: 12, b: 46, ...spec.layout.margin },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    };
    if (!drawn.has(canvas)) canvas.replaceChildren();
    const fresh = !drawn.has(canvas);
    drawn.set(canvas, spec);
    Plotly.react(canvas, data, layout, { displayModeBar: false, responsive: true, doubleClick: "reset" });
    if (fresh && canvas.dataset.kind === "timelines") instants(canvas, spec);
    else if (canvas.dataset.kind === "timelines") canvas.readOut();
  }

  for (const toggle of document.querySelectorAll(".schemes button")) {
    toggle.addEventListener("click", () => {
      const name = toggle.dataset.scheme;
      if (!hidden.delete(name)) hidden.add(name);
      for (const each of document.querySelectorAll(".schemes button")) {
        each.setAttribute("aria-pressed", String(!hidden.has(each.dataset.scheme)));
      }
      for (const [canvas, spec] of drawn) {
        Plotly.restyle(canvas, { visible: spec.data.map((trace) => !hidden.has(trace.meta)) });
        if (canvas.readOut) canvas.readOut();
      }
    });
  }

  // -- all values at one instant -------------------------------------------------------------------------------
  const written = (value) => (value === null || value === undefined ? "–"
    : Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));

  function instants(canvas, spec) {
    const box = canvas.closest("figure").querySelector(".readout");
    const [slider, output] = [box.querySelector("input"), box.querySelector("output")];
    const rows = [...box.querySelectorAll("tbody tr")];
    slider.max = String(spec.x.length - 1);
    slider.value = String(Math.floor(spec.x.length / 2));

    canvas.readOut = () => {
      const index = Number(slider.value);
      const time = spec.x[index];
      output.textContent = `${time.toFixed(2)} s`;
      slider.setAttribute("aria-valuetext", `${time.toFixed(2)} seconds`);
      for (const row of rows) {
        row.hidden = hidden.has(row.dataset.scheme);
        [...row.cells].slice(1).forEach((cell, panel) => {
          const axis = `y${panel ? panel + 1 : ""}`;
          const line = spec.data.find((trace) => trace.meta === row.dataset.scheme && trace.yaxis === axis);
          cell.textContent = written(line && line.y[index]);
        });
      }
      Plotly.relayout(canvas, { shapes: [{ type: "line", xref: "x", yref: "paper", x0: time, x1: time, y0: 0, y1: 1,
        line: { color: colours().soft, width: 1 } }] });
    };
    slider.addEventListener("input", canvas.readOut);
    canvas.on("plotly_hover", (event) => {
      const index = event.points[0].pointIndex;
      if (String(index) === slider.value) return;
      slider.value = String(index);
      canvas.readOut();
    });
    canvas.readOut();
  }

  // -- tables --------------------------------------------------------------------------------------------------
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      if (!heading.hasAttribute("aria-sort")) return;
      const sorter = document.createElement("button");
      sorter.type = "button";
      sorter.append(...heading.childNodes);
      heading.append(sorter);
      sorter.addEventListener("click", () => {
        const before = heading.getAttribute("aria-sort");
        const rising = before === "none" ? heading.dataset.better !== "1" : before === "descending";
        for (const other of heading.parentNode.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
        heading.setAttribute("aria-sort", rising ? "ascending" : "descending");
        const key = (row) => (row.cells[column].dataset.value === undefined ? NaN : Number(row.cells[column].dataset.value));
        const sorted = [...body.rows].sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
          return rising ? x - y : y - x;
        });
        body.append(...sorted);
      });
    });
  }

  for (const tabs of document.querySelectorAll(".tabs")) {
    const buttons = [...tabs.querySelectorAll("button")];
    const choose = (chosen) => buttons.forEach((each) => {
      each.setAttribute("aria-selected", String(each === chosen));
      each.tabIndex = each === chosen ? 0 : -1;
      document.getElementById(each.getAttribute("aria-controls")).hidden = each !== chosen;
    });
    tabs.addEventListener("click", (event) => event.target.closest("button") && choose(event.target.closest("button")));
    tabs.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = buttons[(buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length];
      choose(next);
      next.focus();
    });
    choose(buttons[0]);
  }

  // -- paper ---------------------------------------------------------------------------------------------------
  const PAPER_PX = 680;
  let screenTheme;
  addEventListener("beforeprint", () => {
    screenTheme = root.dataset.theme;
    root.dataset.theme = "light";
    for (const canvas of current.querySelectorAll(".canvas")) {
      draw(canvas);
      Plotly.relayout(canvas, { width: Math.min(canvas.clientWidth, PAPER_PX) });
    }
  });
  addEventListener("afterprint", () => {
    if (screenTheme === undefined) delete root.dataset.theme;
    else root.dataset.theme = screenTheme;
    for (const canvas of current.querySelectorAll(".canvas")) Plotly.relayout(canvas, { width: null, autosize: true });
    themed();
  });

  themed();
  route(true);
})();
