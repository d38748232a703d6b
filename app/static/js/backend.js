// The banner that says that the model server does not answer: asked for again now and then while somebody looks.

import { FRAGMENT_HEADERS, elementsOf } from "./conversation.js";

const LOOK_AGAIN_MILLISECONDS = 15_000;

/** @param {HTMLElement} place */
export function watchBackend(place) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let shown = place.innerHTML.trim();
  const announcer = document.querySelector("[data-announcer]");

  async function refresh() {
    clearTimeout(timer);
    try {
      const response = await fetch(place.dataset.backend ?? "", { headers: FRAGMENT_HEADERS });
      const html = response.ok ? (await response.text()).trim() : shown;
      if (html !== shown) {
        place.replaceChildren(elementsOf(html));
        if (announcer && html) announcer.textContent = place.textContent; // A page has one voice.
      }
      shown = html;
    } catch {
      // The next look comes soon enough.
    }
    lookAgain();
  }

  function lookAgain() {
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(refresh, LOOK_AGAIN_MILLISECONDS);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) clearTimeout(timer);
    else refresh();
  });
  lookAgain();
}
