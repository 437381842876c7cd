// The context menu of a packet, a field, a held packet or a session.

import { make } from "./dom.js";

/** @typedef {{ text: string, keys?: string, run: () => any }} Item a line of a menu */

export class Menu {
  constructor() {
    this.element = make("div", { id: "menu", role: "menu", hidden: "" });
    /** What has the focus again when the menu closes. @type {Element | null} */
    this.before = null;
    /** @type {HTMLElement | null} */
    this.title = null;
    document.querySelector("main")?.append(this.element);
    this.element.addEventListener("keydown", (event) => this.key(event));
    this.element.addEventListener("contextmenu", (event) => event.preventDefault());
    document.addEventListener("pointerdown", (event) => {
      if (event.target instanceof Node && !this.element.contains(event.target)) this.close(false);
    }, true);
    addEventListener("blur", () => this.close(false));
    addEventListener("resize", () => this.close(false));
  }

  get items() {
    return /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll("[role=\"menuitem\"]")]);
  }

  /**
   * Opens the menu with its corner at a point of the page, or where there is room for it.
   * @param {string} title of what it is about
   * @param {Item[][]} groups
   * @param {number} x @param {number} y
   */
  open(title, groups, x, y) {
    if (this.element.hidden) this.before = document.activeElement;
    const filled = groups.filter((items) => items.length);
    this.title = make("div", { class: "menu-title", role: "presentation" });
    this.setTitle(title);
    this.element.replaceChildren(this.title, ...filled.map((items) =>
      make("div", { class: "menu-group", role: "group" }, ...items.map(({ text, keys, run }) => {
        const take = () => {
          this.close(true);
          run();
        };
        return make("button", { type: "button", role: "menuitem", tabindex: -1, onclick: take },
          make("span", {}, text), keys ? make("kbd", {}, keys) : null);
      }))));
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    this.element.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    this.element.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    this.items[0]?.focus();
  }

  /** Says what the menu is about. @param {string} title */
  setTitle(title) {
    if (this.title) this.title.textContent = title;
    this.element.setAttribute("aria-label", title);
  }

  /** @param {boolean} back whether what had the focus gets it back */
  close(back) {
    if (this.element.hidden) return;
    this.element.hidden = true;
    if (back && this.before instanceof HTMLElement) this.before.focus();
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { items } = this;
    const at = items.findIndex((it) => it === document.activeElement);
    /** @type {Record<string, number>} */
    const places = { ArrowDown: (at + 1) % items.length, ArrowUp: (at - 1 + items.length) % items.length, Home: 0, End: items.length - 1 };
    const place = places[event.key];
    if (place !== undefined) {
      items[place]?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      this.close(true);
    } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
      // A letter goes to the next line that begins with it.
      const begins = [...items.slice(at + 1), ...items.slice(0, at + 1)];
      begins.find((it) => it.textContent?.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
    } else {
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
