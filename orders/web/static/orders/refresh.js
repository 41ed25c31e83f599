// refresh.js: pages that refresh by themselves. htmx asks again with the ETag of what is shown; of a new page only the
// parts that differ are put in, and a form in use stays as it is. Everything works without this file.

const EDITABLE = "input:not([type=hidden]), select, textarea";
let kept = false;

const main = () => document.getElementById("main");

function isChanged(field) {
  if (field instanceof HTMLSelectElement) {
    const preset = [...field.options].findIndex((option) => option.defaultSelected);
    return field.selectedIndex !== Math.max(preset, 0);
  }
  return field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

// Being filled in, filled in before the page came (a refused form, say), or just sent.
function isInUse(part) {
  if (part.querySelector("[data-filled-in], form.htmx-request")) return true;
  return [...part.querySelectorAll(EDITABLE)].some((field) => field === document.activeElement || isChanged(field));
}

// What differs at every request without meaning anything: tokens, keys, and clocks that run.
function meaning(part) {
  const copy = part.cloneNode(true);
  copy.querySelectorAll("[name=csrfmiddlewaretoken], [name=request_id], [data-since]").forEach((node) => node.remove());
  copy.querySelectorAll("[data-until]").forEach((node) => node.replaceChildren());
  copy.querySelectorAll("[data-window]").forEach((node) => node.removeAttribute("width"));
  copy.querySelectorAll("details[open]").forEach((node) => node.removeAttribute("open"));
  copy.querySelectorAll(".is-new").forEach((node) => node.classList.remove("is-new"));
  copy.querySelectorAll("[role=timer]").forEach((node) => node.removeAttribute("aria-label"));
  // htmx leaves classes of its own behind for a moment.
  copy.querySelectorAll("[class]").forEach((node) => node.classList.remove("htmx-request", "htmx-added", "htmx-settling"));
  copy.querySelectorAll('[class=""]').forEach((node) => node.removeAttribute("class"));
  return copy.innerHTML;
}

function carryOver(shown, fresh) {
  for (const details of shown.querySelectorAll("details[id][open]")) {
    fresh.querySelector(`#${CSS.escape(details.id)}`)?.setAttribute("open", "");
  }
  if (shown.id === "history") {
    for (const entry of fresh.querySelectorAll("li[id]")) {
      if (!shown.querySelector(`#${CSS.escape(entry.id)}`)) entry.classList.add("is-new");
    }
  }
  const sideways = [...shown.querySelectorAll(".lc-scroll")].map((box) => box.scrollLeft);
  const down = window.scrollY;
  requestAnimationFrame(() => {
    [...document.getElementById(shown.id).querySelectorAll(".lc-scroll")].forEach((box, place) => {
      box.scrollLeft = sideways[place] ?? 0;
    });
    if (Math.abs(window.scrollY - down) > 1) window.scrollTo({ top: down, behavior: "instant" });
  });
}

function isOwnRefresh(event) {
  return event.detail.elt?.id === "refresh";
}

document.addEventListener("htmx:configRequest", (event) => {
  if (isOwnRefresh(event) && main().dataset.etag) event.detail.headers["If-None-Match"] = main().dataset.etag;
  if (event.detail.elt?.dataset.etag) event.detail.headers["If-None-Match"] = event.detail.elt.dataset.etag;
});

document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.detail.elt?.hasAttribute("data-refresh") && document.hidden) event.preventDefault();
});

function isThisPage(xhr) {
  return xhr.status === 304 || xhr.responseText.includes(`data-page="${main().dataset.page}"`);
}

// Before a whole answer is used: is it still this page? After a log-out, say, it is not. What went wrong with a click is
// said by clicks.js, with a page that asked by itself below.
document.addEventListener("htmx:beforeSwap", (event) => {
  kept = false;
  const { elt, xhr } = event.detail;
  if (elt?.hasAttribute("data-refresh") && elt.id !== "refresh") {
    if (!xhr.responseText.includes('id="provider"')) event.detail.shouldSwap = false;
    return;
  }
  if (isThisPage(xhr)) return;
  event.detail.shouldSwap = false;
  if (xhr.status >= 400) return;
  if (isOwnRefresh(event) && isInUse(main())) sayLoggedOut();
  else window.location.assign(xhr.responseURL);
});

// Leaving now would lose what is being filled in; the button leads to the log-in, and back with all of it.
function sayLoggedOut() {
  if (document.getElementById("unanswered")?.dataset.about === "log-out") return;
  const { loggedOut, kept: isKept } = document.getElementById("click-words").dataset;
  document.dispatchEvent(new CustomEvent("shop:say", { detail: { title: loggedOut, sentence: isKept, about: "log-out" } }));
}

// Before one part is put in.
document.addEventListener("htmx:oobBeforeSwap", (event) => {
  const shown = event.detail.target;
  const fresh = event.detail.fragment.firstElementChild;
  if (!fresh || meaning(fresh) === meaning(shown)) {
    event.detail.shouldSwap = false;
  } else if (isInUse(shown)) {
    event.detail.shouldSwap = false;
    kept = true;
  } else {
    carryOver(shown, fresh);
  }
});

document.addEventListener("htmx:afterRequest", (event) => {
  const { elt, xhr } = event.detail;
  if (!elt?.hasAttribute("data-refresh")) return;
  const isAnswered = Boolean(xhr) && (xhr.status === 304 || (xhr.status === 200 && (elt.id !== "refresh" || isThisPage(xhr))));
  if (elt.id === "refresh") sayOutdated(isAnswered ? "" : xhr?.status === 200 ? "loggedOut" : "unanswered");
  if (!isAnswered) return;
  const tag = xhr.getResponseHeader("ETag");
  // While a form is kept, the next round must bring the new page again.
  const holder = elt.id === "refresh" ? main() : elt;
  if (xhr.status === 200) {
    if (kept || !tag) delete holder.dataset.etag;
    else holder.dataset.etag = tag;
    if (elt.id === "refresh") document.querySelector(".shop-kept").hidden = !kept;
  }
  if (elt.id === "refresh") seen(xhr.getResponseHeader("Date"));
});

// Why what stands here may be old: nobody answers, or somebody else would have to ask.
function sayOutdated(why) {
  const foot = document.getElementById("refresh");
  const said = foot?.querySelector(".shop-outdated");
  if (!said || (foot.dataset.outdated ?? "") === why) return;
  foot.dataset.outdated = why;
  said.textContent = why ? said.dataset[why].replace("{moment}", foot.querySelector("time").textContent) : "";
}

// The last line says when the page was last known to be right: the server's clock, in the zone the page is written in.
function seen(date) {
  const time = document.querySelector("#refresh time");
  if (!time || !date) return;
  const zone = time.getAttribute("datetime").slice(-6);
  const minutes = /^[+-]\d\d:\d\d$/.test(zone) ? Number(`${zone[0]}1`) * (Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4))) : 0;
  const local = new Date(new Date(date).getTime() + minutes * 60000).toISOString().slice(0, 19);
  time.setAttribute("datetime", local + zone);
  time.textContent = local.slice(11);
}

// After a button was pressed the new page is there: the notice gets the focus, or else what had it.
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.elt?.id !== "main") return;
  const notice = document.querySelector('#main [role="alert"]');
  const wrong = document.querySelector('#main [aria-invalid="true"]');
  if (wrong) wrong.focus();
  else if (notice) {
    notice.tabIndex = -1;
    notice.focus();
  } else if (!document.activeElement || document.activeElement === document.body) main().focus({ preventScroll: true });
});

// Who comes back to a page, from another one or from another window, sees it as it is now.
window.addEventListener("pageshow", (event) => {
  const [how] = performance.getEntriesByType("navigation");
  if (event.persisted || how?.type === "back_forward") window.htmx?.trigger("#refresh", "refresh");
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) window.htmx?.trigger("#refresh", "refresh");
});

// Time that has run out is news: ask at once, and again until the system has acted.
setInterval(() => {
  const clock = document.querySelector(".lc-left[data-until]");
  if (clock && clock.textContent === "0:00") window.htmx?.trigger("#refresh", "refresh");
}, 1000);
