// The conversation lists beside the page, and the mark in the tab's title. They are asked for again when something
// begins or ends here, when the reader comes back, and now and then while something is being answered elsewhere.

import { FRAGMENT_HEADERS, elementsOf } from "./conversation.js";

const LOOK_AGAIN_MILLISECONDS = 5000;
const MARK = "● ";

/**
 * @param {HTMLElement} place
 * @param {string | undefined} current the conversation that the page shows
 */
export function startSidebar(place, current) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  async function refresh() {
    clearTimeout(timer);
    const query = new URLSearchParams({ here: location.pathname + location.search });
    if (current) query.set("current", current);
    if (current && !document.hidden) query.set("seen", "yes");
    try {
      const response = await fetch(`/sidebar?${query}`, { headers: FRAGMENT_HEADERS });
      if (response.ok && !inUse(place)) place.replaceChildren(elementsOf(await response.text()));
    } catch {
      // The next reason to look comes soon enough.
    }
    lookAgain();
  }

  function lookAgain() {
    clearTimeout(timer);
    const elsewhere = place.querySelector("a:not([aria-current]) .running-dot");
    if (elsewhere && !document.hidden) timer = setTimeout(refresh, LOOK_AGAIN_MILLISECONDS);
  }

  document.addEventListener("recount:started", refresh);
  document.addEventListener("recount:ended", () => {
    if (document.hidden && !document.title.startsWith(MARK)) document.title = MARK + document.title;
    refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    if (document.title.startsWith(MARK)) document.title = document.title.slice(MARK.length);
    refresh();
  });
  lookAgain();
}

/** Whoever is in a menu keeps it. @param {HTMLElement} place */
function inUse(place) {
  return place.contains(document.activeElement) || place.querySelector("details[open]") !== null;
}
