// The selected packet: its fields and bytes, what was sent in its place, and what can be done with its fields.

import { copy } from "./clipboard.js";
import { byId } from "./dom.js";

/** @typedef {import("./protocol.d.ts").PacketDetails} PacketDetails */
/** @typedef {import("./protocol.d.ts").ComparedValues} ComparedValues */
/** What came, and what was sent in its place. @typedef {{ rows: number[], packets: PacketDetails[], fields: ComparedValues[], differing: [number, number][] }} Pair */

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
  /** @param {Parts} parts @param {(condition: string, how: import("./filter.js").Combination) => Promise<void>} onfilter */
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
    /** The packet that is selected in the list. @type {{ row: number, packet: PacketDetails } | null} */
    this.own = null;
    /** @type {Pair | null} */
    this.both = null;
    byId("pair-choice", HTMLElement).addEventListener("change", () => this.choosePair());
  }

  /**
   * Shows the details of a packet. Of a rewritten one, nothing is shown before the other is there: a press on what the
   * chosen one replaces at once would be lost.
   * @param {number} row
   */
  async show(row) {
    const { packet, error } = await this.connection.ask("details", { row });
    const both = packet && packet.counterpart !== null ? await this.pairOf(row, packet, packet.counterpart) : null;
    if (this.packets.selected !== row) return;
    // The list has all the room until then.
    byId("panel-packets", HTMLElement).classList.toggle("unselected", false);
    this.own = packet ? { row, packet } : null;
    this.both = both;
    byId("pair-choice", HTMLElement).hidden = both === null;
    this.choosePair();
    if (packet) this.timeline.mark(Date.parse(packet.at));
    else this.details.fail(error?.message ?? "");
    if (both) this.pair.show(both.packets, both.fields, both.differing);
    else this.pair.clear();
  }

  /** Returns what came and what was sent; `null` if the other one is not there any more. @param {number} row @param {PacketDetails} packet @param {number} counterpart @returns {Promise<Pair | null>} */
  async pairOf(row, packet, counterpart) {
    const came = packet.verdict === "rewrite";
    const rows = came ? [row, counterpart] : [counterpart, row];
    const [other, { fields, differing }] = await Promise.all([this.connection.ask("details", { row: counterpart }), this.connection.ask("compare", { a: rows[0], b: rows[1] })]);
    if (!other.packet || !fields) return null;
    return { rows, packets: came ? [packet, other.packet] : [other.packet, packet], fields, differing };
  }

  /** Shows both packets, or one of them. */
  choosePair() {
    const chosen = document.querySelector("#pair-choice input:checked");
    const which = this.both && chosen instanceof HTMLInputElement ? chosen.value : "";
    byId("pair", HTMLElement).hidden = which !== "both";
    byId("panes", HTMLElement).hidden = byId("field-tools", HTMLElement).hidden = which === "both";
    const place = ["original", "sent"].indexOf(which);
    this.row = this.both?.rows[place] ?? this.own?.row ?? null;
    const packet = this.both?.packets[place] ?? this.own?.packet;
    if (packet) this.details.show(packet);
  }

  /** Shows the details again: the comment is another one. */
  async askAgain() {
    const { row } = this;
    if (row === null) return;
    const { packet } = await this.connection.ask("details", { row });
    if (this.row === row && packet) this.details.show(packet);
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
    if (field) await this.onfilter(field.condition, how);
  }

  /** Adds the selected field as a column, or removes it. */
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
