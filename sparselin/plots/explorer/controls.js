// The controls: handles and tables, and the questions that they send.

const PICKS = 120; // milliseconds between computations of the picks during a drag; the polytope follows as fast as it can
const TIMEOUT = 4000; // milliseconds after which an unanswered question is reported

// Send questions, at most two at a time, so that one is answered while the other is drawn. If more wait, only the last is sent.
function questions(ask, isMoving, tellLate) {
  let [wanted, last, number, answered, picked, timer] = [null, {}, 0, 0, 0, null];
  function request(question) {
    wanted = last = question;
    if (number - answered > 1) return;
    const due = performance.now() > picked + PICKS;
    if (due) picked = performance.now();
    wanted = null;
    clearTimeout(timer);
    timer = setTimeout(() => {
      answered = number;
      tellLate();
    }, TIMEOUT);
    ask({ ...question, number: ++number, picks: !isMoving() ? "all" : due ? "untrained" : "none" });
  }
  return {
    request,
    begin: (question) => (last = question), // the question of `again` if nothing moved
    again: () => request(last),
    // Return whether an answer is newer than the last one.
    received(found) {
      if (found.number < answered) return false;
      answered = found.number || 0;
      number = Math.max(number, answered); // another view of the same widget may have asked
      if (answered === number) clearTimeout(timer);
      return true;
    },
    settled: () => answered === number && !wanted,
    next: () => wanted && request(wanted),
  };
}

const STAR = "M0 -5L1.5 -1.6L5 -1.5L2.2 0.8L3.2 4.3L0 2.2L-3.2 4.3L-2.2 0.8L-5 -1.5L-1.5 -1.6z";
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

// Return the mark of y or of a column; with `moves` it is a handle for the mouse and for arrow keys.
function handle(what, colour, moves) {
  const isY = what === "y";
  const mark = isY
    ? shape("path", { d: STAR, fill: colour })
    : shape("circle", { r: 2.6, fill: colour, stroke: "var(--paper)", "stroke-width": 0.6 });
  const name = movable(isY ? "y" : `X${low(what)}`, AROUND, { fill: colour, "font-weight": 700 });
  const group = shape(
    "g",
    { "data-what": what },
    shape("circle", { r: isY ? 7 : 5, fill: "transparent", class: "ring" }),
    mark,
    name,
  );
  if (!moves) return group;
  const attributes = {
    class: "handle",
    tabindex: 0,
    role: "slider",
    "aria-roledescription": "point",
    "aria-valuenow": 0,
  };
  for (const [attribute, value] of Object.entries(attributes)) group.setAttribute(attribute, value);
  group.setAttribute("aria-label", `${isY ? "y" : `column ${what} of X`}: arrow keys move it`);
  group.onpointerdown = (event) => {
    event.preventDefault();
    event.stopPropagation();
    group.focus();
    group.setPointerCapture(event.pointerId);
    moves.begin();
  };
  group.onpointermove = (event) => group.hasPointerCapture(event.pointerId) && moves.drag(group, event);
  group.onlostpointercapture = group.onpointerup = group.onpointercancel = moves.end;
  group.onkeydown = (event) => {
    if (!ARROWS[event.key]) return;
    event.preventDefault();
    moves.step(what, ARROWS[event.key], event.shiftKey);
  };
  return group;
}

const row = (kind, cells, attributes = {}) =>
  element("tr", attributes, ...cells.map((cell) => element(kind, {}, cell)));
const chip = (frame, j, more = {}) =>
  element("span", { className: "chip", style: `background:${colourOf(j)}`, ...more }, String(j));

// Return the number in a field, with a comma as decimal point. If there is none, report and mark this, and return null.
function numberOf(input, alert) {
  const text = input.value.trim().replace("−", "-").replace(",", ".");
  const value = text === "" ? NaN : Number(text);
  const fine = Number.isFinite(value);
  input.setAttribute("aria-invalid", !fine);
  if (!fine) alert.textContent = `${input.getAttribute("aria-label")} must be a number; got "${input.value}"`;
  return fine ? value : null;
}

// Return the table with X, y and S to edit, and the results for each feature. `change` applies an edit; if it is null, the table is fixed.
function featureTable(change, alert) {
  const table = element("table");
  const fixed = { disabled: change === null };
  const number = (what, i) =>
    element("input", {
      type: "text",
      inputMode: "decimal",
      ...fixed,
      "data-what": what,
      "data-row": i,
      "aria-label": `${what === "y" ? "y" : `column ${what}`}, row ${i + 1}`,
      onchange: ({ target }) => {
        const value = numberOf(target, alert);
        if (value !== null) change((next) => ((what === "y" ? next.y : next.columns[what])[i] = value));
      },
    });
  const inS = (j) =>
    element("input", {
      type: "checkbox",
      ...fixed,
      "aria-label": `feature ${j} in S`,
      onchange: ({ target }) =>
        change((next) => {
          next.S = next.S.filter((i) => i !== j).concat(target.checked ? [j] : []);
        }),
    });
  const remove = (j, last) =>
    element("button", {
      type: "button",
      textContent: "×",
      "aria-label": `remove column ${j}`,
      disabled: last,
      onclick: () =>
        change((next) => {
          next.columns.splice(j, 1);
          next.S = next.S.filter((i) => i !== j).map((i) => i - (i > j));
        }),
    });
  const rowOf = (frame, j) => {
    const numbers = frame.y.map((_, i) => number(j, i));
    const made = row(
      "td",
      [
        chip(frame, j),
        inS(j),
        ...numbers,
        "",
        "",
        "",
        "",
        change ? remove(j, frame.columns.length === 1) : "",
      ],
      {
        "data-j": j,
      },
    );
    made.querySelectorAll("td").forEach((cell, i) => i > 1 + numbers.length && (cell.className = "number"));
    return made;
  };

  // Rows are built anew only if their number changes, so that a field keeps the focus while somebody types.
  function build(frame) {
    const rows = frame.y.map((_, i) => `row ${i + 1}`);
    const head = row("th", ["", "S", ...rows, "⟨X_j,\u00a0r⟩", "T", "A(S)", "β_j", ""]);
    const y = row("td", [element("strong", {}, "y"), "", ...frame.y.map((_, i) => number("y", i))]);
    const body = frame.columns.map((_, j) => rowOf(frame, j));
    table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...body, y));
  }

  function draw(frame) {
    const size = `${frame.y.length},${frame.columns.length}`;
    if (table.dataset.size !== size) build(frame);
    table.dataset.size = size;
    const active = table.getRootNode().activeElement;
    for (const input of table.querySelectorAll("input[type=text]")) {
      const vector = input.dataset.what === "y" ? frame.y : frame.columns[input.dataset.what];
      if (input === active) continue;
      input.value = String(Number(vector[input.dataset.row].toPrecision(6)));
      input.removeAttribute("aria-invalid");
    }
    table.querySelectorAll("tr[data-j]").forEach((line, j) => {
      const chosen = frame.S.includes(j);
      line.querySelector("input[type=checkbox]").checked = chosen;
      const among = (J) => (J.includes(j) ? "●" : "");
      const out = [
        chosen ? "0" : short(frame.correlations[j]),
        among(frame.T),
        among(frame.A),
        short(frame.beta[j]),
      ];
      line.querySelectorAll("td.number").forEach((cell, i) => i < out.length && (cell.textContent = out[i]));
    });
  }
  return { table, draw };
}

// Return the table with the picks of each method. Picks that a frame does not have stay, faded while others are newer.
function picksTable() {
  const table = element("table");
  const picked = (frame, found) =>
    found.support.map((j, i) =>
      found.ties[i].length
        ? element("span", {}, chip(frame, j, { className: "chip tie" }), `= ${found.ties[i].join(" = ")}  `)
        : chip(frame, j),
    );
  function draw(frame) {
    const newer = Object.values(frame.picks).some((found) => found);
    if (!newer && table.rows.length) return;
    const rows = Object.entries(frame.picks).map(([name, found]) => {
      const old = table.querySelector(`tr[data-name="${name}"]`);
      if (!found && old) {
        old.classList.add("old");
        return old;
      }
      const chips = element(
        "span",
        { className: "picks" },
        ...(found ? picked(frame, found) : ["after release"]),
      );
      const r2 = found ? found.r2.map((value) => value.toFixed(3)).join(", ") : "";
      return row("td", [name, chips, r2], { "data-name": name });
    });
    const head = row("th", ["picks after S, in order (= marks ties)", "", "R²"]);
    table.replaceChildren(element("thead", {}, head), element("tbody", {}, ...rows));
  }
  return { table, draw };
}
