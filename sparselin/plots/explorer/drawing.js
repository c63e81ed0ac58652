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

// Return an arrow from a to b; `width` is that of its line.
function arrow(a, b, colour, width) {
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
    line([a, foot], { stroke: colour, "stroke-width": width }),
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

// Return the shapes behind the handles, from the back to the front.
function scenery(frame, view) {
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
    label("u", [x - 6, y + 5]),
  );
  if (frame.S.length) {
    const [[a, b]] = at([frame.r]);
    parts.push(
      shape("rect", { x: a - 2, y: b - 2, width: 4, height: 4, fill: "var(--paper)", stroke: "var(--ink)" }),
      label("P⊥y", [a + 8, b + 5]),
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
  if (Math.hypot(...inside) < 1.3 * SIDE)
    parts.push(
      label(
        names,
        inside.map((v) => 0.9 * v),
        { "font-size": 5, fill: colour(face.features[0]), "font-weight": 600 },
      ),
    );
  return parts;
}

// Draw the path of β over λ, with the window and the current λ.
function pathOf(frame, most, board) {
  const [width, height] = [240, 90];
  const x = (lam) => 3.6 + ((width - 7.2) * lam) / most;
  const largest = Math.max(1e-12, ...frame.betas.flat().map(Math.abs));
  const y = (value) => height / 2 - (value / largest) * (height / 2 - 12);
  const parts = [];
  if (frame.lamStar > 0) {
    parts.push(
      shape("rect", {
        x: x(frame.window),
        y: 0,
        width: x(frame.lamStar) - x(frame.window),
        height,
        fill: "var(--grey)",
        "fill-opacity": 0.13,
      }),
    );
    parts.push(label("λ*", [x(frame.lamStar), height - 4], { "font-size": 8 }));
  }
  for (const knot of frame.knots)
    parts.push(
      line(
        [
          [x(knot), 0],
          [x(knot), height - 9],
        ],
        { stroke: "var(--rule)", "stroke-width": 0.6 },
      ),
    );
  parts.push(
    line(
      [
        [0, y(0)],
        [width, y(0)],
      ],
      { stroke: "var(--grey)", "stroke-width": 0.6 },
    ),
  );
  frame.columns.forEach((_, j) => {
    const points = frame.knots.map((knot, i) => [x(knot), y(frame.betas[i][j])]);
    const before = frame.S.includes(j) ? [[width, points[0][1]]] : [];
    parts.push(line([...before, ...points], { stroke: colourOf(j), "stroke-width": 1.8 }));
    const value = frame.beta[j];
    if (value !== 0)
      parts.push(
        shape("circle", { cx: x(frame.lam), cy: y(value), r: 2.6, fill: colourOf(j) }),
        label(`β${low(j)}`, [x(frame.lam) - 8, y(value) - 4], { "font-size": 8, fill: colourOf(j) }),
      );
  });
  parts.push(
    line(
      [
        [x(frame.lam), 0],
        [x(frame.lam), height - 9],
      ],
      { stroke: "var(--ink)", "stroke-width": 1.2 },
    ),
  );
  parts.push(label("λ", [x(frame.lam), height - 4], { "font-size": 8, "font-weight": 600 }));
  board.setAttribute("viewBox", `0 0 ${width} ${height}`);
  board.replaceChildren(...parts);
}
