// What became of the last action, in every view.

import { press } from "./dom.js";

export class Notice {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.timer = 0;
  }

  /** Says what was done, for a while; or why something was not, until something else is said. @param {string} text @param {boolean} [bad] */
  say(text, bad = false) {
    clearTimeout(this.timer);
    press.draw(this, () => {
      this.element.textContent = text;
      this.element.classList.toggle("bad", bad);
      this.element.hidden = text === "";
    });
    if (text && !bad) this.timer = setTimeout(() => this.say(""), LONG);
  }
}

/** Milliseconds for which the news of a success is shown. */
const LONG = 8000;
