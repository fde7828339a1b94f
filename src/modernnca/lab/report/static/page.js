"use strict";
// Theme, groups, sorting and filtering; the page can be read without any of it.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;

  // Light or dark: as the system asks, until the button says otherwise.
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const kept = {
    get() { try { return localStorage.getItem("modernnca-theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("modernnca-theme", theme); } catch { /* a file may not keep it */ } },
  };
  const show_theme = () => button.setAttribute("aria-pressed", String(dark()));
  if (kept.get()) root.dataset.theme = kept.get();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    kept.set(root.dataset.theme);
    show_theme();
  });
  system.addEventListener("change", show_theme);
  show_theme();

  // Sorting: numbers as numbers, text as text, cells without a value at the end.
  const value = (cell) => {
    if (cell.dataset.v === undefined) return cell.textContent.trim();
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  const absent = (v) => v === null || v === "";
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, place) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row.cells[place]), row]);
        rows.sort(([a], [b]) => {
          if (absent(a) || absent(b)) return absent(a) - absent(b);
          return down ? compare(b, a) : compare(a, b);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  // Groups and filters: which panels and which tables of the benchmark are shown.
  const tasks = { all: null, classification: ["binclass", "multiclass"], regression: ["regression"] };
  const form = document.getElementById("filter");
  const asked = (name) => (form ? form.elements[name].value.trim() : "");
  const within = (row, what) => {
    const [from, to] = [asked(`${what}-from`), asked(`${what}-to`)];
    if (from === "" && to === "") return true;
    const size = row.dataset[what];
    return size !== "" && (from === "" || +size >= +from) && (to === "" || +size <= +to);
  };
  const fits = (row, group) =>
    (!tasks[group] || tasks[group].includes(row.dataset.task)) &&
    (asked("task") === "" || row.dataset.task === asked("task")) &&
    row.dataset.dataset.toLowerCase().includes(asked("dataset").toLowerCase()) &&
    within(row, "rows") && within(row, "columns");

  // Average ranks on these rows, as in the main table (_compared in contest.py): of the
  // methods and rows, all of which met, that have most scores. Equals share the mean of
  // their ranks, no score is last, and the others have null.
  const gaps = (row) => [...row.cells].slice(1).map((cell) =>
    cell.dataset.v === undefined ? null : cell.dataset.v === "" ? Infinity : Number(cell.dataset.v));
  const averages = (rows, n_methods) => {
    const kinds = [true, false].map((regression) =>
      rows.filter((row) => (row.dataset.task === "regression") === regression).map(gaps))
      .filter((kind) => kind.length);
    const shares = [...Array(n_methods).keys()].map((place) => Math.min(...kinds.map(
      (kind) => kind.filter((row) => row[place] !== null).length / kind.length)));
    let [places, whole] = [[], []];
    for (const least of [...new Set(shares)].filter((share) => share > 0).sort((a, b) => b - a)) {
      const chosen = [...shares.keys()].filter((place) => shares[place] >= least);
      const parts = kinds.map((kind) =>
        kind.map((row) => chosen.map((place) => row[place])).filter((row) => !row.includes(null)));
      const met = parts.flat();
      if (parts.every((part) => part.length) && chosen.length * met.length > places.length * whole.length)
        [places, whole] = [chosen, met];
    }
    const ranks = Array(n_methods).fill(null);
    places.forEach((place, i) => {
      ranks[place] = whole.reduce((sum, row) => sum + row.filter((gap) => gap < row[i]).length +
        (row.filter((gap) => gap === row[i]).length + 1) / 2, 0) / whole.length;
    });
    return ranks;
  };
  const update = () => {
    const chosen = document.querySelector('input[name="group"]:checked');
    const group = chosen ? chosen.value : "all";
    // Where nothing is said of all tables at once, "all" shows each kind of them.
    const whole = (panel) => panel.parentElement.querySelector(':scope > .panel[data-group="all"]');
    if (chosen) all(".panel").forEach((panel) => {
      panel.hidden = panel.dataset.group !== group && !(group === "all" && !whole(panel));
    });
    all("tr[data-dataset]").forEach((row) => { row.hidden = !fits(row, group); });
    const tables = new Map();
    for (const heatmap of all("table.heat")) {
      const rows = [...heatmap.tBodies[0].rows];
      const shown = rows.filter((row) => !row.hidden);
      rows.forEach((row) => tables.set(row.dataset.dataset, !row.hidden));
      const cells = [...heatmap.querySelector(".live").cells].slice(1);
      averages(shown, cells.length).forEach((rank, place) => {
        cells[place].textContent = rank === null ? "" : rank.toFixed(2);
      });
    }
    const n_shown = [...tables.values()].filter(Boolean).length;
    const count = document.getElementById("shown");
    if (count) count.textContent = `${n_shown} of ${tables.size} tables shown`;
  };
  all('input[name="group"]').forEach((input) => input.addEventListener("change", update));
  if (form) {
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(update));
  }
  update();

  // Findings: by verdict and by study.
  const asked_for = document.getElementById("asked");
  if (asked_for) asked_for.addEventListener("input", () => {
    const { verdict, study } = asked_for.elements;
    all("tr[data-verdict]").forEach((row) => {
      row.hidden = (verdict.value !== "" && row.dataset.verdict !== verdict.value) ||
        (study.value !== "" && row.dataset.study !== study.value);
    });
  });
})();
