// Packets of the list, counted.

import { make, patch, press, size } from "./dom.js";

/** @typedef {Record<string, any>} Json */
/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").ConditionSource} ConditionSource */
/** @typedef {import("./protocol.d.ts").StoreState} StoreState */

export class StatisticsPanel {
  /** @param {Connection} connection @param {HTMLElement} element @param {(condition: ConditionSource) => void} onFilter */
  constructor(connection, element, onFilter) {
    this.connection = connection;
    this.element = element;
    /** What those that were asked for last are of. */
    this.counted = "";
    this.onFilter = onFilter;
    /** @type {Json | null} */
    this.report = null;
    this.sort = "bytes";
    this.down = true;
    element.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (button?.dataset.sort) this.sortBy(button.dataset.sort);
      else if (button?.dataset.filter) this.onFilter(JSON.parse(button.dataset.filter));
    });
  }

  /** Has the packets of the list counted. */
  async ask() {
    if (!this.report) this.element.replaceChildren(make("p", { role: "status" }, "Counting…"));
    await this.connection.ask("statistics", {});
  }

  /** Has them counted again if more have come since. @param {StoreState} state */
  async askAgain({ end, list }) {
    const now = JSON.stringify([end, list.total]);
    if (now === this.counted) return;
    this.counted = now;
    await this.connection.ask("statistics", {});
  }

  /** @param {Json} report */
  show(report) {
    this.report = report;
    const number = (/** @type {any} */ it) => (typeof it === "number" ? it.toLocaleString("en") : "");
    // A zero says nothing there.
    const some = (/** @type {any} */ it) => (it ? number(it) : "");
    const bytes = (/** @type {any} */ it) => (typeof it === "number" ? size(it) : "");
    const millis = (/** @type {any} */ it) => (typeof it === "number" ? `${(it * 1000).toFixed(1)} ms` : "");
    /** @type {[string, string, (it: any) => string][]} */
    const counts = [
      ["packets", "packets", number], ["bytes", "bytes", bytes], ["wire", "on the wire", bytes],
      ["mean", "mean", bytes], ["largest", "largest", bytes], ["dropped", "dropped", some],
      ["rewritten", "rewritten", some], ["made", "made", some],
    ];
    /** @type {[string, string, (it: any) => string][]} */
    const trips = [
      ["asked", "asked", String], ["answered", "answered", number], ["unanswered", "unanswered", number],
      ["shortest", "shortest", millis], ["mean", "mean", millis], ["longest", "longest", millis],
    ];
    const title = (/** @type {Json} */ row) => `${row.dir === "serverbound" ? "→" : "←"} ${row.packet ?? row.channel}`;
    /** @returns {ConditionSource} */
    const filter = (/** @type {Json} */ row) => ({ packets: { dir: row.dir, state: row.state, name: row.packet } });
    const tables = [
      this.table("Packets", report.packets, "packet", title, counts, filter),
      this.table("Plugin channels", report.channels, "channel", title, counts),
      this.table("Round trips", report.round_trips, "name", (row) => row.name, trips),
      this.table("Not decoded", report.undecoded, "packet", (row) => `${row.packet ?? "(unknown)"}: ${row.reason}`,
        [["packets", "packets", number]], () => ({ expression: "pkt.error" })),
    ];
    const shown = tables.filter((table) => table !== null);
    const none = make("p", { class: "empty" }, "No packets in the list: counts of their types, plugin channels and round trips would be here.");
    press.draw(this, () => patch(this.element, ...(shown.length ? shown : [none])));
  }

  /**
   * @param {string} caption @param {Json[]} rows @param {string} head
   * @param {(row: Json) => string} title
   * @param {[string, string, (it: any) => string][]} all columns, of which those that say nothing are left out
   * @param {(row: Json) => ConditionSource} [filter]
   */
  table(caption, rows, head, title, all, filter) {
    if (!rows.length) return null;
    const columns = all.filter(([name, , format]) => rows.some((row) => format(row[name])));
    const key = columns.some(([name]) => name === this.sort) ? this.sort : (columns[0]?.[0] ?? "");
    const order = this.down ? -1 : 1;
    const sorted = [...rows].sort((one, other) => (one[key] > other[key] ? order : one[key] < other[key] ? -order : 0));
    const heads = columns.map(([name, text]) => make("th", {
      scope: "col", "aria-sort": name === key ? (this.down ? "descending" : "ascending") : undefined,
    }, make("button", { type: "button", "data-sort": name }, text)));
    const shows = (/** @type {Json} */ row) => (filter ? JSON.stringify(filter(row)) : "");
    const share = ["packets", "bytes", "wire"].find((name) => name === key) ?? "bytes";
    const whole = rows.reduce((sum, row) => sum + (row[share] ?? 0), 0);
    const has = whole > 0 && rows.length > 1 && columns.some(([name]) => name === share);
    if (has) heads.push(make("th", { scope: "col" }, `share of ${columns.find(([name]) => name === share)?.[1]}`));
    const body = sorted.map((row) => make("tr", { "data-key": shows(row) + title(row) },
      make("td", {}, filter
        ? make("button", { type: "button", "data-filter": shows(row) }, title(row))
        : title(row)),
      ...columns.map(([name, , format]) => make("td", {}, format(row[name]))),
      has ? make("td", { class: "share-cell" }, make("progress", { class: "share", max: whole, value: row[share] ?? 0, "aria-hidden": "true" }), percent((row[share] ?? 0) / whole)) : null));
    return make("table", { "data-key": caption }, make("caption", {}, caption),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, head), ...heads)),
      make("tbody", {}, ...body));
  }

  /** @param {string} key */
  sortBy(key) {
    this.down = key === this.sort ? !this.down : true;
    this.sort = key;
    if (this.report) this.show(this.report);
  }
}

/** @param {number} share */
function percent(share) {
  return share > 0 && share < 0.001 ? "<0.1 %" : `${(share * 100).toFixed(1)} %`;
}
