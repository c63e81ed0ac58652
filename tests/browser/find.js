// the first element for a selector, in shadow trees too
const find = (tree, selector) => {
  const found = tree.querySelector(selector);
  if (found) return found;
  for (const one of tree.querySelectorAll("*")) {
    const inner = one.shadowRoot && find(one.shadowRoot, selector);
    if (inner) return inner;
  }
  return null;
};
return find(document, arguments[0]);
