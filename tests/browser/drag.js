// Moves the handle of y on a circle at each animation frame, by the page's own events; notes when frames came.
const [handle, root, radius, seconds, done] = arguments;
const box = handle.getBoundingClientRect();
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
handle.setPointerCapture = () => {};
handle.hasPointerCapture = () => true;
const send = (kind, a, b) => handle.dispatchEvent(
  new PointerEvent(kind, { pointerId: 1, clientX: a, clientY: b, bubbles: true }));
const picks = root.querySelector("tr[data-name=OMP]").parentNode;
const times = { handle: [], frames: [], picks: [] };
const note = (what) => new MutationObserver(() => times[what].push(performance.now()));
note("frames").observe(root, { attributes: true, attributeFilter: ["data-frames"] });
note("picks").observe(picks.parentNode, { childList: true });
const begin = performance.now();
send("pointerdown", x, y);
const step = (now) => {
  const angle = (now - begin) / 300;
  times.handle.push(now);
  send("pointermove", x + radius * (Math.cos(angle) - 1), y + radius * Math.sin(angle));
  if (now - begin < 1000 * seconds) return requestAnimationFrame(step);
  send("pointerup", x, y);
  done(times);
};
requestAnimationFrame(step);
