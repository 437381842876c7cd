// Keys, and the list of them.

import { unlessLost } from "./connection.js";
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

/** Runs the actions of the keys that are pressed in the document. */
export class Keyboard {
  /**
   * @param {(name: string) => void} run
   * @param {(name: string) => boolean} has whether there is such an action on the page
   * @param {() => boolean} rests whether keys belong to something else now
   */
  constructor(run, has, rests) {
    this.run = run;
    this.has = has;
    this.rests = rests;
    /** The actions that the program has told. @type {ActionInfo[]} */
    this.actions = [];
    /** What elements do with keys of their own. @type {Map<EventTarget, (event: KeyboardEvent, isControl: boolean) => Promise<any> | null>} */
    this.owners = new Map();
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** Gives an element keys of its own while it has the focus. @param {EventTarget} element @param {(event: KeyboardEvent, isControl: boolean) => Promise<any> | null} act */
  own(element, act) {
    this.owners.set(element, act);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.altKey || this.rests()) return;
    const isControl = event.ctrlKey || event.metaKey;
    if (isTyping(event.target) && event.key !== "Escape" && !isControl) return;
    // Buttons and lists of their own have these keys.
    const isPressed = event.target instanceof HTMLButtonElement && ["Enter", " "].includes(event.key);
    if (event.key.length === 1 && !isControl && !singleKeys()) return;
    const acted = event.target && this.owners.get(event.target)?.(event, isControl);
    if (acted) {
      event.preventDefault();
      unlessLost(acted);
      return;
    }
    const key = isControl ? `Control+${event.key}` : event.key;
    const name = this.actions.find((it) => it.keys.includes(key))?.name;
    if (isPressed || !name || !this.has(name)) return;
    event.preventDefault();
    this.run(name);
  }
}

/** Makes the list of all keys, with the choice whether single characters act. @param {ActionInfo[]} actions */
export function keysDialog(actions) {
  const box = make("input", { type: "checkbox", id: "single-keys", onchange: () => localStorage.setItem("single-keys", box.checked ? "on" : "off") });
  box.checked = singleKeys();
  return make("div", {}, make("p", {}, make("label", {}, box, " Use single-character keys")), help(actions));
}

/** `false` if keys that are single characters do nothing: programs that type what is said press them by mistake. */
export function singleKeys() {
  return localStorage.getItem("single-keys") !== "off";
}

/** @param {EventTarget | null} at @returns {at is HTMLElement} */
export function isTyping(at) {
  return at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement;
}
