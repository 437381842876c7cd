// What the list shows: its filter, sessions and times, without what was hidden or cleared.

import { chosenColors } from "./colors.js";
import { byId } from "./dom.js";

/** @typedef {{ filter: string, sessions: number[], times: { from: number, to: number } | null }} View */
/** The row before which packets were cleared, and the sessions that had ended then. @typedef {{ before: number, sessions: import("./protocol.d.ts").SessionMark | null }} Cleared */

/**
 * @typedef {object} Parts of the page
 * @property {import("./connection.js").Connection} connection
 * @property {import("./packets.js").Packets} packets
 * @property {import("./filter.js").FilterLine} filter
 * @property {import("./sessions.js").Sessions} sessions
 * @property {import("./columns.js").Columns} columns
 * @property {import("./memory.js").Memory} memory
 */

export class Listing {
  /** @param {Parts} parts @param {() => void} onshow called when another list is shown */
  constructor({ connection, packets, filter, sessions, columns, memory }, onshow) {
    this.connection = connection;
    this.packets = packets;
    this.filter = filter;
    this.sessions = sessions;
    this.columns = columns;
    this.memory = memory;
    this.onshow = onshow;
    this.input = byId("filter", HTMLInputElement);
    /** @type {View} */
    this.view = { filter: "", sessions: [], times: null };
    /** The packets that were hidden one by one. @type {number[]} */
    this.hidden = [];
    /** @type {Cleared | null} */
    this.cleared = null;
    /** `true` once the page shows what it has shown before. */
    this.begun = false;
  }

  /** `true` if no filter, session or time leaves packets out. */
  get everything() {
    const { filter, sessions, times } = this.view;
    return !filter.trim() && !sessions.length && !times;
  }

  /** Shows what this tab has shown before it was loaded again, if it is still the same mitmcraft. */
  begin() {
    const { memory, columns, sessions, packets } = this;
    ({ hidden: this.hidden, cleared: this.cleared } = memory.get("hidden", { hidden: this.hidden, cleared: this.cleared }));
    columns.sort = memory.get("sort", columns.sort);
    columns.draw();
    columns.drawMenu();
    sessions.cleared = this.cleared?.sessions ?? null;
    sessions.selected = memory.get("session", 0);
    const kept = memory.get("view", this.view);
    this.input.value = kept.filter;
    const selected = memory.get("selected", null);
    if (selected !== null) packets.setFollow(false);
    return Promise.all([...this.askScope(), this.apply(kept, selected ?? undefined)]);
  }

  /** Asks again for everything that is shown: mitmcraft knows nothing of a connection that was lost. */
  renew() {
    return Promise.all([...this.askScope(), this.packets.showAgain(this.request()), this.sessions.renew()]);
  }

  /** Asks for everything of the list that a new connection does not have, apart from its filter. */
  askScope() {
    const { connection, hidden, cleared, columns } = this;
    return [
      ...(hidden.length ? [connection.ask("hide_all", { rows: hidden })] : []),
      ...(cleared ? [connection.ask("clear", { before: cleared.before })] : []),
      ...(columns.sort ? [connection.ask("sort", columns.sort)] : []),
      ...(chosenColors() ? [connection.ask("highlight", { colors: chosenColors() })] : []),
    ];
  }

  /** Keeps what is shown, should the page be loaded again. @param {Record<string, any>} [more] */
  remember(more = {}) {
    // What was kept before counts until all of it is shown again.
    if (!this.begun) return;
    const { view, hidden, cleared, columns, sessions, packets } = this;
    const selected = packets.follow ? null : packets.selected;
    this.memory.keep({ view, hidden: { hidden, cleared }, sort: columns.sort, session: sessions.selected, selected, ...more });
  }

  /** Shows another list. @param {Partial<View>} change @param {number} [wanted] the number of the row to select, if it is another one than now */
  async apply(change, wanted) {
    const before = this.view;
    const next = { ...before, ...change };
    this.view = next;
    const answer = await this.packets.show(this.request(), wanted);
    if (!answer.error) this.filter.setApplied(next.filter);
    this.filter.show(answer);
    if (answer.error) {
      if (this.view === next) this.view = before;
      return;
    }
    this.onshow();
    this.remember();
  }

  /** Shows the packets that an expression matches. @param {string} filter @param {number} [wanted] the number of the row to select */
  applyFilter(filter, wanted) {
    this.input.value = filter;
    return this.apply({ filter }, wanted);
  }

  request() {
    const { filter, sessions, times } = this.view;
    return { filter, sessions, ...times, fold: true };
  }

  /** Adds a condition to the filter. @param {import("./protocol.d.ts").ConditionSource} condition @param {import("./filter.js").Combination} how */
  combine(condition, how) {
    return this.filter.combine(() => this.view.filter, condition, how);
  }

  /** Adds a condition on the selected packet's type to the filter. @param {boolean} only */
  async byType(only) {
    const row = this.packets.current;
    if (row?.name) await this.combine({ type_of: row.row }, only ? "only" : "not");
  }

  /** Shows a packet in the list, without its filter if that leaves it out. @param {number} row */
  async open(row) {
    const { connection, packets } = this;
    const { index, found } = await connection.ask("index", { row });
    if (found) return packets.jump(index, () => row);
    // One row stands for a rewritten packet and what was sent in its place.
    const counterpart = this.view.filter ? null : (await connection.ask("details", { row })).packet?.counterpart ?? null;
    const other = counterpart === null ? null : await connection.ask("index", { row: counterpart });
    if (counterpart !== null && other?.found) return packets.jump(other.index, () => counterpart);
    await this.applyFilter("", row);
  }

  /** Hides the selected packets, and selects the next. */
  async hide() {
    const { packets } = this;
    const rows = packets.targets;
    if (!rows.length) return;
    await this.connection.ask("hide_all", { rows });
    this.hidden.push(...rows);
    packets.pages.clear();
    this.remember();
    await packets.go(packets.index);
  }

  /** Leaves out all packets so far, and the sessions that have ended. @param {number} before the row of the next packet */
  async clear(before) {
    const renewed = this.sessions.clear();
    this.cleared = { before, sessions: this.sessions.cleared };
    await this.connection.ask("clear", { before });
    await Promise.all([this.apply({}), renewed]);
  }

  /** Shows again the packets that were hidden or cleared. */
  async showHidden() {
    await this.connection.ask("show_hidden", {});
    this.hidden = [];
    this.cleared = null;
    await Promise.all([this.apply({}), this.sessions.clear(null)]);
  }
}
