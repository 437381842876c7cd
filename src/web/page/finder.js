// The search in the bodies of listed packets.

import { unlessLost } from "./connection.js";
import { byId } from "./dom.js";

/**
 * @typedef {object} Parts of the page
 * @property {import("./connection.js").Connection} connection
 * @property {import("./packets.js").Packets} packets
 * @property {import("./state_line.js").StateLine} stateLine
 * @property {import("./details.js").Details} details
 */

/** Milliseconds until it is asked again whether a match was found. */
const PAUSE = 100;

export class Finder {
  /** @param {Parts} parts @param {() => void} onfound called before a match is shown */
  constructor({ connection, packets, stateLine, details }, onfound) {
    this.connection = connection;
    this.packets = packets;
    this.stateLine = stateLine;
    this.details = details;
    this.onfound = onfound;
    this.input = byId("search", HTMLInputElement);
    /** The number of the last search, or press that asked for a match. */
    this.turn = 0;
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") unlessLost(this.find(event.shiftKey));
    });
    this.input.addEventListener("input", () => unlessLost(this.search()));
    byId("search-next", HTMLElement).addEventListener("click", () => unlessLost(this.find(false)));
    byId("search-back", HTMLElement).addEventListener("click", () => unlessLost(this.find(true)));
  }

  /** Looks for the text that was typed. */
  async search() {
    this.turn += 1;
    this.details.setSearched(this.input.value);
    const answer = await this.connection.ask("search", { text: this.input.value });
    this.stateLine.found.textContent = answer.error?.message ?? "";
    this.stateLine.searched = !this.input.value;
  }

  /** Searches again: the connection is a new one. */
  async renew() {
    if (this.input.value) await this.search();
  }

  /** Shows the next match, or the previous one. @param {boolean} back */
  async find(back) {
    if (!this.input.value) return;
    const row = this.packets.selected ?? (back ? Number.MAX_SAFE_INTEGER : 0);
    const turn = (this.turn += 1);
    let answer = await this.connection.ask("find", { row, back });
    // What is asked for is shown as soon as it is found, unless something else is asked for meanwhile.
    while (answer.searching && turn === this.turn) {
      this.stateLine.found.textContent = "searching…";
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      answer = await this.connection.ask("find", { row, back });
    }
    if (answer.found) {
      this.onfound();
      const { index, row } = answer.found;
      await this.packets.jump(index, () => row);
    } else if (!answer.error && !answer.searching) {
      this.stateLine.found.textContent = "no more matches";
    }
  }
}
