// Keeps the newest text in view, but only while the reader is at the end; who scrolls up is left alone.

const NEAR_END = 80;

export class Scrolling {
  /** @param {HTMLElement | null} button takes the reader back to the end */
  constructor(button) {
    this.button = button;
    this.pinned = true;
    addEventListener("scroll", () => this.#look(), { passive: true });
    button?.addEventListener("click", () => this.toEnd());
  }

  /** Called after the page grew. */
  follow() {
    if (this.pinned) this.toEnd();
  }

  toEnd() {
    this.pinned = true;
    scrollTo(0, document.documentElement.scrollHeight);
    this.#show();
  }

  #look() {
    const page = document.documentElement;
    this.pinned = page.scrollHeight - scrollY - innerHeight < NEAR_END;
    this.#show();
  }

  #show() {
    if (this.button) this.button.hidden = this.pinned;
  }
}
