// Point at a patch and see what it looks at and what looks at it, in any layer and head; all figures are in the page.
"use strict";

const $ = (id) => document.getElementById(id);
const { ramp, images } = JSON.parse($("data").textContent);

// 1. Numbers: bytes in base64, each row with a low and a step of its own: value = low + step * byte.
const decoded = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const floats = (text) => new Float32Array(decoded(text).buffer);
const unpacked = new Map();

function table(packed) {
  if (!unpacked.has(packed)) {
    const steps = floats(packed.step);
    const bytes = decoded(packed.bytes);
    const lows = packed.low ? floats(packed.low) : new Float32Array(steps.length);
    unpacked.set(packed, { steps, bytes, lows, width: bytes.length / steps.length });
  }
  return unpacked.get(packed);
}

function row(packed, at) {
  const { steps, bytes, lows, width } = table(packed);
  return Array.from(bytes.subarray(at * width, (at + 1) * width), (byte) => lows[at] + steps[at] * byte);
}

function column(packed, first, count, at) {
  const { steps, bytes, lows, width } = table(packed);
  return Array.from({ length: count }, (_, k) => lows[first + k] + steps[first + k] * bytes[(first + k) * width + at]);
}

// 2. What is shown. head -1 is the mean of heads; token null stands for what the model's head reads; a map is the
// attention of one layer, or that of a method by its place.
const state = { image: 0, layer: 0, head: -1, token: null, held: false, method: -1 };
const here = () => images[state.image];
const layerHere = () => here().layers[state.layer];
const whole = (layer) => (state.head < 0 ? layer.mean : layer.every);
const size = (layer) => layer.prefix.length + layer.grid[0] * layer.grid[1];

function looksAt(layer, head = state.head) {
  const wide = head < 0 ? layer.mean : layer.every;
  if (state.token === null || !wide || state.token >= size(layer)) return row(layer.reading, head + 1);
  return row(wide, (head < 0 ? 0 : head * size(layer)) + state.token);
}

function lookedAtBy(layer) {
  if (state.token === null || !whole(layer)) return null;
  return column(whole(layer), state.head < 0 ? 0 : state.head * size(layer), size(layer), state.token);
}

// 3. Drawing: the image in grey, a colour on each place.
const steps = 255;
const colours = Array.from({ length: steps + 1 }, (_, k) => {
  const at = (k / steps) * (ramp.length - 1);
  const low = Math.min(Math.floor(at), ramp.length - 2);
  return ramp[low].map((value, c) => Math.round(value + (at - low) * (ramp[low + 1][c] - value)));
});
const pictures = images.map((image) => Object.assign(new Image(), { src: image.picture }));

function draw(canvas, image, values, grid, longest, mark = null) {
  const scale = longest / Math.max(image.rows, image.columns);
  canvas.width = Math.round(image.columns * scale);
  canvas.height = Math.round(image.rows * scale);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = image.rows > 64 || image.columns > 64;
  context.filter = values ? "grayscale(1)" : "none";
  const picture = pictures[state.image];
  if (picture.complete && picture.naturalWidth) context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  context.filter = "none";
  if (!values) return;
  context.fillStyle = "rgb(0 0 0 / .45)"; // so that bright always means much
  context.fillRect(0, 0, canvas.width, canvas.height);
  const [rows, columns] = grid;
  const low = Math.min(0, ...values);
  const span = Math.max(...values) - low || 1;
  const small = new ImageData(columns, rows);
  values.forEach((value, k) => {
    const share = (value - low) / span;
    small.data.set([...colours[Math.round(share * steps)], 255 * (0.25 + 0.55 * share)], 4 * k);
  });
  const held = Object.assign(document.createElement("canvas"), { width: columns, height: rows });
  held.getContext("2d").putImageData(small, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(held, 0, 0, canvas.width, canvas.height);
  if (mark === null || mark < 0) return;
  const [wide, high] = [canvas.width / columns, canvas.height / rows];
  const [x, y] = [(mark % columns) * wide, Math.floor(mark / columns) * high];
  for (const [width, colour] of [[4, "#000"], [2, "#fff"]]) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.strokeRect(x + 2, y + 2, wide - 4, high - 4);
  }
}

// 4. Words.
const percent = (value) => `${(100 * value).toFixed(2)} %`;
const place = (layer, token) => {
  const patch = token - layer.prefix.length;
  if (patch < 0) return layer.prefix[token];
  return `row ${Math.floor(patch / layer.grid[1]) + 1}, column ${(patch % layer.grid[1]) + 1}`;
};

function strongest(layer, values) {
  const order = values.map((_, k) => k).sort((a, b) => values[b] - values[a]).slice(0, 3);
  const outside = layer.prefix.length ? values.slice(layer.prefix.length) : null;
  const said = order.map((token) => `${place(layer, token)} ${percent(values[token])}`).join("; ");
  const patches = outside ? outside.reduce((sum, value) => sum + value, 0) : null;
  return { said, patches };
}

const say = (element, strong, rest) => {
  element.replaceChildren(Object.assign(document.createElement("b"), { textContent: strong }), rest ? ` ${rest}` : "");
};

// 5. The parts of the page.
function showAttention() {
  const [image, layer] = [here(), layerHere()];
  const before = layer.prefix.length;
  const to = looksAt(layer);
  const from = lookedAtBy(layer);
  const reader = before && layer.prefix[0] === "class token" ? "the class token" : "the answer";
  const who = state.token === null ? reader : `${state.token < before ? "the " : ""}${place(layer, state.token)}`;
  const mark = state.token === null ? null : state.token - before;
  $("to-title").textContent = `What ${who} looks at`;
  $("from-title").textContent = from ? `What looks at ${who}` : "The image";
  draw($("to"), image, to.slice(before), layer.grid, 448, mark);
  draw($("from"), image, from && from.slice(before), layer.grid, 448, mark);
  const found = strongest(layer, to);
  const shared = found.patches === null ? "" : ` The patches get ${percent(found.patches)} in all.`;
  say($("to-reading"), "Most:", `${found.said}.${shared}`);
  if (from) say($("from-reading"), "Most:", `${strongest(layer, from).said}.`);
  else say($("from-reading"), "", "Point at a patch, or tap it, to see what looks at it.");
  const coarse = layer.grid[0] !== layer.patches[0] || layer.grid[1] !== layer.patches[1];
  const notes = [];
  if (state.head >= 0 && !layer.every)
    notes.push("Of a single head the page holds what the head of the model reads; `vitlab explain --all-heads` keeps every patch of every head.");
  if (coarse) notes.push(`A place is a square of patches: the layer has ${layer.patches[0]} x ${layer.patches[1]}.`);
  $("note").textContent = notes.join(" ");
}

function showMethod() {
  const [image, method] = [here(), here().methods[state.method]];
  const values = row(method.map, 0);
  draw($("to"), image, values, method.grid, 448);
  draw($("from"), image, null, method.grid, 448);
  $("to-title").textContent = `${method.title[0].toUpperCase()}${method.title.slice(1)}`;
  $("from-title").textContent = "The image";
  const top = values.indexOf(Math.max(...values));
  const [r, c] = [Math.floor(top / method.grid[1]) + 1, (top % method.grid[1]) + 1];
  say($("to-reading"), "Most:", `row ${r}, column ${c} of ${method.grid[0]} x ${method.grid[1]}.`);
  say($("from-reading"), "", "");
  $("note").textContent = `How much each place speaks for ${image.target}, by this method.`;
}

const press = (parent, chosen) =>
  [...parent.children].forEach((each, k) => each.setAttribute("aria-pressed", String(k === chosen)));

function showStrips() {
  const image = here();
  if (image.layers.length) {
    image.layers.forEach((layer, k) => draw($("depth").children[k].firstChild, image, looksAt(layer).slice(layer.prefix.length), layer.grid, 112));
    const layer = layerHere();
    for (let head = -1; head < layer.heads; head += 1)
      draw($("heads").children[head + 1].firstChild, image, looksAt(layer, head).slice(layer.prefix.length), layer.grid, 112);
    press($("depth"), state.method < 0 ? state.layer : -1);
    press($("heads"), state.method < 0 ? state.head + 1 : -1);
  }
  press($("methods"), state.method);
}

function show() {
  const image = here();
  document.body.classList.toggle("no-attention", !image.layers.length);
  if (image.layers.length) {
    const layer = layerHere();
    $("layer").value = state.layer;
    $("layer-name").textContent = `${state.layer} of 0 to ${image.layers.length - 1}`;
    $("head").value = state.head;
    press($("tokens"), state.token !== null && state.token < layer.prefix.length ? state.token : -1);
  }
  $("method").value = state.method;
  if (state.method < 0) showAttention();
  else showMethod();
  showStrips();
}

const button = (parts, act) => {
  const made = document.createElement("button");
  made.type = "button";
  made.append(...parts);
  made.addEventListener("click", act);
  return made;
};
const words = (text) => Object.assign(document.createElement("span"), { textContent: text });
const small = () => document.createElement("canvas");
const option = (value, text) => new Option(text, value);

// What hangs on the image alone: built when another is chosen.
function open(at) {
  state.image = at;
  const image = here();
  Object.assign(state, { token: null, held: false });
  state.layer = Math.max(0, Math.min(state.layer, image.layers.length - 1));
  state.method = image.layers.length ? Math.min(state.method, image.methods.length - 1) : Math.max(0, state.method);
  if (image.layers.length) state.head = Math.min(state.head, layerHere().heads - 1);
  $("said").textContent = image.summary;
  $("where").textContent = image.where;
  $("target").textContent = image.target;
  $("explained").textContent = image.target === image.probabilities[0][0] ? "" : `The maps explain ${image.target}.`;
  $("shares").replaceChildren(
    ...image.probabilities.map(([name, share]) => {
      const line = document.createElement("tr");
      const [who, figure, drawn] = [document.createElement("th"), document.createElement("td"), document.createElement("td")];
      [who.scope, figure.className, drawn.className] = ["row", "n", "drawing"];
      who.textContent = name;
      figure.textContent = `${(100 * share).toFixed(1)}%`;
      const bar = document.createElement("div");
      bar.style.width = `${100 * share}%`;
      drawn.append(bar);
      line.append(who, figure, drawn);
      return line;
    }),
  );
  const attention = image.layers.length ? [option(-1, "attention, patch by patch")] : [];
  $("method").replaceChildren(...attention, ...image.methods.map((method, k) => option(k, method.title)));
  $("methods").replaceChildren(
    ...image.methods.map((method, k) => button([small(), words(method.title)], () => choose({ method: k }))),
  );
  image.methods.forEach((method, k) => draw($("methods").children[k].firstChild, image, row(method.map, 0), method.grid, 112));
  $("refused").replaceChildren(
    ...image.refused.map(([title, why]) => Object.assign(document.createElement("li"), { textContent: `No ${title}: ${why}.` })),
  );
  $("layer").max = Math.max(0, image.layers.length - 1);
  $("depth").replaceChildren(
    ...image.layers.map((layer, k) => button([small(), words(`layer ${k}`)], () => choose({ layer: k, method: -1 }))),
  );
  press($("images"), at);
  rebuildHeads();
  show();
}

// What hangs on the layer: stages may differ in their heads and tokens.
function rebuildHeads() {
  const layer = layerHere();
  if (!layer) return;
  const heads = Array.from({ length: layer.heads }, (_, k) => k);
  $("head").replaceChildren(option(-1, "mean of heads"), ...heads.map((k) => option(k, `head ${k}`)));
  $("heads").replaceChildren(
    ...[-1, ...heads].map((k) => button([small(), words(k < 0 ? "mean" : `head ${k}`)], () => choose({ head: k, method: -1 }))),
  );
  $("tokens").replaceChildren(
    ...layer.prefix.map((name, k) => button([name], () => choose({ token: k, held: true, method: -1 }))),
  );
}

function choose(changes) {
  const before = layerHere();
  Object.assign(state, changes);
  const layer = layerHere();
  if (layer && layer !== before) {
    state.head = Math.min(state.head, layer.heads - 1);
    if (state.token !== null && state.token >= size(layer)) state.token = null;
    rebuildHeads();
  }
  show();
}

// 6. Pointing: a patch is looked at as long as the pointer is on it, and held by a click or tap.
function patchUnder(event) {
  const layer = layerHere();
  const area = event.currentTarget.getBoundingClientRect();
  const [across, down] = [(event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height];
  const within = (share, many) => Math.min(many - 1, Math.max(0, Math.floor(share * many)));
  return layer.prefix.length + within(down, layer.grid[0]) * layer.grid[1] + within(across, layer.grid[1]);
}

for (const canvas of [$("to"), $("from")]) {
  canvas.addEventListener("pointermove", (event) => {
    if (state.method >= 0 || state.held || event.pointerType === "touch") return;
    const token = patchUnder(event);
    if (token !== state.token) choose({ token });
  });
  canvas.addEventListener("pointerleave", (event) => {
    if (state.method < 0 && !state.held && event.pointerType !== "touch") choose({ token: null });
  });
  canvas.addEventListener("click", (event) => {
    if (state.method >= 0) return;
    const token = patchUnder(event);
    choose(state.held && token === state.token ? { held: false, token: null } : { held: true, token });
  });
}

function movePatch(down, across) {
  const layer = layerHere();
  const [rows, columns] = layer.grid;
  const before = layer.prefix.length;
  const patch = state.token === null || state.token < before ? Math.floor(rows / 2) * columns + Math.floor(columns / 2) : state.token - before;
  const r = Math.min(rows - 1, Math.max(0, Math.floor(patch / columns) + down));
  const c = Math.min(columns - 1, Math.max(0, (patch % columns) + across));
  choose({ token: before + r * columns + c, held: true, method: -1 });
}

const turned = (value, by, low, high) => low + ((value - low + by + (high - low + 1)) % (high - low + 1));

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select")) return;
  const image = here();
  const attends = image.layers.length > 0;
  const arrow = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
  if (arrow && attends && event.shiftKey) movePatch(...arrow);
  else if (arrow && attends && arrow[1])
    choose({ layer: Math.min(image.layers.length - 1, Math.max(0, state.layer + arrow[1])), method: -1 });
  else if (arrow && attends) choose({ head: turned(state.head, arrow[0], -1, layerHere().heads - 1), method: -1 });
  else if (event.key === "m") choose({ method: turned(state.method, 1, attends ? -1 : 0, image.methods.length - 1) });
  else if (event.key === "n" || event.key === "p") open(turned(state.image, event.key === "n" ? 1 : -1, 0, images.length - 1));
  else if (event.key === "Escape") choose({ token: null, held: false });
  else return;
  event.preventDefault();
});

$("layer").addEventListener("input", () => choose({ layer: Number($("layer").value), method: -1 }));
$("head").addEventListener("change", () => choose({ head: Number($("head").value), method: -1 }));
$("method").addEventListener("change", () => choose({ method: Number($("method").value) }));
const scale = $("ramp").getContext("2d");
for (let x = 0; x < 160; x += 1) {
  scale.fillStyle = `rgb(${colours[Math.round((x / 159) * steps)].join(" ")})`;
  scale.fillRect(x, 0, 1, 8);
}
$("images").replaceChildren(
  ...images.map((image, k) => {
    const picture = Object.assign(document.createElement("img"), { src: image.picture, alt: image.where });
    if (Math.max(image.rows, image.columns) <= 64) picture.className = "pixelated";
    const made = button([picture, words(image.summary)], () => open(k));
    if (image.right === false) made.classList.add("wrong-answer");
    made.title = `${image.where}: ${image.summary}`;
    return made;
  }),
);
state.layer = Math.max(0, images[0].layers.length - 1);
Promise.allSettled(pictures.map((picture) => picture.decode())).then(() => open(0));
