// The transcript: follows running answers, and puts the server's settled message in their place when they end.

import { LiveAnswer } from "./blocks.js";
import { addCopyButtons, copyMessage } from "./copying.js";
import { Phase } from "./phase.js";
import { Scrolling } from "./scrolling.js";
import { PAUSE, TurnStream } from "./stream.js";

/** Our own requests; the server answers them with pieces of HTML. */
export const FRAGMENT_HEADERS = { "Recount-Fragment": "1" };

/** @param {string} html from our server, which has sanitised it */
export function elementsOf(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Puts numbers into words like "{processed} of {total}". @param {string} words @param {Record<string, any>} values */
export function fill(words, values) {
  const numbers = new Intl.NumberFormat(document.documentElement.lang);
  return words.replace(/\{(\w+)\}/g, (_, name) => numbers.format(values[name]));
}

/** A line that says what went wrong. @param {Element} place @param {string | undefined} words */
export function say(place, words) {
  const line = document.createElement("p");
  line.className = "problem";
  line.role = "alert";
  line.textContent = words ?? "";
  place.replaceChildren(line);
}

export class Conversation {
  /** @param {HTMLElement} transcript */
  constructor(transcript) {
    this.transcript = transcript;
    this.dock = /** @type {HTMLElement} */ (document.querySelector("[data-dock]"));
    this.composer = /** @type {HTMLFormElement} */ (document.querySelector("form[data-composer]"));
    this.problem = /** @type {HTMLElement} */ (this.composer.querySelector("[data-problem]"));
    this.stopForm = /** @type {HTMLFormElement} */ (document.querySelector("form[data-stop]"));
    this.stopButton = /** @type {HTMLButtonElement} */ (this.stopForm.querySelector("button"));
    this.announcer = /** @type {HTMLElement} */ (document.querySelector("[data-announcer]"));
    this.scrolling = new Scrolling(document.querySelector("[data-to-latest]"));
    /** @type {string | null} */
    this.elsewhere = null;
  }

  start() {
    if (this.composer.hidden) this.#showBox();
    // Without script only Stop is there; with it, Stop takes the place of Send beside the text.
    this.composer.querySelector(".composer-box")?.append(this.stopButton);
    this.stopForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.stop();
    });
    this.stopButton.addEventListener("click", (event) => {
      if (event.detail === 0) this.#box.focus(); // The button goes, so whoever pressed it by a key would stand nowhere.
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing && event.keyCode !== 229 && this.running) this.stop();
    });
    if (!location.hash) this.scrolling.toEnd();
    addEventListener("focus", () => this.#lookForMore());
    this.transcript.addEventListener("submit", (event) => this.#act(event));
    this.transcript.addEventListener("click", (event) => copyMessage(event, this.transcript));
    this.#followLive(this.transcript);
  }

  get running() {
    return this.dock.dataset.state === "running";
  }

  /** A page of a running answer comes with its box hidden, which therefore could take no focus either. */
  #showBox() {
    this.composer.hidden = false;
    if (!location.hash && document.activeElement === document.body) this.#box.focus();
  }

  /** Adds the messages of a send. @param {string} html */
  add(html) {
    const elements = elementsOf(html);
    for (const article of elements.querySelectorAll("article")) document.getElementById(article.id)?.remove();
    this.transcript.append(elements);
    this.#noteLeaf();
    this.scrolling.toEnd();
    this.#followLive(this.transcript);
  }

  /** @param {string | undefined} words */
  announce(words) {
    this.announcer.textContent = words ?? "";
  }

  async stop() {
    this.stopButton.disabled = true;
    this.#stopLabel(this.stopButton.dataset.stopping);
    this.problem.replaceChildren();
    const body = new URLSearchParams(/** @type {any} */ (new FormData(this.stopForm)));
    try {
      const response = await fetch(this.stopForm.action, { method: "POST", body, headers: FRAGMENT_HEADERS });
      if (response.ok) return; // The stream tells when the answer has ended.
      if (response.status >= 500) throw new Error(String(response.status));
      this.problem.replaceChildren(response.status === 404 ? this.#gone() : elementsOf(await response.text()));
    } catch {
      say(this.problem, this.stopForm.dataset.notStopped);
    }
    this.#readyToStop(); // The reader may press again.
  }

  /** Shows the conversation as it is on the server, after another window has changed it. */
  async catchUp() {
    const response = await fetch(location.pathname, { headers: FRAGMENT_HEADERS });
    if (!response.ok) return;
    const html = await response.text();
    if (this.running) return; // Meanwhile something was sent from here, and is newer.
    this.#show(html);
    this.scrolling.toEnd();
  }

  /** The reader comes back from another window, in which the conversation may have gone on. */
  async #lookForMore() {
    if (this.running || location.search) return; // A branch that was opened on purpose stays.
    try {
      const response = await fetch(`${location.pathname}/context`, { headers: FRAGMENT_HEADERS });
      const leaf = response.headers.get("conversation-leaf");
      if (response.ok && !this.running && leaf !== this.#below.value) await this.catchUp();
    } catch {
      // The next look, or the next send, comes soon enough.
    }
  }

  get #box() {
    return /** @type {HTMLTextAreaElement} */ (this.composer.elements.namedItem("text"));
  }

  get #below() {
    return /** @type {HTMLInputElement} */ (this.composer.elements.namedItem("below"));
  }

  /** Another answer, more of this one, or another branch. @param {SubmitEvent} event */
  async #act(event) {
    const form = /** @type {HTMLFormElement} */ (event.target);
    if (!form.matches("[data-action]")) return;
    event.preventDefault();
    this.problem.replaceChildren();
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    try {
      const response = await fetch(form.action, { method: "POST", body, headers: FRAGMENT_HEADERS });
      if (response.status >= 500) throw new Error(String(response.status));
      if (response.ok) this.#show(await response.text());
      else this.problem.replaceChildren(elementsOf(await response.text()));
      this.#focusAfter(form);
    } catch {
      say(this.problem, this.transcript.dataset.failed);
    }
  }

  /** @param {string} html all messages of a branch */
  #show(html) {
    const elements = elementsOf(html);
    addCopyButtons(elements, this.transcript);
    this.transcript.replaceChildren(elements);
    this.#noteLeaf();
    this.#followLive(this.transcript);
  }

  /** The button that was pressed may be gone: the arrows stay under the fingers. @param {HTMLFormElement} form */
  #focusAfter(form) {
    if (form.isConnected) return;
    const target = new URL(form.action).pathname.match(/messages\/(.+)\/select$/);
    const arrow = target && document.querySelector(`#message-${target[1]} .branch button:enabled`);
    /** @type {HTMLElement} */ (arrow ?? this.transcript).focus({ preventScroll: true });
  }

  /** What is sent next stands below what is shown. */
  #noteLeaf() {
    this.#below.value = this.transcript.lastElementChild?.id.replace("message-", "") ?? "";
  }

  /** @param {ParentNode} root */
  #followLive(root) {
    const article = /** @type {HTMLElement | null} */ (root.querySelector("article[data-turn]"));
    if (!article || !article.dataset.turn) {
      this.#followElsewhere();
      return;
    }
    const turn = article.dataset.turn;
    const answer = new LiveAnswer(/** @type {HTMLElement} */ (article.querySelector("[data-text]")), this.transcript);
    const phase = new Phase(/** @type {HTMLElement} */ (article.querySelector("[data-phase]")));
    delete article.dataset.turn;
    this.#setRunning(turn);
    const stream = new TurnStream(turn, Number(article.dataset.cursor), {
      append: (more) => {
        answer.append(more);
        phase.writing();
        this.scrolling.follow();
      },
      reset: (data) => {
        answer.reset(data);
        this.scrolling.follow();
      },
      markup: (kind, data) => {
        if (!answer.take(kind, data)) stream.finish();
        this.scrolling.follow();
      },
      status: (status) => {
        phase.show(status);
      },
      end: () => {
        phase.stop();
        this.#settle(article);
      },
    });
  }

  /** The answer that is being written stands on another branch than the one shown. */
  #followElsewhere() {
    const turn = this.stopForm.action.match(/turns\/(.+)\/stop$/)?.[1];
    if (!this.running || !turn || this.elsewhere === turn) return;
    this.elsewhere = turn;
    const nothing = () => {};
    const unseen = { append: nothing, reset: nothing, markup: nothing, status: nothing };
    new TurnStream(turn, 0, { ...unseen, end: () => this.#setIdle(null) });
  }

  /** Asks for the answer as the server has it; if it is still being written there, follows on. */
  async #settle(/** @type {HTMLElement} */ article) {
    try {
      const response = await fetch(/** @type {string} */ (article.dataset.self), { headers: FRAGMENT_HEADERS });
      if (response.status >= 500) throw new Error(String(response.status));
      if (!article.isConnected) return; // It is followed where it was shown anew, or on the branch that it stands on.
      const elements = response.status === 404 ? this.#gone() : elementsOf(await response.text());
      const settled = /** @type {HTMLElement} */ (elements.firstElementChild);
      addCopyButtons(elements, this.transcript);
      article.replaceWith(elements);
      if (settled.dataset.turn) {
        setTimeout(() => this.#followLive(this.transcript), PAUSE);
      } else {
        this.#setIdle(settled);
      }
    } catch {
      setTimeout(() => this.#settle(article), PAUSE); // The server is away for a moment.
    }
    this.scrolling.follow();
  }

  /** @param {string} turn */
  #setRunning(turn) {
    this.dock.dataset.state = "running";
    this.stopForm.action = `/turns/${turn}/stop`;
    this.#readyToStop();
    this.#lockSettings(true);
    this.announce(this.announcer.dataset.started);
    document.dispatchEvent(new Event("recount:started"));
  }

  /** @param {HTMLElement | null} settled the answer as it ended, where it is shown */
  #setIdle(settled) {
    this.dock.dataset.state = "idle";
    this.problem.replaceChildren(); // What stood there was about the running answer.
    this.#lockSettings(false);
    const complete = settled?.dataset.status === "completed";
    this.announce(complete ? this.announcer.dataset.complete : this.announcer.dataset.ended);
    document.querySelector(".conversation-list [aria-current] .running-dot")?.remove();
    document.dispatchEvent(new Event("recount:ended"));
  }

  /** Words for a conversation that was deleted in another window. */
  #gone() {
    const template = /** @type {HTMLTemplateElement} */ (document.querySelector("template[data-gone]"));
    return /** @type {DocumentFragment} */ (template.content.cloneNode(true));
  }

  #readyToStop() {
    this.stopButton.disabled = false;
    this.#stopLabel(this.stopButton.dataset.stopLabel);
  }

  /** @param {string | undefined} words */
  #stopLabel(words) {
    /** @type {HTMLElement} */ (this.stopButton.querySelector("[data-label]")).textContent = words ?? "";
  }

  /** @param {boolean} locked */
  #lockSettings(locked) {
    for (const part of document.querySelectorAll("fieldset[data-while-idle]")) {
      /** @type {HTMLFieldSetElement} */ (part).disabled = locked;
    }
  }
}
