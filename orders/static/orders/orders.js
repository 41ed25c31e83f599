// orders.js: pages that refresh by themselves and clocks that run. Everything works without it.

const EVERY = 2000;
const main = document.getElementById("main");

function isBusy() {
  const active = document.activeElement;
  if (active && main.contains(active) && active.matches("input, select, textarea, button")) return true;
  return [...main.querySelectorAll("input:not([type=hidden]), select, textarea")].some((field) =>
    field.matches("select") ? [...field.options].some((option) => option.selected !== option.defaultSelected && !(field.selectedIndex === 0 && ![...field.options].some((other) => other.defaultSelected)))
      : field.value !== field.defaultValue,
  );
}

// What differs at every request without meaning anything: the forms' keys and tokens, the clock in the last line.
function meaning(element) {
  const copy = element.cloneNode(true);
  copy.querySelectorAll("input[type=hidden], .shop-foot, .lc-left, .lc-clockbar, .shop-title").forEach((part) => part.remove());
  return copy.innerHTML;
}

async function refresh() {
  const address = main.dataset.refresh;
  if (!address || document.hidden || isBusy()) return;
  const answer = await fetch(address, { credentials: "same-origin", headers: { "X-Requested-With": "refresh" } });
  if (!answer.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("main");
  if (!fresh || isBusy()) return;
  const seen = main.querySelector(".shop-foot");
  const now = fresh.querySelector(".shop-foot");
  if (meaning(fresh) === meaning(main)) {
    if (seen && now) seen.replaceWith(document.adoptNode(now));
    main.querySelectorAll(".shop-title").forEach((part, place) => {
      const other = fresh.querySelectorAll(".shop-title")[place];
      if (other) part.textContent = other.textContent;
    });
    return;
  }
  main.replaceChildren(...[...fresh.childNodes].map((node) => document.adoptNode(node)));
  main.dataset.refresh = fresh.dataset.refresh;
  document.title = page.title;
}

function tick() {
  for (const clock of main.querySelectorAll("[data-countdown]")) {
    const left = Math.max(0, Math.floor((new Date(clock.dataset.countdown) - Date.now()) / 1000));
    const hours = Math.floor(left / 3600);
    const minutes = Math.floor((left % 3600) / 60);
    const seconds = String(left % 60).padStart(2, "0");
    clock.textContent = hours ? `${hours}:${String(minutes).padStart(2, "0")}:${seconds}` : `${minutes}:${seconds}`;
  }
}

setInterval(tick, 1000);
(async function loop() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, EVERY));
    try {
      await refresh();
    } catch {
      // The server is away; the next round asks again.
    }
  }
})();
