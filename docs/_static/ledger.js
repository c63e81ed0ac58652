// The search of the ledger: from the form to the rows and to the address, and from the address to the form.
// Its words are `find` in the address: at `q` the search of the whole site starts, on every page.
(() => {
  const form = document.querySelector("form.ledger");
  const rows = [...document.querySelectorAll("table.ledger tbody tr")].map((row) => ({
    row,
    text: row.textContent.toLowerCase(),
    symbols: new Set(row.dataset.symbols.split(" ")),
  }));
  const symbols = new Set(rows.flatMap((one) => [...one.symbols]));
  const fields = ["find", "paper", "verdict"].map((name) => form.elements[name]);

  const has = (one, word) => (symbols.has(word) ? one.symbols.has(word) : one.text.includes(word.toLowerCase()));

  function show() {
    const [words, paper, verdict] = fields.map((field) => field.value.trim());
    const target = decodeURIComponent(location.hash.slice(1));
    let count = 0;
    for (const one of rows) {
      const found =
        ["", one.row.dataset.paper].includes(paper) &&
        ["", one.row.dataset.verdict].includes(verdict) &&
        words.split(/\s+/).every((word) => !word || has(one, word));
      count += found;
      one.row.hidden = !found && one.row.id !== target; // a row that was linked to is shown in any case
    }
    for (const notation of document.querySelectorAll("details.ledger")) {
      notation.hidden = !["", notation.dataset.paper].includes(paper);
    }
    form.querySelector("output").value = `${count} of ${rows.length} rows`;
  }

  function write() {
    const query = new URLSearchParams();
    for (const field of fields) if (field.value.trim()) query.set(field.name, field.value.trim());
    history.replaceState(null, "", location.pathname + (query.size ? `?${query}` : ""));
    show();
  }

  const query = new URLSearchParams(location.search);
  for (const field of fields) {
    field.value = query.get(field.name) ?? "";
    if (field.selectedIndex === -1) field.value = ""; // no such paper, no such verdict
  }
  for (const event of ["input", "change"]) form.addEventListener(event, write);
  form.addEventListener("reset", () => setTimeout(write));
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("hashchange", show);
  form.hidden = false;
  show();
  const start = document.getElementById(decodeURIComponent(location.hash.slice(1))) ?? (location.search ? form : null);
  start?.scrollIntoView();
})();
