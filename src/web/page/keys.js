// Keys, and the list of them.

import { help } from "./dialogs.js";
import { make } from "./dom.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */

/** Makes the list of all keys, with the choice whether single characters act. @param {ActionInfo[]} actions */
export function keysDialog(actions) {
  const box = make("input", { type: "checkbox", id: "single-keys", onchange: () => localStorage.setItem("single-keys", box.checked ? "on" : "off") });
  box.checked = singleKeys();
  return make("div", {}, make("p", {}, make("label", {}, box, " Keys that are single characters act")), help(actions));
}

/** `false` if keys that are single characters do nothing: programs that type what is said press them by mistake. */
export function singleKeys() {
  return localStorage.getItem("single-keys") !== "off";
}

/** @param {EventTarget | null} at @returns {at is HTMLElement} */
export function isTyping(at) {
  return at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement;
}
