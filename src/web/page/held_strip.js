// What is held, above the list: the packet on which commands decide, and what can be decided.

import { unlessLost } from "./connection.js";
import { make, plural, press } from "./dom.js";
import { title } from "./held.js";

/** @typedef {import("./control.js").ControlPanel} ControlPanel */

export class HeldStrip {
  /** @param {HTMLElement} element @param {ControlPanel} control @param {() => void} onshow shows everything that is held */
  constructor(element, control, onshow) {
    this.element = element;
    this.control = control;
    this.text = make("span", {});
    this.asking = false;
    this.stale = false;
    const button = (/** @type {string} */ name, /** @type {() => any} */ act) => make("button", { type: "button", onclick: () => unlessLost(Promise.resolve(act())) }, name);
    this.all = button("Forward them all", () => control.forwardAll());
    element.append(this.text, button("Forward", () => control.decide("forward")), button("Drop", () => control.decide("drop")),
      button("Edit", () => {
        onshow();
        return control.editHeld();
      }), this.all, button("Show in Control", onshow));
  }

  /** Shows what is held now. */
  async take() {
    this.stale = true;
    if (this.asking) return;
    this.asking = true;
    try {
      while (this.stale) {
        this.stale = false;
        const { holding } = this.control.held;
        const { spans, one } = holding.total ? await this.control.held.targets() : { spans: [], one: null };
        this.draw(holding.total, one ? `${title(one)} ${one.summary}` : spans.length ? "the selected packets" : "");
      }
    } finally {
      this.asking = false;
    }
  }

  /** @param {number} total @param {string} target what commands act on */
  draw(total, target) {
    press.draw(this, () => {
      this.element.hidden = total === 0;
      this.all.hidden = total < 2;
      this.text.textContent = `${plural(total, "packet")} held${target ? `. Next: ${target}` : ""}`;
    });
  }
}
