// A button on each code block that copies its source. Where the browser has no clipboard for us, none is shown.
// Code and tables that are wider than the page can be scrolled by keys.

/**
 * @param {ParentNode} root where to look for code blocks
 * @param {HTMLElement} words the element whose data attributes name the button
 */
export function addCopyButtons(root, words) {
  for (const wide of root.querySelectorAll(".rendered :is(pre, table):not([data-open] *)")) {
    /** @type {HTMLElement} */ (wide).tabIndex = 0;
  }
  if (!navigator.clipboard) return;
  for (const block of root.querySelectorAll(".rendered pre:not(.code-frame > *, [data-open] *)")) {
    const frame = document.createElement("div");
    frame.className = "code-frame";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy-code";
    button.textContent = words.dataset.copy ?? "";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(block.textContent ?? "");
      button.textContent = words.dataset.copied ?? "";
      setTimeout(() => { button.textContent = words.dataset.copy ?? ""; }, 1500);
    });
    block.replaceWith(frame);
    frame.append(block, button);
  }
}

/**
 * Copies the source of a message instead of opening it.
 * @param {MouseEvent} event a click somewhere in the transcript
 * @param {HTMLElement} words the element whose data attributes say that it worked
 */
export async function copyMessage(event, words) {
  const link = /** @type {HTMLElement} */ (event.target).closest("a[data-copy-message]");
  if (!(link instanceof HTMLAnchorElement) || !navigator.clipboard) return;
  event.preventDefault();
  const usual = link.textContent;
  const response = await fetch(link.href);
  if (!response.ok) return;
  await navigator.clipboard.writeText(await response.text());
  link.textContent = words.dataset.copied ?? "";
  setTimeout(() => { link.textContent = usual; }, 1500);
}
