// Drag the lines of a histogram, or click to add one: the numbers are written into the field of level 1.
// A line that is dragged beyond an end of the axis is removed. All else is done by the server.
addEventListener("pointerdown", (event) => {
  const svg = event.target.closest?.("svg.histogram");
  if (!svg) return;
  event.preventDefault();
  const field = document.getElementById("cuts-1");
  const { low, high, left, right, step } = Object.fromEntries(Object.entries(svg.dataset).map(([name, text]) => [name, Number(text)]));
  const cuts = field.value.split(",").map((text) => text.trim()).filter(Boolean).map(Number);
  const at = (one) => {
    const box = svg.getBoundingClientRect();
    const x = ((one.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    return low + ((x - left) / (right - left)) * (high - low);
  };
  const round = (number) => Number((Math.round(number / step) * step).toPrecision(12));
  const line = event.target.closest("g.cut");
  const place = line ? Number(line.dataset.place) : cuts.push(round(at(event))) - 1;
  const move = (one) => {
    cuts[place] = round(at(one));
    line?.setAttribute("transform", `translate(${(cuts[place] - start) / (high - low) * (right - left)} 0)`);
  };
  const start = cuts[place];
  const drop = () => {
    removeEventListener("pointermove", move);
    const kept = [...new Set(cuts)].filter((cut) => cut > low && cut < high).sort((a, b) => a - b);
    field.value = kept.join(", ");
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", drop, { once: true });
});
