// After each turn: the meter at the composer, and the line from which on messages are sent. The meter also where the
// page came without it.

import { FRAGMENT_HEADERS, elementsOf } from "./conversation.js";

/** Watches the dock, which says when a turn begins and ends. */
export function keepContext() {
  const place = /** @type {HTMLElement | null} */ (document.querySelector("[data-context]"));
  const dock = document.querySelector("[data-dock]");
  if (!place || !dock) return;
  let newest = 0;
  const refresh = async () => {
    const mine = ++newest;
    const html = await asked(place.dataset.context ?? "");
    // An answer that was overtaken by a later one is old.
    if (html !== null && mine === newest) show(place, html);
  };
  if ("contextComes" in place.dataset) refresh(); // The page did not wait for the size of the context window.
  new MutationObserver(refresh).observe(dock, { attributeFilter: ["data-state"] });
}

/** The fragment, or null: what does not come now comes after the next turn. @param {string} url */
async function asked(url) {
  try {
    const response = await fetch(url, { headers: FRAGMENT_HEADERS });
    return response.ok ? await response.text() : null;
  } catch {
    return null;
  }
}

/** @param {HTMLElement} place @param {string} html */
function show(place, html) {
  place.replaceChildren(elementsOf(html));
  const cut = /** @type {HTMLTemplateElement | null} */ (place.querySelector("template[data-cut-before]"));
  const message = document.getElementById(cut?.dataset.cutBefore ?? "");
  if (!cut || !message) return;
  for (const line of document.querySelectorAll("[data-history-cut]")) line.remove();
  message.before(cut.content.cloneNode(true));
}
