// Draws `data` on the canvas in `root`, and tells the row under the pointer.
const canvas = root.querySelector("canvas"), tip = root.querySelector(".tip");
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const pad = 16;
let scale = 1, active = -1;
const px = i => pad + data.x[i] * (canvas.clientWidth - 2 * pad);
const py = i => pad + (1 - data.y[i]) * (canvas.clientHeight - 2 * pad);
function mix(share, side) {
  const at = share * (data.palette.length - 1), k = Math.min(Math.floor(at), data.palette.length - 2);
  const part = (hex, j) => parseInt(hex.slice(1 + 2 * j, 3 + 2 * j), 16);
  return "rgb(" + [0, 1, 2].map(j => Math.round(
    part(data.palette[k][side], j) * (1 - at + k) + part(data.palette[k + 1][side], j) * (at - k))) + ")";
}
function color(i) {
  const side = dark.matches ? 1 : 0;
  if (data.c[i] < 0) return data.missing[side];
  return data.ranged ? mix(data.c[i], side) : data.palette[data.c[i] % data.palette.length][side];
}
function draw() {
  scale = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale; canvas.height = canvas.clientHeight * scale;
  const pen = canvas.getContext("2d"), style = getComputedStyle(root);
  const ink = style.getPropertyValue("--ink"), panel = style.getPropertyValue("--panel");
  pen.scale(scale, scale);
  const near = canvas.clientWidth < 500 ? 0.75 : 1;
  const r = near * (data.n > 2000 ? 2.2 : data.n > 500 ? 3 : 4);
  const dot = (i, size) => { pen.beginPath(); pen.arc(px(i), py(i), size, 0, 7); };
  for (let i = 0; i < data.x.length; i++) {
    pen.fillStyle = color(i);
    if (i < data.n) { pen.globalAlpha = 0.8; dot(i, r); pen.fill(); }
    else {
      pen.globalAlpha = 1; dot(i, r + 2); pen.fill();
      pen.strokeStyle = ink; pen.lineWidth = 1.6; pen.stroke();
    }
  }
  pen.globalAlpha = 1; pen.textAlign = "center"; pen.textBaseline = "middle";
  pen.font = "600 11px system-ui, sans-serif";
  data.prototypes.forEach((i, k) => {
    dot(i, 9); pen.fillStyle = panel; pen.fill();
    pen.strokeStyle = ink; pen.lineWidth = 1.5; pen.stroke();
    pen.fillStyle = ink; pen.fillText(k + 1, px(i), py(i) + 0.5);
  });
  if (active >= 0) { dot(active, r + 4); pen.strokeStyle = ink; pen.lineWidth = 2; pen.stroke(); }
}
function point(event) {
  const box = canvas.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  let best = 400, found = -1;
  for (let i = 0; i < data.x.length; i++) {
    const d = (px(i) - x) ** 2 + (py(i) - y) ** 2;
    if (d < best) { best = d; found = i; }
  }
  if (found === active) return;
  active = found; draw();
  if (found < 0) { tip.style.visibility = "hidden"; return; }
  tip.textContent = [data.names[found], ...Object.keys(data.cells).map(
    name => name + ": " + data.cells[name][found])].join("\n");
  tip.style.left = tip.style.top = "0";
  const left = Math.min(px(found) + 12, root.clientWidth - tip.offsetWidth - 4);
  let top = py(found) + 12;
  if (top + tip.offsetHeight > root.clientHeight) top = py(found) - tip.offsetHeight - 12;
  tip.style.left = Math.max(4, left) + "px"; tip.style.top = Math.max(4, top) + "px";
  tip.style.visibility = "visible";
}
canvas.addEventListener("pointermove", point);
canvas.addEventListener("pointerdown", point);
canvas.addEventListener("pointerleave", () => { active = -1; tip.style.visibility = "hidden"; draw(); });
dark.addEventListener("change", draw);
new ResizeObserver(draw).observe(canvas);
draw();
