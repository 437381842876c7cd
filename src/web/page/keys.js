// Keys, and the list of them.

import { help } from "./dialogs.js";
import { make } from "./dom.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */

/** Forms that are on their way. What is typed until they are there goes nowhere: it is not meant for the list. */
class Opening {
  constructor() {
    this.count = 0;
  }

  /** Waits for what opens a form. @template T @param {Promise<T>} task @returns {Promise<T>} */
  async wait(task) {
    this.count++;
    try {
      return await task;
    } finally {
      this.count--;
    }
  }

  /** Swallows the keys that are pressed in a document meanwhile, but for those of fields. @param {Document} document */
  watch(document) {
    document.addEventListener("keydown", (event) => {
      if (!this.count || event.key === "Escape" || isTyping(event.target)) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    }, true);
  }
}

export const opening = new Opening();

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
