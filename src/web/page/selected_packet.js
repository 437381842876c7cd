// The selected packet: its fields and bytes, what was sent in its place, and what can be done with its fields.

import { copy } from "./clipboard.js";
import { facts } from "./details.js";
import { byId } from "./dom.js";

/** @typedef {import("./protocol.d.ts").PacketDetails} PacketDetails */
/** @typedef {{ rows: number[], packets: PacketDetails[] }} Pair what came, and what was sent in its place */

/**
 * @typedef {object} Parts of the page
 * @property {import("./connection.js").Connection} connection
 * @property {import("./packets.js").Packets} packets
 * @property {import("./details.js").Details} details
 * @property {import("./pair.js").PairView} pair
 * @property {import("./timeline.js").TimelinePanel} timeline
 * @property {import("./columns.js").Columns} columns
 * @property {import("./notice.js").Notice} notice
 */

export class SelectedPacket {
  /** @param {Parts} parts @param {(condition: string, how: import("./filter.js").Combination) => void} onfilter */
  constructor({ connection, packets, details, pair, timeline, columns, notice }, onfilter) {
    this.connection = connection;
    this.packets = packets;
    this.details = details;
    this.pair = pair;
    this.timeline = timeline;
    this.columns = columns;
    this.notice = notice;
    this.onfilter = onfilter;
    /** The row whose fields are shown. @type {number | null} */
    this.row = null;
    /** @type {Pair | null} */
    this.both = null;
    byId("pair-choice", HTMLElement).addEventListener("change", () => this.choosePair());
  }

  /** Shows the details of a packet. @param {number} row */
  async show(row) {
    const answer = await this.connection.ask("details", { row });
    if (this.packets.selected !== row) return;
    if (!answer.packet) {
      this.showPair(null);
      this.details.fail(answer.error?.message ?? "");
      return;
    }
    this.row = row;
    this.timeline.mark(Date.parse(answer.packet.at));
    this.details.show(answer.packet);
    const { counterpart, verdict } = answer.packet;
    if (counterpart === null) {
      this.showPair(null);
      return;
    }
    const [a, b] = verdict === "rewrite" ? [row, counterpart] : [counterpart, row];
    const [other, { fields, differing }] = await Promise.all([this.connection.ask("details", { row: counterpart }), this.connection.ask("compare", { a, b })]);
    if (this.packets.selected !== row || !other.packet || !fields) return;
    const [original, sent] = verdict === "rewrite" ? [answer.packet, other.packet] : [other.packet, answer.packet];
    this.showPair({ rows: [a, b], packets: [original, sent] });
    this.pair.show(original, sent, fields, differing);
  }

  /** @param {Pair | null} both */
  showPair(both) {
    this.both = both;
    byId("pair-choice", HTMLElement).hidden = both === null;
    this.choosePair();
  }

  /** Shows both packets, or one of them. */
  choosePair() {
    const chosen = document.querySelector("#pair-choice input:checked");
    const which = this.both && chosen instanceof HTMLInputElement ? chosen.value : "";
    byId("pair", HTMLElement).hidden = which !== "both";
    byId("panes", HTMLElement).hidden = which === "both";
    const place = ["original", "sent"].indexOf(which);
    const packet = this.both?.packets[place];
    if (!packet) return;
    this.row = this.both?.rows[place] ?? null;
    this.details.show(packet);
  }

  /** Shows the details of the selected packet again: its comment is another one. */
  async askAgain() {
    const row = this.packets.selected;
    if (row === null) return;
    const answer = await this.connection.ask("details", { row });
    if (this.packets.selected === row && answer.packet) this.details.facts.replaceChildren(...facts(answer.packet));
  }

  /** What can be done with the selected field; says why if nothing can. */
  async pickedField() {
    const row = this.row;
    if (row === null || this.details.field < 0) {
      this.notice.say("Select a field first: a line of the fields below the list.", true);
      return null;
    }
    const { error, ...field } = await this.connection.ask("field", { row, field: this.details.field });
    if (error) this.notice.say(error.message, true);
    return error ? null : /** @type {import("./protocol.d.ts").AnswerTo<"field">} */ (field);
  }

  /** Filters by the selected field. @param {import("./filter.js").Combination} how */
  async filterBy(how) {
    const field = await this.pickedField();
    if (field) this.onfilter(field.condition, how);
  }

  /** Lists the selected field as a column, or no longer. */
  async asColumn() {
    const field = await this.pickedField();
    const wrong = field && await this.columns.toggle(field.column);
    if (wrong) this.notice.say(wrong, true);
  }

  /** Copies something of the selected field. @param {"text" | "column" | "hex" | "json"} what */
  async copy(what) {
    const field = await this.pickedField();
    if (!field) return;
    const copied = await copy(field[what]);
    const shown = field[what].length > 60 ? `${field[what].slice(0, 60)}…` : field[what];
    this.notice.say(copied ? `Copied: ${shown}` : "The browser does not allow to copy.", !copied);
  }
}
