"use strict";
// Theme, groups, sorting and filtering; the page is readable without the script.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;

  // Light or dark: follow the system until the button is pressed.
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const stored = {
    get() { try { return localStorage.getItem("modernnca-theme"); } catch { return null; } },
    set(theme) { try { localStorage.setItem("modernnca-theme", theme); } catch { /* not allowed for local files */ } },
  };
  const show_theme = () => button.setAttribute("aria-pressed", String(dark()));
  if (stored.get()) root.dataset.theme = stored.get();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    stored.set(root.dataset.theme);
    show_theme();
  });
  system.addEventListener("change", show_theme);
  show_theme();

  // Sorting: numbers as numbers, text as text, missing values last.
  const value = (cell) => {
    if (cell.dataset.v === undefined) return cell.textContent.trim();
    return cell.dataset.v === "" ? null : Number(cell.dataset.v);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  const absent = (v) => v === null || v === "";
  for (const table of all("table.sortable")) {
    const heads = all("thead th", table);
    heads.forEach((head, index) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row.cells[index]), row]);
        rows.sort(([a], [b]) => {
          if (absent(a) || absent(b)) return absent(a) - absent(b);
          return down ? compare(b, a) : compare(a, b);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  // Groups and filters: which panels and datasets are shown.
  const tasks = { all: null, classification: ["binclass", "multiclass"], regression: ["regression"] };
  const form = document.getElementById("filter");
  const entered = (name) => (form ? form.elements[name].value.trim() : "");
  const within = (row, what) => {
    const [from, to] = [entered(`${what}-from`), entered(`${what}-to`)];
    if (from === "" && to === "") return true;
    const size = row.dataset[what];
    return size !== "" && (from === "" || +size >= +from) && (to === "" || +size <= +to);
  };
  const fits = (row, group) =>
    (!tasks[group] || tasks[group].includes(row.dataset.task)) &&
    (entered("task") === "" || row.dataset.task === entered("task")) &&
    row.dataset.dataset.toLowerCase().includes(entered("dataset").toLowerCase()) &&
    within(row, "rows") && within(row, "columns");

  // Average ranks on these rows, as in the main table (_largest_complete in
  // comparison.py): over the largest complete set of methods and rows. Ties share the
  // mean rank, a missing score ranks last, and methods outside the set have null.
  const gaps = (row) => [...row.cells].slice(1).map((cell) =>
    cell.dataset.v === undefined ? null : cell.dataset.v === "" ? Infinity : Number(cell.dataset.v));
  const averages = (rows, n_methods) => {
    const kinds = [true, false].map((regression) =>
      rows.filter((row) => (row.dataset.task === "regression") === regression).map(gaps))
      .filter((kind) => kind.length);
    const shares = [...Array(n_methods).keys()].map((index) => Math.min(...kinds.map(
      (kind) => kind.filter((row) => row[index] !== null).length / kind.length)));
    let [methods, complete] = [[], []];
    for (const threshold of [...new Set(shares)].filter((share) => share > 0).sort((a, b) => b - a)) {
      const chosen = [...shares.keys()].filter((index) => shares[index] >= threshold);
      const parts = kinds.map((kind) =>
        kind.map((row) => chosen.map((index) => row[index])).filter((row) => !row.includes(null)));
      const common = parts.flat();
      if (parts.every((part) => part.length) && chosen.length * common.length > methods.length * complete.length)
        [methods, complete] = [chosen, common];
    }
    const ranks = Array(n_methods).fill(null);
    methods.forEach((index, i) => {
      ranks[index] = complete.reduce((sum, row) => sum + row.filter((gap) => gap < row[i]).length +
        (row.filter((gap) => gap === row[i]).length + 1) / 2, 0) / complete.length;
    });
    return ranks;
  };
  const update = () => {
    const chosen = document.querySelector('input[name="group"]:checked');
    const group = chosen ? chosen.value : "all";
    // Without a panel for all datasets, "all" shows the panel of each group.
    const has_all = (panel) => panel.parentElement.querySelector(':scope > .panel[data-group="all"]');
    if (chosen) all(".panel").forEach((panel) => {
      panel.hidden = panel.dataset.group !== group && !(group === "all" && !has_all(panel));
    });
    all("tr[data-dataset]").forEach((row) => { row.hidden = !fits(row, group); });
    const datasets = new Map();
    for (const heatmap of all("table.heat")) {
      const rows = [...heatmap.tBodies[0].rows];
      const shown = rows.filter((row) => !row.hidden);
      rows.forEach((row) => datasets.set(row.dataset.dataset, !row.hidden));
      const cells = [...heatmap.querySelector(".live").cells].slice(1);
      averages(shown, cells.length).forEach((rank, index) => {
        cells[index].textContent = rank === null ? "" : rank.toFixed(2);
      });
    }
    const n_shown = [...datasets.values()].filter(Boolean).length;
    const count = document.getElementById("shown");
    if (count) count.textContent = `${n_shown} of ${datasets.size} datasets shown`;
  };
  all('input[name="group"]').forEach((input) => input.addEventListener("change", update));
  if (form) {
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(update));
  }
  update();

  // Findings: filter by verdict and study.
  const finding_filter = document.getElementById("finding-filter");
  if (finding_filter) finding_filter.addEventListener("input", () => {
    const { verdict, study } = finding_filter.elements;
    all("tr[data-verdict]").forEach((row) => {
      row.hidden = (verdict.value !== "" && row.dataset.verdict !== verdict.value) ||
        (study.value !== "" && row.dataset.study !== study.value);
    });
  });
})();
