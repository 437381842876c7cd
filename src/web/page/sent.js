// What people have sent, to be changed and sent again, with what came back within a second.

import { unlessLost } from "./connection.js";
import { clock, make, patch, plural } from "./dom.js";
import { Pages } from "./pages.js";
import { Tail } from "./tail.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Row} Row */

/** Milliseconds in which replies are waited for. */
const PATIENCE = 1000;

export class SentList {
  /**
   * @param {Connection} connection
   * @param {{ again: (row: Row) => any, change: (row: Row) => any, open: (row: number) => any }} actions
   */
  constructor(connection, actions) {
    this.connection = connection;
    /** @type {Pages<Row>} */
    this.pages = new Pages(async (start, count) => (await connection.ask("sent", { start, count })).rows ?? [], () => this.list.redraw());
    /** @type {Row | null} */
    this.selected = null;
    this.head = make("div", { class: "line head", role: "row" }, ...["Time", "#", "Packet", "Fields"].map((title, at) => make("span", { class: `s-${at}`, role: "columnheader", "aria-label": title === "#" ? "Session" : undefined }, title)));
    const grid = make("div", { id: "sent", role: "grid", "aria-label": "Sent packets", "aria-rowcount": 1, tabindex: 0 });
    this.grid = grid;
    this.list = new VirtualList(grid, (index, line) => this.line(index, line), this.head);
    this.none = make("p", { class: "empty" });
    const act = (/** @type {string} */ name, /** @type {(row: Row) => any} */ run) =>
      make("button", { type: "button", disabled: "", onclick: () => { if (this.selected) unlessLost(Promise.resolve(run(this.selected))); } }, name);
    this.buttons = [act("Send again", actions.again), act("Change", actions.change), act("Show in the list", (row) => actions.open(row.row))];
    this.title = make("h3", { id: "replies-title", hidden: "" });
    this.replies = make("ol", { id: "replies", "aria-labelledby": "replies-title" });
    this.replies.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest("li") : null;
      if (line instanceof HTMLElement && line.dataset.key) unlessLost(Promise.resolve(actions.open(Number(line.dataset.key))));
    });
    this.bar = make("div", { class: "bar" }, ...this.buttons);
    this.element = make("section", { id: "sent-pane", "aria-label": "Sent" }, make("h2", {}, "Sent"), this.none, grid, this.bar, this.title, this.replies);
    grid.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line:not(.head)") : null;
      if (line) this.go(Number(line.id.slice("sent-".length)));
    });
    /** What a double click and Enter do. @type {(row: Row) => any} */
    this.enter = actions.change;
    this.actions = actions;
    grid.addEventListener("dblclick", () => { if (this.selected) unlessLost(Promise.resolve(this.enter(this.selected))); });
    grid.addEventListener("keydown", (event) => {
      /** @type {Record<string, number>} */
      const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, Home: -Infinity, End: Infinity };
      const step = steps[event.key];
      if (event.key === "Enter" && this.selected) unlessLost(Promise.resolve(this.enter(this.selected)));
      else if (step === undefined || event.ctrlKey || event.metaKey) return;
      else this.go((this.pages.find((it) => it.row === this.selected?.row) ?? (step > 0 ? -1 : this.list.count)) + step);
      event.preventDefault();
      event.stopPropagation();
    });
    this.tail = new Tail(this.list, this.pages, () => this.list.top >= this.list.last - 0.5);
    this.show(0);
  }

  /** Shows what was sent only, or lets it be sent again. @param {boolean} only */
  setReadOnly(only) {
    const { change, open } = this.actions;
    for (const button of this.buttons.slice(0, 2)) button.hidden = only;
    this.enter = only ? (row) => open(row.row) : change;
    this.none.textContent = only ? "No packet was sent by hand in the listed sessions." : "Packets that you send by hand appear here, with what comes back within a second, to be changed and sent again.";
  }

  /** Begins to list what was sent. */
  async begin() {
    this.pages.renew();
    this.list.redraw();
    const { total = 0 } = await this.connection.ask("sent", { start: 0, count: 0 });
    this.take(total);
  }

  /** Takes the news of how many were sent. @param {number} total */
  take(total) {
    if (total !== this.tail.total) {
      // Those that are found later can stand before the others.
      this.pages.change();
      this.show(total);
      if (!this.tail.follows()) this.list.setCount(total);
      unlessLost(this.tail.take(total));
    }
    if (this.selected && Date.now() - this.selected.at < 2 * PATIENCE) unlessLost(this.ask(this.selected));
  }

  /** Shows the list if it has packets, and what it is for otherwise. @param {number} total */
  show(total) {
    this.none.hidden = total > 0;
    this.grid.hidden = this.bar.hidden = total === 0;
    this.grid.setAttribute("aria-rowcount", String(total + 1));
  }

  /** Selects a packet. @param {number} index */
  go(index) {
    const target = Math.min(Math.max(0, index), this.list.count - 1);
    const row = this.pages.at(target);
    if (!row) return;
    this.selected = row;
    this.list.reveal(target);
    this.list.redraw();
    for (const button of this.buttons) button.disabled = false;
    unlessLost(this.ask(row));
  }

  /** Asks what came back. @param {Row} row */
  async ask(row) {
    const { rows = [] } = await this.connection.ask("replies", { row: row.row });
    if (this.selected?.row !== row.row) return;
    this.title.hidden = false;
    this.title.textContent = `${clock(row.at)}: ${rows.length ? plural(rows.length, "packet") : "nothing"} came back within a second`;
    patch(this.replies, ...rows.map((reply) => make("li", { "data-key": reply.row },
      make("button", { type: "button" }, `+${Math.round(reply.at - row.at)} ms`), ` ${reply.name ?? "(unknown)"} `, make("small", {}, reply.summary))));
  }

  /** @param {number} index @param {HTMLElement} line */
  line(index, line) {
    const row = this.pages.see(index);
    line.id = `sent-${index}`;
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(index + 2));
    const chosen = row !== undefined && row.row === this.selected?.row;
    line.setAttribute("aria-selected", String(chosen));
    line.className = `line ${row?.dir ?? ""}${chosen ? " selected" : ""}`;
    const texts = row ? [clock(row.at), `#${row.session} ${row.dir === "serverbound" ? "→" : "←"}`, row.name ?? "(unknown)", row.summary] : ["…", "", "", ""];
    patch(line, ...texts.map((text, at) => make("span", { class: `s-${at}`, role: "gridcell" }, text)));
    if (chosen) this.grid.setAttribute("aria-activedescendant", line.id);
  }
}
