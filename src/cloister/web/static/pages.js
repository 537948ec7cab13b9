// All that a page does without asking the server: "/" goes to the search, lines of a histogram and values are dragged,
// files are dropped, and pictures are saved as PNG.
addEventListener("keydown", (event) => {
  const find = document.getElementById("find");
  if (event.key !== "/" || !find || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  find.focus();
});

// An error of the last change is gone with the next one.
addEventListener("htmx:beforeRequest", () => document.getElementById("problem").replaceChildren());

// A click adds a cut point, dragging a line moves it, and beyond an end of the axis it is removed. The numbers are
// written into the field of level 1; the server draws the rest.
addEventListener("pointerdown", (event) => {
  const svg = event.target.closest?.("svg.histogram");
  if (!svg || event.button !== 0) return;
  event.preventDefault();
  const field = document.getElementById("cuts-1");
  const { low, high, left, right, step } = Object.fromEntries(
    Object.entries(svg.dataset).map(([name, text]) => [name, Number(text)]),
  );
  const cuts = field.value.split(/[,;\s]+/).filter(Boolean).map(Number);
  const at = (one) => {
    const box = svg.getBoundingClientRect();
    const x = ((one.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const number = low + ((x - left) / (right - left)) * (high - low);
    return Number((Math.round(number / step) * step).toPrecision(12));
  };
  const line = event.target.closest("g.cut");
  const place = line ? Number(line.dataset.place) : cuts.push(at(event)) - 1;
  const start = cuts[place];
  const move = (one) => {
    cuts[place] = at(one);
    line?.setAttribute("transform", `translate(${((cuts[place] - start) / (high - low)) * (right - left)} 0)`);
  };
  const end = (one) => {
    for (const [name, listener] of Object.entries({ pointermove: move, pointerup: end, pointercancel: end }))
      removeEventListener(name, listener);
    if (one.type === "pointercancel") return;
    if (cuts[place] <= low || cuts[place] >= high) cuts.splice(place, 1);
    field.value = [...new Set(cuts)].sort((a, b) => a - b).join(", ");
    field.dispatchEvent(new Event("change", { bubbles: true }));
  };
  addEventListener("pointermove", move);
  addEventListener("pointerup", end);
  addEventListener("pointercancel", end);
});

// A value that is dragged to another one takes its place, and so do the selected ones if it is one of them.
const groups = document.querySelector(".groups");
let dragged;
groups?.addEventListener("dragstart", (event) => (dragged = event.target.closest("[draggable]")));
groups?.addEventListener("dragend", () => (dragged = undefined));
groups?.addEventListener("dragover", (event) => {
  const onto = event.target.closest("[draggable]");
  for (const one of groups.querySelectorAll(".onto")) one.classList.remove("onto");
  if (!dragged || !onto || onto === dragged) return;
  event.preventDefault();
  onto.classList.add("onto");
});
groups?.addEventListener("drop", (event) => {
  event.preventDefault();
  const { form } = dragged.querySelector("input");
  if (!dragged.querySelector("input").checked) for (const box of form.querySelectorAll("[name=item]")) box.checked = false;
  dragged.querySelector("input").checked = true;
  form.elements.at.value = event.target.closest("[draggable]").dataset.place;
  form.requestSubmit(form.querySelector("[value=move]"));
});

// A file may be dropped anywhere on a page that asks for one; the form is sent at once.
const file = document.querySelector("input[type=file]");
const mark = (is) => file.closest(".dropzone").classList.toggle("over", is);
if (file) {
  addEventListener("dragover", (event) => {
    event.preventDefault();
    mark(true);
  });
  addEventListener("dragleave", () => mark(false));
  addEventListener("drop", (event) => {
    event.preventDefault();
    mark(false);
    const one = new DataTransfer();
    for (const first of [...event.dataTransfer.files].slice(0, 1)) one.items.add(first);
    file.files = one.files;
    file.dispatchEvent(new Event("change"));
    if (file.files.length) file.form.requestSubmit();
  });
  file.addEventListener("change", () => {
    const isLarge = file.files[0]?.size > Number(file.dataset.most) - 4096;
    file.setCustomValidity(isLarge ? "The file is too large. Copy it into the folder of the job, and name it." : "");
    file.reportValidity();
  });
}

// A picture as PNG is drawn from its SVG here; without scripts there are SVG and CSV.
for (const link of document.querySelectorAll("[data-png]")) link.hidden = false;
addEventListener("click", async (event) => {
  const link = event.target.closest?.("[data-png]");
  if (!link || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const answer = await fetch(link.href);
  if (!answer.ok) return;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await answer.text())}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = 2 * image.width;
  canvas.height = 2 * image.height;
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const saved = document.createElement("a");
  saved.href = canvas.toDataURL("image/png");
  saved.download = `${new URL(link.href).searchParams.get("name") ?? "levels"}.png`;
  saved.click();
});
