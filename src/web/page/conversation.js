// Chat and commands of the packets of the list.

import { unlessLost } from "./connection.js";
import { clock, make, patch, plural, press, styled } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").ChatLine} ChatLine */

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
