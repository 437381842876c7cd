// The dialog in which a person writes to which packet to go.

import { unlessLost } from "./connection.js";
import { make } from "./dom.js";

/**
 * @typedef {object} Parts of the page
 * @property {import("./connection.js").Connection} connection
 * @property {import("./packets.js").Packets} packets
 * @property {import("./dialogs.js").Dialog} dialog
 */

/** Milliseconds until it is asked again whether the packet was found. */
const PAUSE = 50;

export class GoTo {
  /** @param {Parts} parts @param {(row: number) => any} open shows a packet in the list */
  constructor({ connection, packets, dialog }, open) {
    this.connection = connection;
    this.packets = packets;
    this.dialog = dialog;
    this.open = open;
    this.input = make("input", {
      type: "text", id: "go-to", size: 30, autocomplete: "off", spellcheck: "false", "aria-label": "Packet or time", "aria-describedby": "go-to-message",
      placeholder: "452, 12.5 s or 14:05:30",
    });
    this.message = make("p", { id: "go-to-message", role: "status" });
    this.body = make("div", {}, make("p", {}, this.input, " ", make("button", { type: "button", onclick: () => unlessLost(this.go()) }, "Go")), this.message);
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      unlessLost(this.go());
    });
  }

  show() {
    this.message.textContent = "The number of a packet, seconds since its session began, or a time of the day.";
    this.dialog.show("Go to", this.body);
    this.input.focus();
    this.input.select();
  }

  /** Goes where the person has written, or says why not. */
  async go() {
    const to = this.input.value.trim();
    const request = { to, row: this.packets.selected, zone: -new Date().getTimezoneOffset() };
    let answer = await this.connection.ask("go_to", request);
    // Another goal, or none, can be meant by now.
    const isMeant = () => this.dialog.isOpen && this.input.value.trim() === to;
    while (answer.searching && isMeant()) {
      this.message.textContent = "searching…";
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      answer = await this.connection.ask("go_to", request);
    }
    if (!isMeant()) return;
    const { row = null, error } = answer;
    if (error) this.message.textContent = error.message;
    if (row === null) return;
    this.dialog.close();
    await this.open(row);
  }
}
