// After each turn: the meter at the composer, and the line from which on messages are sent.

import { FRAGMENT_HEADERS, elementsOf } from "./conversation.js";

/** Watches the dock, which says when a turn begins and ends. */
export function keepContext() {
  const place = /** @type {HTMLElement | null} */ (document.querySelector("[data-context]"));
  const dock = document.querySelector("[data-dock]");
  if (!place || !dock) return;
  new MutationObserver(() => refresh(place)).observe(dock, { attributeFilter: ["data-state"] });
}

/** What does not come now comes after the next turn. @param {HTMLElement} place */
async function refresh(place) {
  try {
    const response = await fetch(place.dataset.context ?? "", { headers: FRAGMENT_HEADERS });
    if (!response.ok) return;
    place.replaceChildren(elementsOf(await response.text()));
    const cut = /** @type {HTMLTemplateElement | null} */ (place.querySelector("template[data-cut-before]"));
    const message = document.getElementById(cut?.dataset.cutBefore ?? "");
    if (!cut || !message) return;
    for (const line of document.querySelectorAll("[data-history-cut]")) line.remove();
    message.before(cut.content.cloneNode(true));
  } catch {
    // The server is away for a moment.
  }
}
