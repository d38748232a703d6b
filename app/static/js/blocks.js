// A running answer in the page: finished blocks that stay, and behind them the open text as code or as a preview.
// Offsets count the characters of the whole text, as JavaScript counts them. Markup is never shown: text that may
// contain some waits for the server's next event.

import { addCopyButtons } from "./copying.js";

// The server sends a new preview for text with one of these, and none for other text behind a caret.
const MARKUP = /[\r\n*_`~\[\]<&\\|!$]/;
const CARET = "\uE000";

/**
 * @typedef {object} Code a code fence that is open
 * @property {number} start @property {number} chars where its code begins
 * @property {string} language @property {string} fence
 */

export class LiveAnswer {
  /** @param {HTMLElement} element with the state in `data-live` @param {HTMLElement} words names the copy buttons */
  constructor(element, words) {
    this.element = element;
    this.words = words;
    this.#begin(JSON.parse(element.dataset.live ?? "{}"));
    delete element.dataset.live;
    addCopyButtons(element, words);
  }

  /** More text. @param {string} text */
  append(text) {
    if (this.plain) this.plain.appendData(text);
    else {
      this.tail += text;
      if (this.code) this.code.write(text);
      else this.#showWords();
    }
  }

  /** What the server sends instead of all that it sent before. @param {Record<string, any>} data */
  reset(data) {
    this.element.innerHTML = data.plain ? "" : data.html;
    if (data.plain) this.element.textContent = data.tail;
    else {
      const open = this.element.appendChild(document.createElement("div"));
      open.className = "open";
      open.dataset.open = "";
      open.innerHTML = data.preview ?? "";
    }
    this.#begin(data);
    addCopyButtons(this.element, this.words);
  }

  /**
   * One of the events that are about text which is here already. False if it does not fit to what is shown.
   * @param {string} kind @param {Record<string, any>} data
   */
  take(kind, data) {
    if (this.plain || data.start < this.end) return true; // The page was made when more was known.
    if (data.start > this.end || data.chars > this.end + this.tail.length) return false;
    if (kind === "block") this.#finish(data.html, data.chars);
    else if (kind === "open") this.#openCode(/** @type {Code} */ (data));
    else if (!this.code && data.chars >= this.end + this.shown) this.#preview(data.html, data.chars);
    return true;
  }

  /** @param {Record<string, any>} state */
  #begin(state) {
    /** @type {Text | null} where text goes that may hold anything */
    this.plain = null;
    /** @type {Text | null} where words go behind a preview */
    this.caret = null;
    /** @type {CodeBox | null} */
    this.code = null;
    this.end = state.chars;
    this.tail = state.tail;
    this.shown = this.tail.length; // How much of the tail the preview shows.
    this.element.classList.toggle("plain", state.plain);
    this.element.classList.toggle("rendered", !state.plain);
    if (state.plain) {
      const node = this.element.firstChild;
      this.plain = node instanceof Text ? node : this.element.appendChild(new Text(""));
      return;
    }
    this.open = /** @type {HTMLElement} */ (this.element.querySelector("[data-open]"));
    if (state.code) this.#openCode(state.code);
    const mark = this.open.querySelector("[data-caret]");
    if (mark) mark.replaceWith((this.caret = new Text("")));
  }

  /** @param {string} html @param {number} end */
  #finish(html, end) {
    this.tail = this.tail.slice(end - this.end);
    this.shown = Math.max(0, this.shown - (end - this.end));
    this.end = end;
    const template = document.createElement("template");
    template.innerHTML = html;
    // The preview of what comes behind stays, so that the page does not shrink for a moment.
    if (this.code || !this.tail.trim()) this.open.replaceChildren();
    else this.#dropFirst(template.content.childElementCount);
    this.code = null;
    if (!this.caret?.isConnected) this.caret = null;
    this.open.before(template.content);
    addCopyButtons(this.element, this.words);
  }

  /** @param {number} count how many elements of the preview have been finished */
  #dropFirst(count) {
    for (let left = count; left > 0 && this.open.firstElementChild; left -= 1) {
      while (this.open.firstChild !== this.open.firstElementChild) this.open.firstChild?.remove();
      this.open.firstElementChild.remove();
    }
  }

  /** @param {Code} code */
  #openCode(code) {
    if (this.code) return;
    this.code = new CodeBox(code);
    this.code.write(this.tail.slice(code.chars - this.end));
    this.caret = null;
    this.open.replaceChildren(this.code.element);
  }

  /** @param {string} html @param {number} end */
  #preview(html, end) {
    this.open.innerHTML = html;
    this.shown = end - this.end;
    this.caret = caretIn(this.open);
    this.#showWords();
  }

  /** Puts words behind the preview, up to the first character that may be markup. */
  #showWords() {
    if (!this.caret) return;
    const more = this.tail.slice(this.shown);
    const markup = more.search(MARKUP);
    const words = markup < 0 ? more : more.slice(0, markup);
    this.caret.appendData(words);
    this.shown += words.length;
    if (markup >= 0) this.caret = null;
  }
}

/** Code that is being written, without its fence. */
class CodeBox {
  /** @param {Code} code */
  constructor(code) {
    this.element = document.createElement("pre");
    this.element.dir = "ltr";
    if (code.language) this.element.dataset.language = code.language;
    this.text = new Text("");
    this.element.appendChild(document.createElement("code")).append(this.text);
    const mark = code.fence[0];
    // What may yet become the closing fence, and what is it.
    this.begun = new RegExp(`^ {0,3}${mark}*[ \\t]*$`);
    this.closing = new RegExp(`^ {0,3}${mark}{${code.fence.length},}[ \\t]*[\\r\\n]`);
    this.held = "";
    this.atLineStart = true;
    this.closed = false;
  }

  /** @param {string} text */
  write(text) {
    this.held += text;
    while (this.held && !this.closed) {
      const newline = this.held.search(/[\r\n]/);
      const line = newline < 0 ? this.held : this.held.slice(0, newline + 1);
      if (this.atLineStart && this.closing.test(line)) this.closed = true;
      else if (this.atLineStart && newline < 0 && this.begun.test(line)) return;
      else this.#show(line, newline >= 0);
    }
  }

  /** @param {string} line @param {boolean} complete */
  #show(line, complete) {
    this.text.appendData(line);
    this.held = this.held.slice(line.length);
    this.atLineStart = complete;
  }
}

/** Takes the caret's mark out of the preview. @param {Node} root @returns {Text | null} the text that it stood in */
function caretIn(root) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = /** @type {Text} */ (walker.currentNode);
    const place = node.data.indexOf(CARET);
    if (place < 0) continue;
    const behind = node.splitText(place);
    behind.deleteData(0, 1);
    if (!behind.data) behind.remove();
    return node;
  }
  return null;
}
