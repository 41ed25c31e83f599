// clocks.js: lengths of time that go on while a page is looked at. The server writes how much is left or has passed;
// only the difference is counted here, so a wrong clock on this machine does no harm.

const begun = new WeakMap();

function elapsed(element) {
  if (!begun.has(element)) begun.set(element, performance.now());
  return Math.floor((performance.now() - begun.get(element)) / 1000);
}

// 2:08, 1:02:08 above an hour; the same as orders/web/durations.py.
export function countdown(seconds) {
  const left = Math.max(0, seconds);
  const hours = Math.floor(left / 3600);
  const minutes = Math.floor((left % 3600) / 60);
  const rest = String(left % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

// 2 d 2 h, 1 min 16 s; two units at most.
export function spoken(seconds, most = 2) {
  const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  let left = Math.max(0, seconds);
  for (let place = 0; place < units.length; place += 1) {
    const [size, name] = units[place];
    if (left < size) continue;
    const parts = [`${Math.floor(left / size)} ${name}`];
    left %= size;
    const next = units[place + 1];
    if (most > 1 && next && Math.floor(left / next[0])) parts.push(`${Math.floor(left / next[0])} ${next[1]}`);
    return parts.join(" ");
  }
  return "0 s";
}

export function tick() {
  for (const clock of document.querySelectorAll("[data-left]")) {
    const left = Number(clock.dataset.left) - elapsed(clock);
    clock.textContent = countdown(left);
    const bar = clock.parentElement.querySelector("[data-window]");
    if (bar) bar.setAttribute("width", Math.max(0, Math.min(100, (100 * left) / Number(bar.dataset.window))));
  }
  for (const clock of document.querySelectorAll("[data-since]")) {
    clock.textContent = spoken(Number(clock.dataset.since) + elapsed(clock), Number(clock.dataset.units));
  }
}

// A piece that was put in a moment ago begins to count at once, not at the next full second.
document.addEventListener("htmx:afterSettle", tick);
tick();
setInterval(tick, 1000);
