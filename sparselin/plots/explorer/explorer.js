// The explorer: a picture, its controls, and a source of frames: Python (`ask`) or a store (`stored`).

const NEAR = 0.02; // a dragged point snaps to ties within this share of half the picture
const LATE =
  "No answer for four seconds. Check that `sparselin explore`, or the kernel, is still running, and reload the page.";
const KEY =
  "◇ is u, the projection of ★ y onto the polytope; □ is P_S^⊥y. The line through the dots is the path of u, with a dot at " +
  "each knot. The arrows from u are β_jX_j. The face j has ⟨X_j, u⟩ = λ, and the face −j has ⟨X_j, u⟩ = −λ. Dashed lines show " +
  "the polytope at λ*, with the faces of T; those in A(S) are filled.";
const TINTS = " Each tint is a set of y with the same signs of β.";
const FLOW =
  " Gradient flow on w∘θ without weight decay: ● is its residual y − Xβ at τ = 1/λ, and ○ that of its average (1/τ)∫₀^τ β. " +
  "The dashed arrows are its jumps, in the colour of the feature that enters. The hollow line is the path of the average: where " +
  "it is solid, the average is a solution of the LASSO and lies on the path of u; where it is red and dashed, it is not.";

const CONE =
  " The area with a long-dashed edge is the set of y for which OMP picks the same features with the same signs, after S. The " +
  "circle around y is the largest in it.";

const list = (values) => values.map(encodeURIComponent).join(",");
const addressOf = ({ columns, y, lam, S }) =>
  `X=${columns.map(list).join(";")}&y=${list(y)}&lam=${lam}` + (S.length ? `&S=${S}` : "");

// Build the parts of the page in `root`; `explorer` fills them.
function layout(root) {
  const parts = {
    scene: shape("g"),
    handles: shape("g"),
    board: shape("svg", { role: "img", "aria-label": "The path of the coefficients β over λ" }),
    level: element("input", { type: "range", min: 0, max: 1, step: "any", "aria-label": "λ" }),
    typed: element("input", { type: "text", inputMode: "decimal", "aria-label": "λ as a number" }),
    alert: element("div", { role: "alert" }),
    story: element("div", { className: "story" }),
    words: element("p", { className: "words", "aria-live": "polite" }),
    code: element("pre"),
    old: element("small", { className: "old" }, "The text is about the preset."),
    hint: element("strong"),
    tints: element("span"),
    heading: element("header", {}, element("strong", {}, "The dual polytope")),
    tables: element("div"),
    add: element("button", { type: "button" }, "add a column"),
  };
  const { scene, handles, board, level, typed, alert, story, words, code, hint, tints, heading, tables } =
    parts;
  parts.picture = shape(
    "svg",
    { class: "picture", viewBox: "-105 -105 210 210", role: "group" },
    scene,
    handles,
  );
  const key = element("p", { className: "key" }, hint, KEY, tints);
  const chosen = element("label", { className: "level" }, "λ = ", typed);
  const python = element("details", {}, element("summary", {}, "the same in Python"), code);
  root.classList.add("sl-explorer");
  root.replaceChildren(heading, story, alert, element("section", {}, parts.picture));
  root.append(element("section", {}, words, board, level, chosen, tables, python, key));
  return parts;
}

// Draw the frames that `show` receives, and ask for others with `ask`. A page without Python passes `stored`,
// frames[size of S][level of λ], and the place in it to `start`.
function explorer(root, { ask = null, presets = {}, stored = null, start = null, inAddress = false }) {
  let [frame, edited, half, most, moving, unread] = [null, null, 1, 1, false, ""];
  let turn = { yaw: -0.55, pitch: 0.42 };
  const live = ask !== null;
  const parts = layout(root);
  const { picture, level, alert } = parts;
  const snap = element("input", { type: "checkbox", checked: true });
  const flows = element("input", { type: "checkbox" });
  const flowing = element("label", {}, flows, " gradient flow");
  const cones = element("input", { type: "checkbox" });
  const reaching = element("label", {}, cones, " distance");
  const chooser = element("select", { "aria-label": "preset" });
  const asked = questions(
    ask,
    () => moving,
    () => (alert.textContent = LATE),
  );

  // Return the design that is shown or, while an edit is unanswered, the edited one, so that the next edit does not undo it.
  const design = () => {
    const { columns, y, lam, S } = edited || frame;
    return structuredClone({ columns, y, lam, S });
  };
  const change = (edit, more = {}) => {
    const next = design();
    edit(next);
    edited = next;
    asked.request({ address: addressOf(next), ...more });
  };
  const place = (what, point, reach) =>
    change((next) => (what === "y" ? (next.y = point) : (next.columns[what] = point)), {
      moved: String(what),
      reach: snap.checked ? reach : 0,
    });
  const features = featureTable(live ? change : null, alert);
  const picks = picksTable();
  parts.tables.append(
    ...[picks, features].map(({ table }) => element("div", { className: "scroll" }, table)),
  );

  const digits = () => Math.max(0, 2 - Math.floor(Math.log10(half)));
  const rounded = (value) => Number(value.toFixed(digits()));
  const moves = {
    begin: () => {
      moving = true;
      asked.begin({ address: addressOf(design()) });
    },
    drag: (group, event) => {
      if (!moving) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        picture.getScreenCTM().inverse(),
      );
      const inside = [point.x, -point.y].map((v) =>
        rounded((Math.max(-SIDE, Math.min(SIDE, v)) * half) / SIDE),
      );
      group.setAttribute("transform", `translate(${camera(frame, half, turn).at(inside)})`);
      place(group.dataset.what, inside, NEAR * half);
    },
    end: () => {
      if (!moving) return;
      moving = false;
      asked.again();
    },
    step: (what, way, fine) => {
      const size = (fine ? 1 : 5) * 10 ** -digits();
      const { y, columns } = design();
      const from = what === "y" ? y : columns[what];
      place(
        what,
        from.map((v, i) => rounded(v + size * way[i])),
        0.45 * size,
      );
    },
  };

  function drawHandles(view) {
    const points = { ...frame.columns, y: frame.y };
    const names = ["y", ...frame.columns.keys()]; // a column that y covers is drawn on top of it
    const size = `${names},${frame.y.length}`;
    if (parts.handles.dataset.size !== size)
      parts.handles.replaceChildren(
        ...names.map((what) =>
          handle(what, what === "y" ? "var(--ink)" : colourOf(what), live && frame.y.length === 2 ? moves : null),
        ),
      );
    parts.handles.dataset.size = size;
    for (const group of parts.handles.children) {
      const point = points[group.dataset.what];
      group.setAttribute("transform", `translate(${view.at(point)})`);
      group.querySelector("text").origin = view.at(point);
      group.setAttribute("aria-valuetext", `at (${point.map(short).join(", ")})`);
    }
  }

  function draw() {
    const view = camera(frame, half, turn);
    const space = frame.y.length === 3;
    picture.classList.toggle("space", space);
    picture.setAttribute(
      "aria-label",
      `A drawing of the dual polytope. ${frame.words}${space ? " Arrow keys turn it." : ""}`,
    );
    if (space) picture.setAttribute("tabindex", 0);
    else picture.removeAttribute("tabindex");
    const inPlane = live ? "Drag y and the dots, or press arrow keys on them (Shift: finer). " : "";
    parts.hint.textContent = space ? "Drag to turn. " : inPlane;
    parts.tints.textContent = (frame.regions.length ? TINTS : "") + (flows.checked ? FLOW : "") + (cones.checked && !space ? CONE : "");
    const origin = view.at(frame.y.map(() => 0));
    const columns = frame.columns.map((column, j) => arrow(origin, view.at(column), colourOf(j), 0.8));
    parts.scene.replaceChildren(...scenery(frame, view, flows.checked, cones.checked), ...columns);
    drawHandles(view);
    const texts = [parts.handles, parts.scene].flatMap((group) => [...group.querySelectorAll("text")]);
    const extra = flows.checked && frame.flow.now ? [frame.flow.now, frame.flow.mean] : [];
    separate(texts, [frame.y, frame.u, frame.r, ...frame.columns, ...extra].map(view.at));
    pathOf(frame, most, parts.board);
  }

  // Choose the scales of the picture and of the slider. They stay the same during a drag, and afterwards as long as they fit.
  function rescale() {
    const fits = (now, wanted) => now >= wanted && now <= 2 * wanted && !frame.preset.name;
    if (live && !fits(half, frame.half / 1.1)) half = frame.half;
    const range = Math.max(frame.lamStar, frame.lam / 1.2);
    if (!fits(most, 1.1 * range)) most = 1.25 * range;
    if (live) Object.assign(level, { min: most / 200, max: most, step: most / 200 });
  }

  function tell() {
    if (live && !moving) level.value = frame.lam;
    if (parts.typed.getRootNode().activeElement !== parts.typed)
      parts.typed.value = String(Number(frame.lam.toPrecision(6)));
    parts.words.setAttribute("aria-live", moving ? "off" : "polite");
    const cut = frame.bounded
      ? ""
      : " The polytope is unbounded, because the columns do not span the space; it is cut off.";
    const layers = (flows.checked ? ` ${frame.flow.words}` : "") + (cones.checked ? ` ${frame.cone.words}` : "");
    parts.words.textContent = frame.words + cut + layers;
    // A story stays while its design is changed, so that its question can be tried, and the picture does not move during a drag.
    const { name, title, story, ask: question, answer } = frame.preset;
    if (story && parts.story.dataset.name !== name) {
      parts.story.dataset.name = name; // rebuilt only for another story, so that an open answer stays open
      const folded = element("details", {}, element("summary", {}, "answer"), answer);
      parts.story.replaceChildren(
        element("span", {}, story),
        " ",
        element("i", {}, live ? question : `In the explorer: ${question}`),
        folded,
      );
      if (live) chooser.options[0].textContent = `changed: ${title}`;
    }
    root.classList.toggle("changed", !story && Boolean(parts.story.dataset.name));
    if (live) chooser.value = name || "";
    parts.code.textContent = frame.code;
    parts.add.disabled = frame.full;
    if (inAddress && !moving) history.replaceState(history.state, "", `?${frame.address}`);
  }

  function show(found) {
    if (!asked.received(found)) return;
    if (asked.settled()) edited = null;
    if (found.message && !frame && !unread) {
      unread = `This address cannot be read: ${found.message}. The first preset is shown instead.`;
      return asked.request({ address: "" });
    }
    alert.textContent = found.message || (frame ? "" : unread);
    if (!found.message) {
      const handlesStay = frame?.columns.length === found.columns.length && frame.y.length === found.y.length;
      if (!handlesStay) moving = false;
      frame = found;
      if (!moving) rescale();
      tell();
      draw();
      features.draw(frame);
      picks.draw(frame);
      root.dataset.frames = Number(root.dataset.frames || 0) + 1;
    }
    asked.next();
  }

  function turned(yaw, pitch) {
    turn = { yaw: turn.yaw + yaw, pitch: Math.max(-1.5, Math.min(1.5, turn.pitch + pitch)) };
    draw();
  }
  picture.onpointerdown = (event) => frame?.y.length === 3 && picture.setPointerCapture(event.pointerId);
  picture.onpointermove = (event) =>
    picture.hasPointerCapture(event.pointerId) && turned(event.movementX / 120, event.movementY / 120);
  picture.onkeydown = (event) => {
    if (event.target !== picture || !ARROWS[event.key]) return;
    event.preventDefault();
    const [right, up] = ARROWS[event.key];
    turned(0.1 * right, -0.1 * up);
  };

  function controlsOfPython() {
    const setLevel = (now) => {
      moving = now;
      change((next) => (next.lam = Number(level.value)), {
        moved: "lam",
        reach: snap.checked ? 0.4 * level.step : 0,
      });
    };
    level.oninput = () => setLevel(true);
    level.onchange = () => setLevel(false);
    parts.typed.onchange = () => {
      const value = numberOf(parts.typed, alert);
      if (value !== null) change((next) => (next.lam = value));
    };
    const option = (value, words, more = {}) => element("option", { value, ...more }, words);
    chooser.append(option("", "a design of your own", { disabled: true }));
    chooser.append(...Object.entries(presets).map(([name, title]) => option(name, title)));
    chooser.onchange = () => {
      edited = null;
      asked.request({ address: `preset=${chooser.value}` });
    };
    parts.add.onclick = () =>
      change((next) => {
        const angle = 2.4 * next.columns.length + 0.3; // the golden angle: far from the other columns
        next.columns.push([Math.cos(angle), Math.sin(angle), 0.5].slice(0, next.y.length).map(rounded));
      });
    parts.heading.append(
      element("label", {}, "preset ", chooser),
      element("label", {}, snap, " snap to ties"),
      flowing,
      reaching,
      parts.add,
      parts.old,
    );
  }

  function controlsOfStore() {
    parts.typed.disabled = true;
    const size = element("input", {
      type: "range",
      max: stored.length - 1,
      step: 1,
      "aria-label": "size of S",
    });
    const words = "number of features in S (first the preset's, then OMP's picks) ";
    const choose = (row, lam) => {
      const distance = (other) => Math.abs(other.lam - lam);
      const nearest = row.reduce((best, other, i) => (distance(other) < distance(row[best]) ? i : best), 0);
      Object.assign(level, { max: row.length - 1, step: 1, value: nearest });
      half = Math.max(...row.map((other) => other.half));
      show(row[nearest]);
    };
    level.oninput = () => show(stored[size.value][level.value]);
    size.oninput = () => choose(stored[size.value], frame.lam);
    if (stored.length > 1) parts.heading.append(element("label", { className: "level" }, words, size));
    parts.heading.append(flowing, reaching);
    size.value = start.size;
    choose(stored[start.size], start.lam);
  }

  flows.onchange = cones.onchange = () => {
    root.classList.toggle("flowing", flows.checked);
    tell();
    draw();
  };
  if (live) controlsOfPython();
  else controlsOfStore();
  return { show, request: asked.request };
}

// Render the explorer for anywidget, where the widget is the source of frames.
function render({ model, el }) {
  const root = element("div");
  el.append(root);
  const ask = (question) => {
    model.set("asked", question);
    model.save_changes();
  };
  const inAddress = model.get("in_address");
  const { show, request } = explorer(root, { ask, presets: model.get("presets"), inAddress });
  const follow = () => show(model.get("frame"));
  model.on("change:frame", follow);
  if (inAddress) request({ address: location.search });
  else follow();
  return () => model.off("change:frame", follow);
}
