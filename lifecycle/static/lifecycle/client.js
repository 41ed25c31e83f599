/**
 * A client for the REST endpoints of a lifecycle: see, fire, watch. An ES module without dependencies.
 *
 *   import { lifecycle, Conflict, InvalidInput } from "/static/lifecycle/client.js";
 *
 *   const orders = lifecycle("/api/orders/");
 *   const stop = orders.watch(17, (view) => draw(view));
 *   await orders.fire(17, "ship", { carrier: "DHL", tracking_number: "1Z" });
 */

// Errors ------------------------------------------------------------------------------------------

/** What the server, or the way to it, says no with. `message` is for people, `code` for programs. */
export class LifecycleError extends Error {
  constructor(message, { status = 0, code = "error", refusals = [], problems = [], retryAfter = null } = {}) {
    super(message);
    this.name = new.target.name;
    this.status = status;
    this.code = code;
    /** Why a transition may not happen now: `{source, kind, code, message, params}`. */
    this.refusals = refusals;
    /** What does not fit about the request: `{field, code, message}`. */
    this.problems = problems;
    /** Seconds the server asks to wait, or null. */
    this.retryAfter = retryAfter;
    /** The key under which the same fire may be sent again without being done twice, or null. */
    this.requestId = null;
  }

  /** The messages of one field's problems: what a form shows beside it. */
  of(field) {
    return this.problems.filter((problem) => problem.field === field).map((problem) => problem.message);
  }
}

/** 400, 413, 415: the request does not fit; `problems` says where. */
export class InvalidInput extends LifecycleError {}
/** 401, 403: this caller may not. */
export class Denied extends LifecycleError {}
/** 404: nothing there for this caller. */
export class NotFound extends LifecycleError {}
/** 409: not now; `refusals` says why. */
export class Refused extends LifecycleError {}
/** 409: the record has moved on since the page was drawn. Show the new view; never send it again unasked. */
export class Conflict extends Refused {}
/** 422: the request id was used for something else. */
export class RequestReused extends LifecycleError {}
/** 429: too many requests; `retryAfter` says how long to wait. */
export class Throttled extends LifecycleError {}
/** No answer: no network, a timeout, a server that is down. Whether a fire was done is not known. */
export class Unreachable extends LifecycleError {}

const KINDS = {
  400: InvalidInput,
  401: Denied,
  403: Denied,
  404: NotFound,
  409: Refused,
  413: InvalidInput,
  415: InvalidInput,
  422: RequestReused,
  429: Throttled,
};

// Client ------------------------------------------------------------------------------------------

/**
 * A client for one viewset.
 *
 * @param {string} address where the viewset's list is, e.g. "/api/orders/"
 * @param {object} [options]
 * @param {string} [options.csrfCookie] name of Django's CSRF cookie
 * @param {string} [options.csrfHeader] name of Django's CSRF header
 * @param {object} [options.headers] sent with every request, e.g. `{Authorization: "Bearer …"}`
 * @param {number} [options.timeout] milliseconds until a request counts as unanswered
 * @param {boolean} [options.trailingSlash] false for a router made without
 * @param {typeof fetch} [options.fetch]
 */
export function lifecycle(address, options = {}) {
  return new LifecycleClient(address, options);
}

/** Dispatches the event "busy" whenever `busy` changes. */
export class LifecycleClient extends EventTarget {
  #address;
  #options;
  #changes = 0;
  #versions = new Map();
  #watches = new Map();

  constructor(address, options = {}) {
    super();
    const here = globalThis.document?.baseURI ?? globalThis.location?.href;
    this.#address = new URL(address.endsWith("/") ? address : `${address}/`, here);
    this.#options = {
      csrfCookie: "csrftoken",
      csrfHeader: "X-CSRFToken",
      headers: {},
      timeout: 30_000,
      trailingSlash: true,
      fetch: (...request) => globalThis.fetch(...request),
      ...options,
    };
  }

  /** Whether a request that changes something is on its way: buttons are disabled meanwhile. */
  get busy() {
    return this.#changes > 0;
  }

  /** The lifecycle: states, transitions with their inputs' JSON schemas, parameters, diagram. */
  async describe() {
    return (await this.#send("GET", "lifecycle")).body;
  }

  /** `{record, state, version, available, history, runs}`. */
  async view(id) {
    const { body, tag } = await this.#send("GET", `${encode(id)}/lifecycle`);
    this.#seen(id, body, tag);
    return body;
  }

  /**
   * Fires a transition; answers the view after it, and `replayed`.
   *
   * The version that was seen last is expected, so that nobody presses a button of a stale page: then it throws
   * `Conflict`. `expectVersion: null` expects nothing. Each call is a new request; to repeat one whose answer was lost,
   * give its `requestId` (an `Unreachable` carries it).
   */
  async fire(id, transition, input = {}, { requestId = uuid(), expectVersion } = {}) {
    const expected = expectVersion === undefined ? this.#versions.get(String(id)) : expectVersion;
    const body = { transition, input, request_id: requestId };
    if (expected !== undefined && expected !== null) body.expect_version = expected;
    return this.#change(id, `${encode(id)}/fire`, body, requestId);
  }

  /** Enqueues a failed, dead or cancelled run again. */
  async retry(id, run, { reason = "", force = false } = {}) {
    return this.#change(id, `${encode(id)}/runs/${encode(run)}/retry`, { reason, force });
  }

  /** Tries a run's waiting follow-up now. */
  async continue(id, run, { reason = "" } = {}) {
    return this.#change(id, `${encode(id)}/runs/${encode(run)}/continue`, { reason });
  }

  /** Cancels a queued run. */
  async cancel(id, run, { reason = "", force = false } = {}) {
    return this.#change(id, `${encode(id)}/runs/${encode(run)}/cancel`, { reason, force });
  }

  /**
   * Calls back with the view now, and whenever it has changed; answers a function that stops.
   *
   * Asks by ETag, so that nothing new costs next to nothing; not at all while the page is hidden; ever more slowly while
   * the server errs. What this client does itself is told at once. A record that is gone or not to be seen any more ends
   * the watch: the error's last word goes to `onError`.
   *
   * @param {object} [options]
   * @param {number} [options.every] milliseconds between two questions
   * @param {number} [options.slowest] milliseconds between two questions while the server errs, at most
   * @param {(error: LifecycleError) => void} [options.onError]
   */
  watch(id, callback, { every = 4_000, slowest = 60_000, onError = () => {} } = {}) {
    const key = String(id);
    const watch = new Watch({
      ask: (tag, signal) => this.#send("GET", `${encode(id)}/lifecycle`, { tag, signal }),
      tell: (view) => {
        this.#versions.set(key, view.version);
        callback(view);
      },
      every,
      slowest,
      onError,
    });
    const watches = this.#watches.get(key) ?? new Set();
    this.#watches.set(key, watches.add(watch));
    watch.start();
    return () => {
      watch.stop();
      watches.delete(watch);
      if (watches.size === 0 && this.#watches.get(key) === watches) this.#watches.delete(key);
    };
  }

  async #change(id, path, body, requestId = null) {
    this.#count(+1);
    try {
      const answer = await this.#send("POST", path, { body });
      this.#seen(id, answer.body, answer.tag);
      return answer.body;
    } catch (error) {
      if (error instanceof LifecycleError) error.requestId = requestId;
      throw error;
    } finally {
      this.#count(-1);
    }
  }

  #count(change) {
    const before = this.busy;
    this.#changes += change;
    if (before !== this.busy) this.dispatchEvent(new Event("busy"));
  }

  #seen(id, view, tag) {
    this.#versions.set(String(id), view.version);
    for (const watch of this.#watches.get(String(id)) ?? []) watch.told(view, tag);
  }

  async #send(method, path, { body, tag, signal } = {}) {
    const url = new URL(path + (this.#options.trailingSlash ? "/" : ""), this.#address);
    const headers = { Accept: "application/json", ...this.#options.headers };
    if (tag) headers["If-None-Match"] = tag;
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
      // The token is this site's: no other one is shown it.
      if (url.origin === globalThis.location?.origin) {
        const token = cookie(this.#options.csrfCookie);
        if (token) headers[this.#options.csrfHeader] = token;
      }
    }
    const limits = [AbortSignal.timeout(this.#options.timeout), ...(signal ? [signal] : [])];
    let response, text;
    try {
      response = await this.#options.fetch(url, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        credentials: "same-origin",
        cache: "no-store", // the ETag is ours to send; the browser would answer 200 from its own cache
        signal: AbortSignal.any(limits),
      });
      text = await response.text();
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Unreachable("The server did not answer.", { code: "unreachable" });
    }
    if (response.status === 304) return { unchanged: true, tag };
    const data = parsed(text);
    if (!response.ok) throw errorOf(response, data);
    if (data === undefined) {
      throw new LifecycleError("The server's answer is not JSON.", { status: response.status, code: "not_json" });
    }
    return { body: data, tag: response.headers.get("ETag") };
  }
}

// Watch -------------------------------------------------------------------------------------------

const LONGEST = 2 ** 31 - 1; // a timer that is asked for more rings at once

class Watch {
  #options;
  #tag = null;
  #last = null;
  #timer = null;
  #asking = null;
  #failures = 0;
  #stopped = false;
  #onVisibility = () => (hidden() ? this.#pause() : this.#ask());

  constructor(options) {
    this.#options = options;
  }

  start() {
    globalThis.document?.addEventListener("visibilitychange", this.#onVisibility);
    // Not before the caller holds the function that stops.
    if (!hidden()) this.#timer = setTimeout(() => this.#ask(), 0);
  }

  stop() {
    this.#stopped = true;
    this.#pause();
    globalThis.document?.removeEventListener("visibilitychange", this.#onVisibility);
  }

  /** A view that came by another way: newer than whatever is still on its way. */
  told(view, tag) {
    if (this.#stopped) return;
    this.#pause();
    this.#tell(view, tag);
    this.#next();
  }

  #pause() {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    this.#asking = null;
  }

  async #ask() {
    this.#pause();
    const asking = (this.#asking = new AbortController());
    try {
      const answer = await this.#options.ask(this.#tag, asking.signal);
      if (this.#asking !== asking) return; // overtaken, paused or stopped meanwhile
      this.#failures = 0;
      if (!answer.unchanged) this.#tell(answer.body, answer.tag);
    } catch (error) {
      if (this.#asking !== asking) return;
      this.#failures += 1;
      if (error instanceof Denied || error instanceof NotFound) this.stop();
      this.#report(error);
      this.#next(error.retryAfter);
      return;
    }
    this.#next();
  }

  #next(atLeast = null) {
    this.#asking = null;
    clearTimeout(this.#timer);
    if (this.#stopped || hidden()) return;
    const { every, slowest } = this.#options;
    const slow = Math.min(every * 2 ** this.#failures, Math.max(slowest, every));
    // Pages that lost the server together do not come back together.
    const wait = this.#failures ? slow * (0.75 + Math.random() / 2) : slow;
    this.#timer = setTimeout(() => this.#ask(), Math.min(Math.max(wait, (atLeast ?? 0) * 1000), LONGEST));
  }

  #tell(view, tag) {
    this.#tag = tag;
    // No tag is trusted for long, and the answer to a change may have been seen by the last question already.
    const { replayed, ...facts } = view;
    const said = JSON.stringify(facts);
    if (said === this.#last) return;
    this.#last = said;
    try {
      this.#options.tell(view);
    } catch (error) {
      reportError(error); // a page that cannot draw one view may draw the next
    }
  }

  #report(error) {
    try {
      this.#options.onError(error);
    } catch (other) {
      reportError(other);
    }
  }
}

// Words -------------------------------------------------------------------------------------------

function errorOf(response, data) {
  const said = data !== null && typeof data === "object" ? data : {};
  let Kind = KINDS[response.status] ?? (response.status >= 500 ? Unreachable : LifecycleError);
  if (Kind === Refused && said.code === "conflict") Kind = Conflict;
  const wait = Number(response.headers.get("Retry-After"));
  return new Kind(String(said.detail ?? response.statusText ?? "The request failed."), {
    status: response.status,
    code: said.code ?? `http_${response.status}`,
    refusals: said.refusals ?? [],
    problems: said.problems ?? [],
    retryAfter: Number.isFinite(wait) && wait > 0 ? wait : null,
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function cookie(name) {
  for (const part of (globalThis.document?.cookie ?? "").split(";")) {
    const [key, ...value] = part.trim().split("=");
    if (key === name) return decodeURIComponent(value.join("="));
  }
  return "";
}

function encode(id) {
  return encodeURIComponent(String(id));
}

function hidden() {
  return globalThis.document?.visibilityState === "hidden";
}

function uuid() {
  if (globalThis.crypto.randomUUID) return globalThis.crypto.randomUUID();
  // Over plain HTTP there is no randomUUID.
  const bytes = globalThis.crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
