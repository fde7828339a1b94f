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

  // Average ranks of the methods that were run on all these rows, null for the others:
  // equals share the mean of their ranks, and no score is last.
  const averages = (rows) => {
    const gaps = rows.map((row) => [...row.cells].slice(1).map((cell) =>
      cell.dataset.v === undefined ? null : cell.dataset.v === "" ? Infinity : Number(cell.dataset.v)));
    if (!gaps.length) return null;
    const whole = gaps[0].map((_, place) => gaps.every((row) => row[place] !== null));
    const sums = gaps[0].map(() => 0);
    for (const row of gaps) {
      const run = row.filter((_, place) => whole[place]);
      row.forEach((gap, place) => {
        const ahead = run.filter((other) => other < gap).length;
        sums[place] += ahead + (run.filter((other) => other === gap).length + 1) / 2;
      });
    }
    return sums.map((sum, place) => (whole[place] ? sum / gaps.length : null));
  };
  const heatmap = document.getElementById("heatmap");
  const update = () => {
    const chosen = document.querySelector('input[name="group"]:checked');
    const group = chosen ? chosen.value : "all";
    if (chosen) all(".panel").forEach((panel) => { panel.hidden = panel.dataset.group !== group; });
    all("tr[data-dataset]").forEach((row) => { row.hidden = !fits(row, group); });
    if (!heatmap) return;
    const rows = [...heatmap.tBodies[0].rows];
    const shown = rows.filter((row) => !row.hidden);
    const ranks = averages(shown);
    [...document.getElementById("live").cells].slice(1).forEach((cell, place) => {
      cell.textContent = ranks && ranks[place] !== null ? ranks[place].toFixed(2) : "";
    });
    document.getElementById("shown").textContent = `${shown.length} of ${rows.length} tables shown`;
  };
  all('input[name="group"]').forEach((input) => input.addEventListener("change", update));
  if (form) {
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(update));
  }
  update();
})();
