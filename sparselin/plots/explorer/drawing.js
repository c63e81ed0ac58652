// Draw a frame of frame.py, which has all numbers. This file only decides how they look, and projects three dimensions.
// Colours are variables of explorer.css, so that they follow dark mode.

const SIDE = 100; // half the side of the picture, in its own units

function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties))
    if (name.startsWith("on") || name in made) made[name] = value;
    else made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const short = (value) =>
  (Object.is(value, -0) ? 0 : Number(value.toPrecision(4))).toString().replace("-", "−");
const colourOf = (j) => `var(--feature-${j})`;
const low = (j) => String.fromCharCode(0x2080 + j);
const middle = (points) => points[0].map((_, i) => points.reduce((sum, p) => sum + p[i], 0) / points.length);
const line = (points, attributes, tag = "polyline") =>
  shape(tag, { points: points.map((p) => `${p[0]},${p[1]}`).join(" "), fill: "none", ...attributes });
const label = (words, [x, y], attributes = {}) =>
  shape(
    "text",
    { x, y, "font-size": 6, "text-anchor": "middle", "dominant-baseline": "middle", ...attributes },
    words,
  );

const AROUND = [[7, -7], [7, 7], [-7, -7], [-7, 7], [0, -10], [0, 10], [12, 0], [-12, 0]]; // places of a name near its mark

// Return a label that `separate` may move to any of these places.
function movable(words, places, attributes = {}) {
  const made = label(words, places[0], attributes);
  made.places = places;
  return made;
}

// Move labels to places where they cover neither each other nor a mark: to the first free place, or else to the least covered.
// `origin` of a label, if it has one, is the position of its group.
function separate(labels, marks) {
  const taken = marks.map(([x, y]) => [x - 3, y - 3, x + 3, y + 3]);
  for (const made of labels) {
    const [ox, oy] = made.origin || [0, 0];
    const size = Number(made.getAttribute("font-size"));
    const [wide, high] = [0.33 * size * made.textContent.length + 1, 0.55 * size];
    const boxes = made.places.map(([x, y]) => [ox + x - wide, oy + y - high, ox + x + wide, oy + y + high]);
    const costs = boxes.map((box) => taken.reduce((sum, other) => sum + overlap(box, other), outside(box)));
    const best = costs.indexOf(Math.min(...costs));
    const [x, y] = made.places[best];
    made.setAttribute("x", x);
    made.setAttribute("y", y);
    taken.push(boxes[best]);
  }
}
const overlap = (a, b) =>
  Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
const outside = (box) => 20 * Math.max(0, ...box.map((v) => Math.abs(v) - SIDE));

// Return an arrow from a to b; `width` and `dashes` are those of its line.
function arrow(a, b, colour, width, dashes = "none") {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const length = Math.hypot(dx, dy);
  if (length < 0.5) return shape("g");
  const [ux, uy] = [dx / length, dy / length];
  const head = Math.min(5, length);
  const foot = [b[0] - head * ux, b[1] - head * uy];
  const wing = (side) => [foot[0] - side * 0.45 * head * uy, foot[1] + side * 0.45 * head * ux];
  return shape(
    "g",
    {},
    line([a, foot], { stroke: colour, "stroke-width": width, "stroke-dasharray": dashes }),
    line([b, wing(1), wing(-1)], { fill: colour }, "polygon"),
  );
}

// Return the map of points onto the picture, and their depth: a scale in the plane, a turned view in space.
function camera(frame, half, turn) {
  const unit = SIDE / half;
  if (frame.y.length === 2) return { at: ([x, y]) => [x * unit, -y * unit], depth: () => 0 };
  const [ca, sa, cb, sb] = [
    Math.cos(turn.yaw),
    Math.sin(turn.yaw),
    Math.cos(turn.pitch),
    Math.sin(turn.pitch),
  ];
  const across = ([x, y]) => ca * x + sa * y;
  const away = ([x, y]) => ca * y - sa * x;
  return {
    at: (p) => [across(p) * unit * 0.8, -(cb * p[2] - sb * away(p)) * unit * 0.8],
    depth: (p) => cb * away(p) + sb * p[2],
  };
}

// Return an invisible area with a tooltip.
const tooltip = (corners, words) => {
  const area = line(corners, { fill: "transparent" }, "polygon");
  area.append(shape("title", {}, words));
  return area;
};

// Return the flow without weight decay: its average as a hollow line, red where it is not a LASSO solution, its jumps in the
// colours of the features that enter, and marks of both at the current λ.
function flowOf({ jumps, enters, means, solves, now, mean, solved }, view) {
  if (!jumps) return [];
  const parts = [];
  solves.forEach((fine, i) => {
    const piece = means.slice(i, i + 2).map(view.at);
    const look = { "stroke-linecap": "round", "stroke-dasharray": fine ? "none" : "5 3.2" };
    parts.push(line(piece, { ...look, stroke: fine ? "var(--ink)" : "var(--bad)", "stroke-width": 3 }));
    parts.push(line(piece, { ...look, stroke: "var(--paper)", "stroke-width": 1.4 }));
  });
  const ends = jumps.map(view.at);
  enters.forEach((J, i) => {
    parts.push(arrow(ends[i], ends[i + 1], colourOf(J[0]), 1.2, "3 2"));
    for (const j of J.slice(1)) parts.push(line(ends.slice(i, i + 2), { stroke: colourOf(j), "stroke-dasharray": "2 8" }));
  });
  for (const [x, y] of ends) parts.push(shape("circle", { cx: x, cy: y, r: 1.2, fill: "var(--ink)" }));
  for (const [name, point, fill] of [["flow", now, "var(--ink)"], ["average", mean, "var(--paper)"]]) {
    const [x, y] = view.at(point);
    parts.push(shape("circle", { cx: x, cy: y, r: 2.6, fill, stroke: "var(--ink)", "stroke-width": 1.1 }));
    if (point === now || !solved) parts.push(movable(name, AROUND.map(([a, b]) => [x + 1.5 * a, y + b]), { "font-size": 5 }));
  }
  return parts;
}

// Return the cone of the y for which OMP picks the same, and the circle around y in which it cannot pick otherwise.
function coneOf({ corners, radius }, y, view) {
  if (!corners.length) return [];
  const edge = { stroke: "var(--ink)", "stroke-width": 0.8, "stroke-dasharray": "6 2" };
  const [cx, cy] = view.at(y);
  const r = Math.abs(view.at([radius, 0])[0] - view.at([0, 0])[0]);
  return [
    line(corners.map(view.at), { ...edge, fill: "var(--ink)", "fill-opacity": 0.07 }, "polygon"),
    shape("circle", { cx, cy, r, fill: "none", stroke: "var(--ink)", "stroke-width": 0.8, class: "reach" }),
  ];
}

// Return the shapes behind the handles, from the back to the front; with the flow, if `flows`, and the cone, if `cones`.
function scenery(frame, view, flows, cones) {
  const at = (points) => points.map(view.at);
  const colour = colourOf;
  const space = frame.y.length === 3;
  const parts = [];
  for (const region of frame.regions)
    for (const j of new Set(region.features))
      parts.push(line(at(region.corners), { fill: colour(j), "fill-opacity": 0.09 }, "polygon"));
  for (const region of frame.regions) parts.push(tooltip(at(region.corners), region.words));
  if (!space)
    parts.push(
      line(at(frame.polygon), { fill: "var(--paper)" }, "polygon"),
      line(at(frame.polygon), { fill: "var(--grey)", "fill-opacity": 0.12 }, "polygon"),
    );
  if (cones) parts.push(...coneOf(frame.cone, frame.y, view));
  for (const corners of frame.star)
    parts.push(
      line(
        at(corners),
        { stroke: "var(--grey)", "stroke-width": space ? 0.4 : 0.8, "stroke-dasharray": "4 2.5" },
        "polygon",
      ),
    );
  for (const { feature, corners, active } of frame.tied)
    parts.push(
      line(
        at(corners),
        {
          stroke: colour(feature),
          "stroke-width": space ? 1.2 : 3,
          "stroke-opacity": 0.75,
          "stroke-dasharray": active ? "none" : "2 2",
          fill: active ? colour(feature) : "none",
          "fill-opacity": 0.1,
        },
        space ? "polygon" : "polyline",
      ),
    );
  const faces = frame.faces.filter((face) => face.corners.length > 1);
  faces.sort((a, b) => view.depth(middle(b.corners)) - view.depth(middle(a.corners)));
  for (const face of faces) parts.push(...faceOf(face, at(face.corners), colour, space));
  if (frame.slice.length)
    parts.push(
      line(
        at(frame.slice),
        {
          stroke: "var(--ink)",
          "stroke-width": 4,
          "stroke-opacity": 0.25,
          fill: "var(--ink)",
          "fill-opacity": 0.12,
          "stroke-linecap": "round",
        },
        "polygon",
      ),
    );
  if (frame.S.length)
    parts.push(
      line(at([frame.y, frame.r]), { stroke: "var(--ink)", "stroke-width": 0.7, "stroke-dasharray": "1.5 1.5" }),
    );
  parts.push(line(at(frame.path), { stroke: "var(--ink)", "stroke-width": 1.3, "stroke-linejoin": "round" }));
  if (flows) parts.push(...flowOf(frame.flow, view));
  for (const [x, y] of at(frame.path)) parts.push(shape("circle", { cx: x, cy: y, r: 1.5, fill: "var(--ink)" }));
  frame.chainFeatures.forEach((j, i) =>
    parts.push(arrow(...at(frame.chain.slice(i, i + 2)), colour(j), 1.6)),
  );
  const [[x, y]] = at([frame.u]);
  parts.push(
    shape("path", {
      d: `M${x - 3} ${y}l3 -3l3 3l-3 3z`,
      fill: "var(--paper)",
      stroke: "var(--ink)",
      "stroke-width": 1.1,
    }),
    movable("u", [[-6, 5], ...AROUND].map(([a, b]) => [x + a, y + b])),
  );
  if (frame.S.length) {
    const [[a, b]] = at([frame.r]);
    parts.push(
      shape("rect", { x: a - 2, y: b - 2, width: 4, height: 4, fill: "var(--paper)", stroke: "var(--ink)" }),
      movable("P⊥y", [[9, 7], [-9, 7], [9, -7], [-9, -7], [0, 9], [0, -9]].map(([c, d]) => [a + c, b + d])),
    );
  }
  return parts;
}

// Return a face in the colour of its first feature, the other colours dashed on it, and their names. It is strong if u is on it.
function faceOf(face, corners, colour, space) {
  if (!face.features.length)
    return [line(corners, { stroke: "var(--grey)", "stroke-width": 0.4, "stroke-dasharray": "1 2" }, "polygon")];
  const width = face.strong ? 3.2 : 1.3;
  const parts = face.features.map((j, i) =>
    line(
      corners,
      {
        stroke: colour(j),
        "stroke-width": space ? width / 2 : width,
        "stroke-dasharray": i ? "3 3" : "none",
        fill: space ? colour(j) : "none",
        "fill-opacity": i ? 0 : face.strong ? 0.45 : 0.16,
      },
      space ? "polygon" : "polyline",
    ),
  );
  const inside = middle(
    corners.map(([x, y]) => [Math.max(-SIDE, Math.min(SIDE, x)), Math.max(-SIDE, Math.min(SIDE, y))]),
  );
  const names = face.features.map((j, i) => (face.signs[i] < 0 ? "−" : "") + j).join(", ");
  if (Math.hypot(...inside) < 1.3 * SIDE) {
    const toward = (corner, share) => inside.map((v, i) => 0.9 * (v + share * (corner[i] - v)));
    const places = [0.35, 0.65].flatMap((share) => corners.map((corner) => toward(corner, share)));
    const look = { "font-size": 5, fill: colour(face.features[0]), "font-weight": 600 };
    parts.push(movable(names, [inside.map((v) => 0.9 * v), ...places], look));
  }
  return parts;
}

// Return round numbers from `low` to `high`, about `count` of them.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => (first + i) * step);
}

// Return the groups of features with equal values, which have one label.
function alike(features, valuesOf) {
  const groups = new Map();
  for (const j of features) {
    const key = valuesOf(j).map((value) => value.toPrecision(9)).join();
    groups.set(key, [...(groups.get(key) || []), j]);
  }
  return [...groups.values()];
}

// Draw the path of β over λ, with the window and the current λ.
function pathOf(frame, most, board) {
  const [width, height, foot] = [240, 100, 20];
  const x = (lam) => 3.6 + ((width - 7.2) * lam) / most;
  const largest = Math.max(1e-12, ...frame.betas.flat().map(Math.abs));
  const y = (value) => (height - foot) / 2 - (value / largest) * ((height - foot) / 2 - 8);
  const segment = (a, b, c, d, attributes) => line([[a, b], [c, d]], attributes);
  const small = { "font-size": 6, fill: "var(--soft)" };
  const parts = [];
  if (frame.lamStar > 0) {
    parts.push(
      shape("rect", {
        x: x(frame.window),
        y: 0,
        width: x(frame.lamStar) - x(frame.window),
        height: height - foot,
        fill: "var(--grey)",
        "fill-opacity": 0.13,
      }),
    );
  }
  const values = largest > 1e-12 ? ticks(-largest, largest, 5) : [0];
  for (const value of values)
    parts.push(segment(0, y(value), width, y(value), { stroke: "var(--faint)", "stroke-width": 0.5 }));
  for (const knot of frame.knots)
    parts.push(segment(x(knot), 0, x(knot), height - foot, { stroke: "var(--rule)", "stroke-width": 0.6 }));
  for (const value of ticks(0, most, 6)) {
    parts.push(segment(x(value), height - foot, x(value), height - foot + 2, { stroke: "var(--grey)", "stroke-width": 0.6 }));
    if (x(value) < width - 8) parts.push(label(short(value), [Math.max(x(value), 3), height - foot + 6], small));
  }
  parts.push(segment(0, height - foot, width, height - foot, { stroke: "var(--grey)", "stroke-width": 0.6 }));
  parts.push(segment(0, y(0), width, y(0), { stroke: "var(--grey)", "stroke-width": 0.6 }));
  // equal paths lie on each other: the later ones are dashed
  for (const group of alike(frame.columns.keys(), (j) => frame.betas.map((beta) => beta[j])))
    group.forEach((j, i) => {
      const points = frame.knots.map((knot, k) => [x(knot), y(frame.betas[k][j])]);
      const before = frame.S.includes(j) ? [[width, points[0][1]]] : [];
      const dashes = i ? `6 ${6 * i}` : "none";
      parts.push(line([...before, ...points], { stroke: colourOf(j), "stroke-width": 1.8, "stroke-dasharray": dashes }));
    });
  for (const value of values)
    parts.push(label(short(value), [width - 1, y(value) - 4], { ...small, "text-anchor": "end" }));
  parts.push(segment(x(frame.lam), 0, x(frame.lam), height - foot, { stroke: "var(--ink)", "stroke-width": 1.2 }));
  const nonzero = frame.columns.map((_, j) => j).filter((j) => frame.beta[j] !== 0);
  const named = alike(nonzero, (j) => [frame.beta[j]]).sort(([i], [j]) => frame.beta[j] - frame.beta[i]);
  const left = x(frame.lam) > 30;
  let above = -Infinity;
  for (const group of named) {
    const value = y(frame.beta[group[0]]);
    above = Math.max(value - 4, above + 8);
    const words = group.map((j) => `β${low(j)}`).join(" = ");
    const look = { "font-size": 8, fill: colourOf(group[0]), "text-anchor": left ? "end" : "start" };
    parts.push(shape("circle", { cx: x(frame.lam), cy: value, r: 2.6, fill: colourOf(group[0]) }));
    parts.push(label(words, [x(frame.lam) + (left ? -4 : 4), above], look));
  }
  if (frame.lamStar > 0) parts.push(label("λ*", [x(frame.lamStar), height - 4], { "font-size": 8 }));
  parts.push(label("λ", [x(frame.lam), height - 4], { "font-size": 8, "font-weight": 600 }));
  board.setAttribute("viewBox", `0 0 ${width} ${height}`);
  board.replaceChildren(...parts);
}
