// What is done with the selected packets, apart from their fields.

import { unlessLost } from "./connection.js";
import { comparison } from "./dialogs.js";
import { make, plural } from "./dom.js";
import { exportDialog } from "./export.js";
import { opening } from "./keys.js";

/**
 * @typedef {object} Parts of the page
 * @property {import("./connection.js").Connection} connection
 * @property {import("./packets.js").Packets} packets
 * @property {import("./sessions.js").Sessions} sessions
 * @property {import("./listing.js").Listing} listing
 * @property {import("./control.js").ControlPanel} control
 * @property {import("./rules.js").RulesPanel} rules
 * @property {import("./dialogs.js").Dialog} dialog
 * @property {import("./tabs.js").Tabs} tabs
 * @property {import("./notice.js").Notice} notice
 */

/** Most packets that are sent again at once. */
const MOST_SENT = 100;

export class PacketCommands {
  /** @param {Parts} parts */
  constructor({ connection, packets, sessions, listing, control, rules, dialog, tabs, notice }) {
    this.connection = connection;
    this.packets = packets;
    this.sessions = sessions;
    this.listing = listing;
    this.control = control;
    this.rules = rules;
    this.dialog = dialog;
    this.tabs = tabs;
    this.notice = notice;
    /** `true` if what is sent can be changed. */
    this.controls = false;
    /** The row that was marked last. @type {number | null} */
    this.marked = null;
  }

  /** Marks the selected packets, or unmarks them. */
  mark() {
    this.marked = this.packets.selected;
    return this.packets.mark();
  }

  /** `true` if a packet was marked with which the selected one can be compared. */
  get comparable() {
    return this.marked !== null && this.marked !== this.packets.selected;
  }

  /** Goes to the next marked packet, or to the previous one. @param {boolean} back */
  async nextMark(back) {
    const row = this.packets.selected ?? (back ? Number.MAX_SAFE_INTEGER : 0);
    const { found } = await this.connection.ask("next_mark", { row, back });
    if (!found) return this.notice.say("There is no other marked packet in the list.");
    this.tabs.show("packets");
    await this.packets.jump(found.index, () => found.row);
  }

  /** Goes to the answer to the selected packet, or to the request that it answers. */
  async answer() {
    const row = this.packets.selected;
    const other = row === null ? null : (await this.connection.ask("details", { row })).packet?.round_trip;
    if (!other) return this.notice.say("No packet answers this one, and it answers none.", true);
    this.tabs.show("packets");
    await this.listing.open(other.row);
  }

  /** Asks for a comment on the selected packet. */
  comment() {
    const row = this.packets.current;
    if (!row) return;
    const input = make("input", { type: "text", id: "comment", "aria-label": "Comment", size: 60, value: row.note ?? "", maxlength: 2000 });
    const keep = async () => {
      await this.packets.annotate(row, input.value.trim());
      this.dialog.close();
    };
    input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      unlessLost(keep());
    });
    this.dialog.show("Comment", make("p", {}, input, " ", make("button", { type: "button", onclick: () => unlessLost(keep()) }, "Save")));
    input.focus();
  }

  /** Offers to export packets. */
  export() {
    this.dialog.show("Export", exportDialog(this.connection, this.packets.targets));
  }

  /** Compares the packet that was marked last with the selected one. */
  async compare() {
    const { marked } = this;
    const { selected } = this.packets;
    if (marked === null || selected === null) return this.notice.say("Mark one packet (m), and select another to compare it with.", true);
    const answer = await this.connection.ask("compare", { a: marked, b: selected });
    if (answer.fields) this.dialog.show("Comparison", comparison(answer.fields));
  }

  /** Asks why a session ended. @param {number} [session] the selected one if absent, or that of the selected packet */
  async explain(session = this.sessions.selected > 0 ? this.sessions.selected : this.packets.current?.session) {
    if (session === undefined) return this.notice.say("Select a session, or a packet of one.", true);
    await this.connection.ask("explain", { session });
  }

  /**
   * Adds a rule for packets like the selected one to the filter file.
   * @param {import("./protocol.d.ts").FieldSetting} [set] the field that it sets
   */
  async rule(set, row = this.packets.selected) {
    if (row === null || !this.tabs.has("rules")) return;
    this.tabs.show("rules");
    let matched = "";
    const added = await opening.wait(this.rules.add(async (text) => {
      const { expression = null, rule = null } = await this.connection.ask("expression", { row, rules: text, set });
      matched = expression ?? "";
      return rule;
    }, () => {
      this.tabs.show("packets");
      unlessLost(this.listing.applyFilter(matched));
    }));
    if (!added) this.notice.say("There can be no rule for a packet of an unknown type.", true);
  }

  /** Changes a packet, to send it. @param {number | null} [row] the selected packet if absent */
  async change(row = this.packets.selected) {
    if (row === null || !this.controls || !await this.control.change(row)) return;
    this.tabs.show("control");
    this.control.fields.focus();
  }

  /** Sends packets again, in their order. @param {number[]} [targets] the selected packets if absent */
  async resend(targets = this.packets.targets) {
    const rows = targets.slice(0, MOST_SENT);
    if (!this.controls) return;
    if (!rows.length) this.notice.say("Select the packet that is to be sent again.", true);
    for (const row of rows) {
      const { packet, error } = await this.connection.ask("details", { row });
      if (error) return this.notice.say(error.message, true);
      if (!await this.control.resend(packet)) return;
    }
    if (rows.length > 1) this.notice.say(`Sent ${plural(rows.length, "packet")} again.`);
  }
}
