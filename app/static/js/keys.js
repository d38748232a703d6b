// Keys for the whole page, and the help under `?`. A single key acts only outside of fields, and none while an input
// method composes. Other layouts of letters (Hangul, say) are read by the place of the key.

import { FRAGMENT_HEADERS, elementsOf } from "./conversation.js";

const FIELDS = "input, textarea, select, [contenteditable]";
const HELP = "/help";
/** @type {Record<string, string>} */
const BY_PLACE = { KeyN: "n", KeyO: "o", Slash: "/" };

/** The key's own character where it is a Latin one, else that of its place. @param {KeyboardEvent} event */
function characterOf(event) {
  return /^[ -~]$/.test(event.key) ? event.key.toLowerCase() : BY_PLACE[event.code] ?? "";
}

export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
    if (document.querySelector("dialog[open]")) return;
    const action = actionOf(event);
    if (!action) return;
    event.preventDefault();
    action();
  });
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest("a[data-help]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openHelp();
  });
}

/** @param {KeyboardEvent} event @returns {(() => void) | null} */
function actionOf(event) {
  const character = characterOf(event);
  if (event.altKey) return null;
  if (event.ctrlKey || event.metaKey) return event.shiftKey && character === "o" ? newConversation : null;
  if (/** @type {Element} */ (event.target).closest(FIELDS)) return null;
  if (character === "?" || (character === "/" && event.shiftKey && event.key !== "/")) return openHelp;
  if (character === "/") return search;
  return character === "n" && !event.shiftKey ? newConversation : null;
}

function newConversation() {
  location.assign("/");
}

/** The box beside the page, which a phone has to open first; the search page where there is none. */
function search() {
  const box = /** @type {HTMLInputElement | null} */ (document.querySelector("#search"));
  if (!box) {
    location.assign("/search");
    return;
  }
  if (!box.checkVisibility()) /** @type {HTMLElement} */ (document.querySelector("#sidebar")).showPopover();
  box.focus();
  box.select();
}

/** Without an answer the page of the same words is opened, which tells what is wrong. */
async function openHelp() {
  const dialog = helpDialog();
  try {
    const response = await fetch(HELP, { headers: FRAGMENT_HEADERS });
    if (!response.ok) throw new Error(String(response.status));
    dialog.replaceChildren(elementsOf(await response.text()));
    if (!dialog.open) dialog.showModal(); // On closing, the browser puts the focus back where it was.
  } catch {
    location.assign(HELP);
  }
}

function helpDialog() {
  const old = /** @type {HTMLDialogElement | null} */ (document.querySelector("dialog.help"));
  if (old) return old;
  const dialog = document.createElement("dialog");
  dialog.className = "help";
  dialog.setAttribute("aria-labelledby", "help-title");
  // Esc closes the help and stops no answer behind it.
  dialog.addEventListener("keydown", (event) => event.stopPropagation());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // A press beside it.
  });
  return document.body.appendChild(dialog);
}

/** ↑ in the empty box opens the last question for editing. @param {HTMLFormElement} form the composer */
export function editLastOnArrow(form) {
  const box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea[name=text]"));
  box.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowUp" || event.isComposing || event.keyCode === 229 || box.value) return;
    if (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey) return;
    const edits = document.querySelectorAll("[data-transcript] .user .actions a[href*='?edit=']");
    const last = /** @type {HTMLElement | undefined} */ ([...edits].at(-1));
    if (!last?.checkVisibility()) return; // While an answer is written, nothing can be edited.
    event.preventDefault();
    last.click();
  });
}
