// Starts what the page at hand has: time zone fields everywhere, settings, composer and stream in a conversation.

import { watchBackend } from "./backend.js";
import { startComposer } from "./composer.js";
import { addCopyButtons } from "./copying.js";
import { keepContext } from "./context.js";
import { Conversation } from "./conversation.js";
import { startDrafts } from "./drafts.js";
import { editLastOnArrow, startKeys } from "./keys.js";
import { startSidebar } from "./sidebar.js";
import { watchSystemPrompt } from "./system_prompt.js";

for (const field of document.querySelectorAll("input[data-time-zone]")) {
  /** @type {HTMLInputElement} */ (field).value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";
}

// The settings lie over the text, so a press beside them puts them away.
const settings = /** @type {HTMLDetailsElement | null} */ (document.querySelector("details.settings"));
addEventListener("click", (event) => {
  if (settings?.open && !settings.contains(/** @type {Node} */ (event.target))) settings.open = false;
});

const systemPrompt = /** @type {HTMLTextAreaElement | null} */ (document.querySelector("textarea[name=system_prompt]"));
const volatilePlace = /** @type {HTMLElement | null} */ (document.querySelector("[data-volatile-place]"));
if (systemPrompt && volatilePlace) watchSystemPrompt(systemPrompt, volatilePlace);

const drafts = startDrafts();
const transcript = /** @type {HTMLElement | null} */ (document.querySelector("[data-transcript]"));
const composer = /** @type {HTMLFormElement | null} */ (document.querySelector("form[data-composer]"));
const conversation = transcript ? new Conversation(transcript) : null;

if (transcript) addCopyButtons(transcript, transcript);
if (composer) startComposer(composer, conversation, drafts);
if (conversation) keepContext();
if (composer) editLastOnArrow(composer);
const sidebar = /** @type {HTMLElement | null} */ (document.querySelector("[data-sidebar]"));
const main = /** @type {HTMLElement | null} */ (document.querySelector("main[data-conversation]"));
if (sidebar) startSidebar(sidebar, main?.dataset.conversation);
if (conversation) conversation.start();
const backend = /** @type {HTMLElement | null} */ (document.querySelector("[data-backend]"));
if (backend) watchBackend(backend);
startKeys();
