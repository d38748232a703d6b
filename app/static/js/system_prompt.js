// While a system prompt is written: the server says what in it looks as if it changed from turn to turn.

import { FRAGMENT_HEADERS, elementsOf } from "./conversation.js";

const PAUSE = 600; // Milliseconds without a key, so that not every letter asks.

/** @param {HTMLTextAreaElement} field @param {HTMLElement} place */
export function watchSystemPrompt(field, place) {
  let timer = 0;
  let newest = 0;
  const check = async () => {
    const mine = ++newest;
    const token = /** @type {HTMLInputElement} */ (field.form?.querySelector("input[name=form_token]"));
    const body = new URLSearchParams({
      form_token: token.value,
      system_prompt: field.value,
      conversation_id: place.dataset.conversation ?? "",
    });
    try {
      const response = await fetch("/system-prompt/check", { method: "POST", body, headers: FRAGMENT_HEADERS });
      if (response.ok && mine === newest) place.replaceChildren(elementsOf(await response.text()));
    } catch {
      // A hint that does not come is no problem: the page says the same after saving.
    }
  };
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, PAUSE);
  });
}
