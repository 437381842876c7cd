// Conversation, statistics, comparison and help.

import { clock, make, patch, press, size, styled } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {Record<string, any>} Json */
/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").ChatLine} ChatLine */
/** @typedef {import("./protocol.d.ts").ComparedValues} ComparedValues */

const LINES = 400;

export class Conversation {
  /** @param {Connection} connection @param {HTMLElement} element @param {(row: number) => void} onOpen */
  constructor(connection, element, onOpen) {
    this.connection = connection;
    this.element = element;
    this.busy = false;
    element.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest("button")?.closest("li") : null;
      if (line instanceof HTMLElement) onOpen(Number(line.dataset.key));
    });
  }

  /** Shows the last lines. */
  async update() {
    if (this.busy) return;
    this.busy = true;
    try {
      const { total = 0 } = await this.connection.ask("conversation", { start: 0, count: 0 });
      const start = Math.max(0, total - LINES);
      const { lines } = await this.connection.ask("conversation", { start, count: LINES });
      this.show(lines ?? []);
    } finally {
      this.busy = false;
    }
  }

  /** Returns the oldest row of which a person has selected text, or that has the focus. */
  firstInUse() {
    const { anchorNode = null, focusNode = null, isCollapsed = true } = document.getSelection() ?? {};
    const rows = [document.activeElement, ...(isCollapsed ? [] : [anchorNode, focusNode])].flatMap((node) => {
      const line = (node instanceof Element ? node : node?.parentElement)?.closest("li");
      return line instanceof HTMLElement && this.element.contains(line) ? Number(line.dataset.key) : [];
    });
    return Math.min(...rows);
  }

  /** @param {ChatLine[]} lines */
  show(lines) {
    // A line in use stays, and with it all others: they stop until it is not in use any more.
    if (this.firstInUse() < (lines[0]?.row ?? 0)) return;
    const items = lines.map((line) => {
      const arrow = line.dir === "serverbound" ? "→" : "←";
      const who = line.dir === "serverbound" ? (line.player ?? "client") : null;
      const title = `${clock(line.at)} #${line.session} ${arrow}`;
      const open = make("button", { type: "button" }, title);
      const sender = line.sender ? styled(line.sender) : who;
      return make("li", { "data-key": line.row }, open, sender, sender ? ": " : "", line.text ? styled(line.text) : "");
    });
    const none = make("li", {}, "Nobody has written anything yet.");
    press.draw(this, () => patch(this.element, ...(items.length ? items : [none])));
  }
}

export class StatisticsPanel {
  /** @param {HTMLElement} element @param {(filter: string) => void} onFilter */
  constructor(element, onFilter) {
    this.element = element;
    this.onFilter = onFilter;
    /** @type {Json | null} */
    this.report = null;
    this.sort = "bytes";
    this.down = true;
  }

  waiting() {
    if (!this.report) this.element.replaceChildren(make("p", { role: "status" }, "Counting…"));
  }

  /** @param {Json} report */
  show(report) {
    this.report = report;
    const number = (/** @type {any} */ it) => (typeof it === "number" ? it.toLocaleString("en") : "");
    const bytes = (/** @type {any} */ it) => (typeof it === "number" ? size(it) : "");
    const millis = (/** @type {any} */ it) => (typeof it === "number" ? `${(it * 1000).toFixed(1)} ms` : "");
    /** @type {[string, string, (it: any) => string][]} */
    const counts = [
      ["packets", "packets", number], ["bytes", "bytes", bytes], ["wire", "on the wire", bytes],
      ["mean", "mean", bytes], ["largest", "largest", bytes], ["dropped", "dropped", number],
      ["rewritten", "rewritten", number], ["made", "made", number],
    ];
    /** @type {[string, string, (it: any) => string][]} */
    const trips = [
      ["asked", "asked", String], ["answered", "answered", number], ["unanswered", "unanswered", number],
      ["shortest", "shortest", millis], ["mean", "mean", millis], ["longest", "longest", millis],
    ];
    const title = (/** @type {Json} */ row) => `${row.dir === "serverbound" ? "→" : "←"} ${row.packet ?? row.channel}`;
    const filter = (/** @type {Json} */ row) => `${row.dir} and state.${row.state} and pkt.name == ${JSON.stringify(row.packet)}`;
    const tables = [
      this.table("Packets", report.packets, "packet", title, counts, filter),
      this.table("Plugin channels", report.channels, "channel", title, counts),
      this.table("Round trips", report.round_trips, "name", (row) => row.name, trips),
      this.table("Not decoded", report.undecoded, "packet", (row) => `${row.packet ?? "(unknown)"}: ${row.reason}`,
        [["packets", "packets", number]], () => "pkt.error"),
    ];
    this.element.replaceChildren(...tables.filter((table) => table !== null));
    if (!this.element.children.length) this.element.replaceChildren(make("p", {}, "There is nothing to count."));
  }

  /**
   * @param {string} caption @param {Json[]} rows @param {string} head
   * @param {(row: Json) => string} title
   * @param {[string, string, (it: any) => string][]} columns
   * @param {(row: Json) => string} [filter]
   */
  table(caption, rows, head, title, columns, filter) {
    if (!rows.length) return null;
    const key = columns.some(([name]) => name === this.sort) ? this.sort : (columns[0]?.[0] ?? "");
    const order = this.down ? -1 : 1;
    const sorted = [...rows].sort((one, other) => (one[key] > other[key] ? order : one[key] < other[key] ? -order : 0));
    const heads = columns.map(([name, text]) => make("th", {
      scope: "col", "aria-sort": name === key ? (this.down ? "descending" : "ascending") : undefined,
    }, make("button", { onclick: () => this.sortBy(name) }, text)));
    const body = sorted.map((row) => make("tr", {},
      make("td", {}, filter
        ? make("button", { onclick: () => this.onFilter(filter(row)) }, title(row))
        : title(row)),
      ...columns.map(([name, , format]) => make("td", {}, format(row[name])))));
    return make("table", {}, make("caption", {}, caption),
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

/** @param {ComparedValues[]} fields */
export function comparison(fields) {
  const rows = fields.map((field) => make("tr", { class: field.same ? undefined : "differs" },
    make("th", { scope: "row" }, field.path), make("td", {}, field.a ?? "—"), make("td", {}, field.b ?? "—")));
  return make("table", {},
    make("thead", {}, make("tr", {}, ...["field", "marked", "selected"].map((it) => make("th", { scope: "col" }, it)))),
    make("tbody", {}, ...rows));
}

/** @param {ActionInfo[]} actions */
export function help(actions) {
  const groups = [...new Set(actions.map((it) => it.group))];
  return make("table", {}, ...groups.map((group) => make("tbody", {},
    make("tr", {}, make("th", { scope: "rowgroup", colspan: 2 }, group)),
    ...actions.filter((it) => it.group === group).map((it) => make("tr", {},
      make("th", { scope: "row" }, ...it.names.split(" ").flatMap((key) => [make("kbd", {}, key), " "])),
      make("td", {}, it.help))))));
}
