// The line under a running answer: its place in the queue, how far the prompt is read, or how long that takes.

import { fill } from "./conversation.js";

export class Phase {
  /** @param {HTMLElement} element its data attributes hold the words, and how long the answer has been waited for */
  constructor(element) {
    this.element = element;
    this.since = performance.now() - 1000 * Number(element.dataset.waited);
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.clock = undefined;
  }

  /** @param {Record<string, any>} status as the event has it */
  show(status) {
    const words = this.element.dataset;
    this.stop();
    if (status.phase === "queued") this.#say(status.place ? words.queuedPlace : words.queued, status);
    else if (status.phase !== "reading") this.#say(words.writing, status);
    else if (status.total) {
      const percent = Math.floor((100 * status.processed) / status.total);
      this.#say(words.readingProgress, { ...status, percent });
    } else this.#count();
  }

  writing() {
    this.show({ phase: "writing" });
  }

  stop() {
    clearInterval(this.clock);
  }

  // A server that tells no progress gets no made-up one.
  #count() {
    const tell = () => {
      const seconds = Math.floor((performance.now() - this.since) / 1000);
      this.#say(seconds < 2 ? this.element.dataset.reading : this.element.dataset.readingSince, { seconds });
    };
    tell();
    this.clock = setInterval(tell, 1000);
  }

  /** @param {string | undefined} words @param {Record<string, any>} values */
  #say(words, values) {
    const said = fill(words ?? "", values);
    if (this.element.textContent !== said) this.element.textContent = said;
  }
}
