// The views of the page, of which one is shown.

import { byId } from "./dom.js";

export class Tabs {
  /** @param {string[]} names @param {(name: string) => void} onshow called when a view is shown */
  constructor(names, onshow) {
    this.names = names;
    this.onshow = onshow;
    this.current = names[0] ?? "";
    for (const name of names) {
      const button = this.button(name);
      button.addEventListener("click", () => this.show(name));
      button.addEventListener("keydown", (event) => this.key(name, event));
    }
  }

  /** @param {string} name */
  button(name) {
    return byId(`tab-${name}`, HTMLElement);
  }

  /** Returns `true` if a view can be shown now. @param {string} name */
  has(name) {
    return this.names.includes(name) && !this.button(name).hidden;
  }

  /** @param {string} name */
  show(name) {
    this.current = name;
    for (const it of this.names) {
      const button = this.button(it);
      button.setAttribute("aria-selected", String(it === name));
      button.tabIndex = it === name ? 0 : -1;
      byId(`panel-${it}`, HTMLElement).hidden = it !== name;
    }
    this.onshow(name);
  }

  /** @param {string} name the view whose button has the focus @param {KeyboardEvent} event */
  key(name, event) {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.stopPropagation();
    const shown = this.names.filter((it) => this.has(it));
    const next = shown[(shown.indexOf(name) + step + shown.length) % shown.length];
    if (next === undefined) return;
    this.show(next);
    this.button(next).focus();
  }
}
