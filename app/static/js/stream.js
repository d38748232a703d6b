// Follows one turn's event log from a cursor until it ends. Knows no page: what happens is told to a listener.

/**
 * @typedef {object} Listener
 * @property {(text: string) => void} append more text
 * @property {(data: Record<string, any>) => void} reset all that is shown so far
 * @property {(kind: string, data: Record<string, any>) => void} markup `block`, `open` or `preview`: about text so far
 * @property {(status: Record<string, any>) => void} status
 * @property {() => void} end nothing more comes; the server has the whole answer
 */

const KINDS = ["start", "status", "delta", "block", "open", "preview", "usage", "reset", "end"];
const REOPEN_MILLISECONDS = 1000;
const HIDDEN_MILLISECONDS = 30_000;

export class TurnStream {
  /**
   * @param {string} turn
   * @param {number} cursor the last event whose text the page already shows
   * @param {Listener} listener
   */
  constructor(turn, cursor, listener) {
    this.url = `/turns/${turn}/events`;
    this.cursor = cursor;
    this.listener = listener;
    this.ended = false;
    /** @type {EventSource | null} */
    this.source = null;
    this.visibility = () => this.#onVisibility();
    document.addEventListener("visibilitychange", this.visibility);
    addEventListener("pagehide", () => this.#close());
    addEventListener("pageshow", () => this.open());
    this.open();
  }

  open() {
    if (this.ended || this.source) return;
    const source = new EventSource(`${this.url}?after=${this.cursor}`);
    this.source = source;
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        // The browser's own `open`, of the connection, is no message.
        if (event instanceof MessageEvent) this.#take(kind, event);
      });
    }
    source.addEventListener("error", () => {
      // A broken connection is opened again by the browser itself. A refusal is not: 204 says that there is
      // no more, anything else that the page is out of date; in both cases the server's version is shown.
      if (source.readyState === EventSource.CLOSED && this.source === source) this.finish();
    });
  }

  /** @param {string} kind @param {MessageEvent} event */
  #take(kind, event) {
    const number = Number(event.lastEventId);
    if (number <= this.cursor && kind !== "reset") return;
    this.cursor = number;
    const data = JSON.parse(event.data);
    if (kind === "delta") this.listener.append(data.text);
    else if (kind === "reset") this.listener.reset(data);
    else if (kind === "block" || kind === "open" || kind === "preview") this.listener.markup(kind, data);
    else if (kind === "status") this.listener.status(data);
    else if (kind === "end") this.finish();
  }

  /** Takes nothing more; the listener asks the server for the answer. */
  finish() {
    if (this.ended) return;
    this.ended = true;
    this.#close();
    document.removeEventListener("visibilitychange", this.visibility);
    this.listener.end();
  }

  #close() {
    this.source?.close();
    this.source = null;
  }

  // Browsers allow few connections per host: a tab that nobody looks at gives its own back for a while.
  #onVisibility() {
    if (document.hidden) this.hiding = setTimeout(() => this.#close(), HIDDEN_MILLISECONDS);
    else {
      clearTimeout(this.hiding);
      this.open();
    }
  }
}

/** The pause before a stream is opened again that the server refused. */
export const PAUSE = REOPEN_MILLISECONDS;
