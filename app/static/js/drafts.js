// What is half written: one draft for each conversation and each edit, kept in this browser only and never sent anywhere.
// A draft goes when it is sent, with its conversation, when its writer signs out, and when somebody else uses the browser.

const PREFIX = "draft:";
const MOST = 50;
// The edit whose form was sent last from this window: whether it arrived is seen on the page that comes next.
const SENT_EDIT = "sent-edit";
const LEAVING = ["/sign-out", "/account/sessions/end", "/account/delete"];

/** @typedef {{ text: string, at: number }} Draft */

/** The drafts of one person. Without storage, as in some private windows, there are none. */
export class Drafts {
  /** @param {string} owner */
  constructor(owner) {
    this.owner = owner;
  }

  /** @param {string} place the path of a page, with `#` and a message where it is an edit of one */
  read(place) {
    return stored(this.#key(place))?.text ?? "";
  }

  /** Empty text is no draft. @param {string} place @param {string} text */
  keep(place, text) {
    if (!text) return this.remove(place);
    attempt(() => localStorage.setItem(this.#key(place), JSON.stringify({ text, at: Date.now() })));
    const all = keysWith(`${PREFIX}${this.owner}:`).sort((a, b) => (stored(b)?.at ?? 0) - (stored(a)?.at ?? 0));
    for (const key of all.slice(MOST)) drop(key);
  }

  /** @param {string} place */
  remove(place) {
    drop(this.#key(place));
  }

  /** With the edits of its messages. @param {string} path of a conversation */
  removeOf(path) {
    for (const key of keysWith(this.#key(path))) drop(key);
  }

  removeAll() {
    this.removeOf("");
  }

  removeForeign() {
    for (const key of keysWith(PREFIX)) if (!key.startsWith(this.#key(""))) drop(key);
  }

  /** @param {string} place */
  #key(place) {
    return `${PREFIX}${this.owner}:${place}`;
  }
}

/** On every page of somebody who is signed in. @returns {Drafts | null} null where nobody is */
export function startDrafts() {
  const owner = document.body.dataset.draftsOf;
  if (!owner) return null;
  const drafts = new Drafts(owner);
  drafts.removeForeign();
  document.addEventListener("submit", (event) => {
    const path = new URL(/** @type {HTMLFormElement} */ (event.target).action).pathname;
    if (LEAVING.includes(path)) drafts.removeAll();
    else if (/^\/conversations\/[^/]+\/delete$/.test(path)) drafts.removeOf(path.replace(/\/delete$/, ""));
  });
  keepEdit(drafts);
  return drafts;
}

/** @param {Drafts} drafts */
function keepEdit(drafts) {
  const form = /** @type {HTMLFormElement | null} */ (document.querySelector("form.editing"));
  const place = form ? placeOf(form) : null;
  const sent = attempt(() => sessionStorage.getItem(SENT_EDIT));
  attempt(() => sessionStorage.removeItem(SENT_EDIT));
  if (sent && sent !== place) drafts.remove(sent);
  if (!form || !place) return;
  const box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea"));
  // Words that were refused are in the page already, and newer than any draft.
  if (form.querySelector(".problem")) drafts.keep(place, box.value);
  else box.value = drafts.read(place) || box.value;
  box.addEventListener("input", () => drafts.keep(place, box.value === box.defaultValue ? "" : box.value));
  form.addEventListener("submit", () => attempt(() => sessionStorage.setItem(SENT_EDIT, place)));
  form.querySelector("a")?.addEventListener("click", () => drafts.remove(place));
}

/** @param {HTMLFormElement} form of an edit */
function placeOf(form) {
  return new URL(form.action).pathname.replace(/\/messages\/([^/]+)\/edit$/, "#$1");
}

/** @param {string} start */
function keysWith(start) {
  return attempt(() => Object.keys(localStorage).filter((key) => key.startsWith(start))) ?? [];
}

/** @param {string} key @returns {Draft | null} */
function stored(key) {
  return attempt(() => JSON.parse(localStorage.getItem(key) ?? "null"));
}

/** @param {string} key */
function drop(key) {
  attempt(() => localStorage.removeItem(key));
}

/**
 * Storage may be switched off or full; then nothing is kept.
 * @template T @param {() => T} action @returns {T | null}
 */
function attempt(action) {
  try {
    return action();
  } catch {
    return null;
  }
}
