// clocks.js: lengths of time that go on while a page is looked at. Only the shop's clock counts: the page says the
// moment it was made, every later answer says the moment of that one, and in between this machine counts seconds.

let known = null; // a moment by the shop's clock, and when we heard of it by a clock of ours that nobody sets

function hear(moment) {
  if (!Number.isNaN(moment)) known = { moment, at: performance.now() };
}

function now() {
  return known.moment + performance.now() - known.at;
}

function hearFromThePage() {
  hear(Date.parse(document.querySelector("#refresh time")?.getAttribute("datetime")));
}

// A page that was kept, or a machine that slept, is off by more than the second that headers leave open.
document.addEventListener("htmx:afterRequest", (event) => {
  if (!event.detail.elt?.hasAttribute("data-refresh")) return;
  const moment = Date.parse(event.detail.xhr?.getResponseHeader("Date")) + 500;
  if (known && Math.abs(moment - now()) > 1500) hear(moment);
  if (known) tick();
});

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
  for (const clock of document.querySelectorAll("[data-until]")) {
    const left = Math.floor((Number(clock.dataset.until) - now()) / 1000);
    clock.textContent = countdown(left);
    const timer = clock.closest("[role=timer]");
    if (timer) timer.setAttribute("aria-label", timer.dataset.label.replace("{left}", spoken(left)));
    const bar = clock.parentElement.querySelector("[data-window]");
    if (bar) bar.setAttribute("width", Math.max(0, Math.min(100, (100 * left) / Number(bar.dataset.window))));
  }
  for (const clock of document.querySelectorAll("[data-since]")) {
    clock.textContent = spoken(Math.floor((now() - Number(clock.dataset.since)) / 1000), Number(clock.dataset.units));
  }
}

// A piece that was put in a moment ago begins to count at once, not at the next full second.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt?.id === "main") hearFromThePage();
  if (known) tick();
});
hearFromThePage();
if (known) {
  tick();
  setInterval(tick, 1000);
}
