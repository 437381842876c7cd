// Conversation, statistics, comparison and help.

import { unlessLost } from "./connection.js";
import { clock, make, patch, plural, press, size, styled } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {Record<string, any>} Json */
/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").ChatLine} ChatLine */
/** @typedef {import("./protocol.d.ts").ComparedValues} ComparedValues */

/** Lines that are shown at the end, and at most. */
const LINES = 400;
const MOST = 500;

/** Characters of a line that are shown. */
const LONG = 1000;

export class Conversation {
  /** @param {Connection} connection @param {HTMLElement} panel @param {(row: number) => void} onOpen */
  constructor(connection, panel, onOpen) {
    this.connection = connection;
    this.panel = panel;
    this.element = make("ol", { id: "conversation", "aria-label": "Conversation" });
    this.find = make("input", { id: "conversation-search", type: "search", spellcheck: "false", autocomplete: "off", oninput: () => this.search() });
    this.count = make("span", { role: "status" });
    this.earlier = make("button", { type: "button", hidden: "", onclick: () => this.goEarlier() });
    this.later = make("button", { type: "button", hidden: "", onclick: () => this.goToEnd() });
    panel.replaceChildren(
      make("p", { class: "bar" }, make("label", { for: "conversation-search" }, "Lines with "), this.find, " ", this.count),
      this.earlier, this.element, this.later);
    /** The index of the first line that is shown; `null` before any is. @type {number | null} */
    this.start = null;
    this.busy = false;
    /** `true` if something has changed while an answer was on its way. */
    this.again = false;
    this.element.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest("button")?.closest("li") : null;
      if (line instanceof HTMLElement) onOpen(Number(line.dataset.key));
    });
  }

  /** Shows the newest lines if the end is shown, and otherwise those that are. */
  async update() {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        await this.read();
      } while (this.again);
    } finally {
      this.busy = false;
    }
  }

  async read() {
    const text = this.find.value || undefined;
    const { total = 0, error } = await this.connection.ask("conversation", { start: 0, count: 0, text });
    const atEnd = this.start === null || (this.isAtEnd() && this.firstInUse() === Infinity);
    const start = atEnd ? Math.max(0, total - LINES) : Math.min(this.start ?? 0, Math.max(0, total - 1));
    const { lines = [] } = await this.connection.ask("conversation", { start, count: MOST, text });
    if (text !== (this.find.value || undefined)) return;
    this.start = start;
    press.draw(this, () => {
      this.count.textContent = error ? error.message : text ? plural(total, "line") : "";
      this.show(lines);
      this.earlier.hidden = start === 0;
      this.earlier.textContent = `${plural(start, "earlier line")} ↑`;
      const rest = total - start - lines.length;
      this.later.hidden = atEnd || rest <= 0;
      this.later.textContent = `${plural(rest, "newer line")} ↓`;
      if (atEnd) this.panel.scrollTop = this.panel.scrollHeight;
    });
  }

  /** Looks for the text that was typed. */
  search() {
    this.start = null;
    unlessLost(this.update());
  }

  goToEnd() {
    this.search();
  }

  /** Shows earlier lines above those that are shown. */
  goEarlier() {
    const first = this.element.querySelector("li");
    const place = first?.getBoundingClientRect().top ?? 0;
    this.start = Math.max(0, (this.start ?? 0) - LINES);
    // Not at the end any more.
    this.panel.scrollTop = 0;
    unlessLost(this.update().then(() => {
      if (first?.isConnected) this.panel.scrollTop += first.getBoundingClientRect().top - place;
    }));
  }

  isAtEnd() {
    return this.later.hidden && this.panel.scrollTop + this.panel.clientHeight >= this.panel.scrollHeight - 24;
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
      const sender = line.sender ? styled(line.sender, LONG) : who;
      return make("li", { "data-key": line.row }, open, sender, sender ? ": " : "", line.text ? styled(line.text, LONG) : "");
    });
    const none = make("li", {}, this.find.value ? "No line has this text." : "Nobody has written anything in the packets of the list.");
    patch(this.element, ...(items.length ? items : [none]));
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
    element.addEventListener("click", (event) => {
      const button = event.target instanceof Element ? event.target.closest("button") : null;
      if (button?.dataset.sort) this.sortBy(button.dataset.sort);
      else if (button?.dataset.filter) this.onFilter(button.dataset.filter);
    });
  }

  waiting() {
    if (!this.report) this.element.replaceChildren(make("p", { role: "status" }, "Counting…"));
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
    const filter = (/** @type {Json} */ row) => `${row.dir} and state.${row.state} and pkt.name == ${JSON.stringify(row.packet)}`;
    const tables = [
      this.table("Packets", report.packets, "packet", title, counts, filter),
      this.table("Plugin channels", report.channels, "channel", title, counts),
      this.table("Round trips", report.round_trips, "name", (row) => row.name, trips),
      this.table("Not decoded", report.undecoded, "packet", (row) => `${row.packet ?? "(unknown)"}: ${row.reason}`,
        [["packets", "packets", number]], () => "pkt.error"),
    ];
    const shown = tables.filter((table) => table !== null);
    const none = make("p", {}, "There is nothing to count.");
    press.draw(this, () => patch(this.element, ...(shown.length ? shown : [none])));
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
    }, make("button", { type: "button", "data-sort": name }, text)));
    const body = sorted.map((row) => make("tr", { "data-key": filter ? filter(row) + title(row) : title(row) },
      make("td", {}, filter
        ? make("button", { type: "button", "data-filter": filter(row) }, title(row))
        : title(row)),
      ...columns.map(([name, , format]) => make("td", {}, format(row[name])))));
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
