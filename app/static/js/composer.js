// The message box: keys, Korean input, a draft that stays until it is sent, and sending without leaving the page.

import { FRAGMENT_HEADERS, elementsOf, fill, say } from "./conversation.js";

/** @typedef {import("./conversation.js").Conversation} Conversation */
/** @typedef {import("./drafts.js").Drafts} Drafts */

const HANGUL = /^[\u1100-\u11FF\u3130-\u318F\uA960-\uA97F\uAC00-\uD7FF]+$/;
const WARN_FROM = 0.8;
const SAVE_HEADER = "submission-key";

/**
 * @param {HTMLFormElement} form
 * @param {Conversation | null} conversation null on the page of a new one
 * @param {Drafts | null} drafts
 */
export function startComposer(form, conversation, drafts) {
  const box = /** @type {HTMLTextAreaElement} */ (form.querySelector("textarea[name=text]"));
  const place = placeOf(form);
  if (box.value) drafts?.keep(place, box.value); // It could not be sent from a page without this script's help.
  else box.value = drafts?.read(place) ?? "";
  const show = () => {
    grow(box);
    count(form, box);
  };
  const onInput = () => {
    drafts?.keep(place, box.value);
    show();
  };
  box.addEventListener("input", onInput);
  show();
  sendOnEnter(form, box);

  let sending = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!box.value.trim()) return;
    if (sending || conversation?.running) {
      conversation?.announce(conversation.announcer.dataset.busy);
      return;
    }
    sending = true;
    const text = box.value;
    const body = new URLSearchParams(/** @type {any} */ (new FormData(form)));
    box.value = "";
    show(); // The draft stays until the server has the message.
    const sent = await send(form, body, conversation, drafts);
    if (!sent) box.value = text + box.value; // What was typed meanwhile stays behind it.
    onInput();
    sending = false;
    box.focus();
  });
}

/** The path of the page that it belongs to. @param {HTMLFormElement} form */
function placeOf(form) {
  const path = new URL(form.action).pathname;
  return path === "/conversations" ? "/" : path.replace(/\/messages$/, "");
}

/**
 * True once the server has the message.
 * @param {HTMLFormElement} form @param {URLSearchParams} body
 * @param {Conversation | null} conversation @param {Drafts | null} drafts
 */
async function send(form, body, conversation, drafts) {
  const problem = /** @type {HTMLElement} */ (form.querySelector("[data-problem]"));
  problem.replaceChildren();
  try {
    const response = await fetch(form.action, { method: "POST", body, headers: FRAGMENT_HEADERS });
    const key = response.headers.get(SAVE_HEADER);
    if (key) /** @type {HTMLInputElement} */ (form.elements.namedItem("submission_key")).value = key;
    const location = response.headers.get("location");
    if (response.status === 201 && location) window.location.assign(location);
    else if (response.status === 201) conversation?.add(await response.text());
    else if (response.status === 401) say(problem, form.dataset.signedOut);
    else problem.replaceChildren(elementsOf(await response.text()));
    if (response.status === 409) await conversation?.catchUp();
    if (response.status === 404) drafts?.keep("/", body.get("text") ?? ""); // For the new conversation that is offered.
    return response.status === 201;
  } catch {
    say(problem, form.dataset.unreachable);
    return false;
  }
}

/**
 * Enter sends. With a Korean input method one Enter both ends the syllable and sends, after the syllable has
 * reached the box; with Japanese or Chinese ones the first Enter only takes a candidate.
 * @param {HTMLFormElement} form @param {HTMLTextAreaElement} box
 */
function sendOnEnter(form, box) {
  let pending = false;
  let swallow = false;
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || onTouchScreen()) return;
    if (swallow) {
      event.preventDefault(); // The second keydown of one physical press.
      return;
    }
    if (event.isComposing || event.keyCode === 229) {
      pending = true; // The input method owns this key.
      return;
    }
    event.preventDefault();
    form.requestSubmit();
  });
  box.addEventListener("compositionend", (event) => {
    if (!pending) return;
    pending = false;
    if (!HANGUL.test(event.data)) return;
    swallow = true;
    setTimeout(() => form.requestSubmit(), 0); // By then the syllable is in the box.
  });
  box.addEventListener("keyup", (event) => {
    if (event.key === "Enter") pending = swallow = false;
  });
  box.addEventListener("blur", () => {
    pending = swallow = false;
  });
}

/** On-screen keyboards have one Enter and no Shift+Enter, so there it starts a new line. */
function onTouchScreen() {
  return matchMedia("(pointer: coarse)").matches && !matchMedia("(any-pointer: fine)").matches;
}

/** For browsers without `field-sizing`. @param {HTMLTextAreaElement} box */
function grow(box) {
  if (CSS.supports("field-sizing", "content")) return;
  box.style.height = "auto";
  box.style.height = `${box.scrollHeight}px`;
}

/** Says how long the text is once it comes near the limit. @param {HTMLFormElement} form @param {HTMLTextAreaElement} box */
function count(form, box) {
  const hint = /** @type {HTMLElement} */ (form.querySelector("[data-hint]"));
  const max = Number(box.dataset.max);
  const length = box.value.length < max * WARN_FROM ? 0 : [...box.value].length;
  const near = length >= max * WARN_FROM;
  hint.classList.toggle("counting", near);
  hint.classList.toggle("too-long", length > max);
  const words = length > max ? hint.dataset.tooLong : hint.dataset.near;
  hint.textContent = near ? fill(words ?? "", { count: length, max }) : hint.dataset.usual ?? "";
}
