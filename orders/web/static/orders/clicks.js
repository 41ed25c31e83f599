// clicks.js: a click on its way, and one that is not answered. What was filled in stays; what to do is said.

const words = () => document.getElementById("click-words");

// Events come from where something is put in, or from what is left of it; the request knows which form was sent.
function formOf(event) {
  const sender = event.detail.requestConfig?.elt ?? event.detail.elt;
  return sender?.matches("form") ? sender : null;
}

function buttonOf(event) {
  return event.detail.requestConfig?.triggeringEvent?.submitter ?? formOf(event).querySelector("[type=submit]");
}

// Says something above the page; the reader's place is there until they go on.
function say(title, sentence, about = "click") {
  const main = document.getElementById("main");
  document.getElementById("unanswered")?.remove();
  main.prepend(words().content.cloneNode(true));
  const notice = document.getElementById("unanswered");
  notice.dataset.about = about;
  notice.querySelector("strong").textContent = title;
  notice.querySelector("p:last-child").textContent = sentence;
  notice.focus();
}

// A click with a key of its own counts once however often it is sent; the provider's buttons have none.
function whatToDo(form) {
  return form.querySelector("[name=request_id]") ? words().dataset.again : words().dataset.look;
}

document.addEventListener("htmx:beforeRequest", (event) => {
  if (!formOf(event)) return;
  buttonOf(event)?.setAttribute("aria-busy", "true");
  document.getElementById("on-its-way").textContent = words().dataset.onItsWay;
});

document.addEventListener("htmx:afterRequest", (event) => {
  if (!formOf(event)) return;
  buttonOf(event)?.removeAttribute("aria-busy");
  document.getElementById("on-its-way").textContent = "";
});

for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, (event) => {
    if (formOf(event)) say(words().dataset.unanswered, whatToDo(formOf(event)));
  });
}

// An answer that is no page of ours: an error, or a refusal by what stands in front of the pages.
document.addEventListener("htmx:beforeSwap", (event) => {
  const { xhr } = event.detail;
  if (!formOf(event) || xhr.status < 400 || xhr.responseText.includes("data-page=")) return;
  event.detail.shouldSwap = false;
  const failed = xhr.status >= 500;
  const title = (failed ? words().dataset.error : words().dataset.refused).replace("{status}", xhr.status);
  say(title, failed ? whatToDo(formOf(event)) : words().dataset.old);
});

document.addEventListener("shop:say", ({ detail }) => say(detail.title, detail.sentence, detail.about));
