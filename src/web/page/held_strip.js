// What is held, above the list: the packet on which commands decide, and what can be decided.

import { unlessLost } from "./connection.js";
import { make, plural, press } from "./dom.js";
import { title } from "./held.js";

/** @typedef {import("./control.js").ControlPanel} ControlPanel */
/** @typedef {import("./held.js").Targets} Targets */

export class HeldStrip {
  /** @param {HTMLElement} element @param {ControlPanel} control @param {() => void} onshow shows everything that is held */
  constructor(element, control, onshow) {
    this.element = element;
    this.control = control;
    this.text = make("span", {});
    /** What the text names, and how many packets that are: the buttons act on these, also if another packet is next by now. @type {Targets} */
    this.named = { spans: [], one: null };
    this.count = 0;
    this.asking = false;
    this.stale = false;
    const button = (/** @type {string} */ name, /** @type {() => any} */ act) => make("button", { type: "button", onclick: () => unlessLost(Promise.resolve(act())) }, name);
    this.all = button("Forward them all", () => control.forwardAll());
    element.append(this.text, button("Forward", () => control.decide("forward", this.named, this.count)), button("Drop", () => control.decide("drop", this.named, this.count)),
      button("Edit", () => {
        onshow();
        return control.editHeld(this.named);
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
        const { held } = this.control;
        const { total } = held.holding;
        this.draw(total, total ? await held.targets() : { spans: [], one: null }, held.count);
      }
    } finally {
      this.asking = false;
    }
  }

  /** @param {number} total @param {Targets} named what the buttons act on @param {number} count how many these are */
  draw(total, named, count) {
    const { spans, one } = named;
    const target = one ? `${title(one)} ${one.summary}` : spans.length ? "the selected packets" : "";
    press.draw(this, () => {
      [this.named, this.count] = [named, count];
      this.element.hidden = total === 0;
      this.all.hidden = total < 2;
      this.text.textContent = `${plural(total, "packet")} held${target ? `. Next: ${target}` : ""}`;
    });
  }
}
