// A button on each code block that copies its source. Where the browser has no clipboard for us, none is shown.

/**
 * @param {ParentNode} root where to look for code blocks
 * @param {HTMLElement} words the element whose data attributes name the button
 */
export function addCopyButtons(root, words) {
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
