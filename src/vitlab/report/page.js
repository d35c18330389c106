// Two conveniences; the page is complete without them (curves are named at their ends, figures are in a table).
"use strict";

// 1. Reading the curves: point, touch, or focus a chart and use the arrow keys. All charts show the same epoch.
const plots = [...document.querySelectorAll(".plot")].map((box) => ({
  box,
  cursor: box.querySelector(".cursor"),
  output: box.closest("figure").querySelector(".reading"),
  readings: JSON.parse(box.dataset.readings),
  reach: Object.assign(document.createElement("input"), { type: "range", min: 0, step: 1, className: "reach" }),
}));

function show(index) {
  for (const plot of plots) {
    const [epoch, across, downs, words] = plot.readings[index];
    plot.output.textContent = `${plot.box.dataset.by} ${epoch}: ${words}`;
    plot.reach.value = index;
    plot.reach.setAttribute("aria-valuetext", plot.output.textContent);
    const line = plot.cursor.querySelector("line");
    line.setAttribute("x1", `${across}%`);
    line.setAttribute("x2", `${across}%`);
    plot.cursor.querySelectorAll("circle").forEach((dot, k) => {
      dot.style.display = downs[k] === null ? "none" : "inline";
      dot.setAttribute("cx", `${across}%`);
      dot.setAttribute("cy", `${downs[k] ?? 0}%`);
    });
  }
}

function reading(on) {
  for (const plot of plots) plot.box.classList.toggle("reading-now", on);
  if (!on) show(plots[0].readings.length - 1);
}

for (const plot of plots) {
  const title = plot.output.parentElement.querySelector("b").textContent;
  plot.reach.max = plot.readings.length - 1;
  plot.reach.setAttribute("aria-label", `${title}: ${plot.box.dataset.by} to read`);
  plot.box.append(plot.reach);
  plot.reach.addEventListener("input", () => show(Number(plot.reach.value)));
  plot.reach.addEventListener("focus", () => reading(true));
  plot.reach.addEventListener("blur", () => reading(false));
  const point = (event) => {
    const area = plot.box.querySelector("svg").getBoundingClientRect();
    const at = (100 * (event.clientX - area.left)) / area.width;
    let nearest = 0;
    plot.readings.forEach(([, across], k) => {
      if (Math.abs(across - at) < Math.abs(plot.readings[nearest][1] - at)) nearest = k;
    });
    reading(true);
    show(nearest);
  };
  plot.box.addEventListener("pointerdown", point);
  plot.box.addEventListener("pointermove", point);
  plot.box.addEventListener("pointerleave", () => reading(false));
}
if (plots.length) show(plots[0].readings.length - 1);

// 2. What is folded away on a screen is wanted on paper.
addEventListener("beforeprint", () => {
  for (const folded of document.querySelectorAll("details.print")) folded.open = true;
});
