// Chat and commands of the packets of the list.

import { unlessLost } from "./connection.js";
import { clock, make, patch, plural, styled } from "./dom.js";
import { Pages } from "./pages.js";
import { VirtualList } from "./virtual_list.js";
import { WrappedList } from "./wrapped_list.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").ChatLine} ChatLine */
/** @typedef {import("./protocol.d.ts").Progress} Progress */

/** Characters of a line that are shown. */
const LONG = 1000;

export class Conversation {
  /** @param {Connection} connection @param {HTMLElement} panel @param {(row: number) => any} onOpen */
  constructor(connection, panel, onOpen) {
    this.connection = connection;
    this.onOpen = onOpen;
    this.element = make("div", { id: "conversation", role: "listbox", "aria-label": "Conversation", tabindex: 0 });
    this.find = make("input", { id: "conversation-search", type: "search", spellcheck: "false", autocomplete: "off", oninput: () => this.search() });
    this.count = make("span", { role: "status" });
    this.none = make("p", { class: "empty", hidden: "" });
    this.newer = make("button", { type: "button", id: "conversation-newer", hidden: "", onclick: () => this.goToEnd() });
    panel.replaceChildren(
      make("div", { class: "bar" }, make("label", { for: "conversation-search" }, "Lines with"), this.find, this.count),
      this.none, this.element, this.newer);
    /** @type {Pages<ChatLine>} */
    this.pages = new Pages(async (start, count) => (await this.ask(start, count)).lines ?? [], () => this.list.redraw());
    this.list = new WrappedList(this.element, (index, line) => this.line(index, line), (index) => this.pages.at(index)?.row ?? `at ${index}`);
    this.list.onmove = () => this.moved();
    this.list.ondraw = () => this.drawNewer();
    /** The selected line, and its row. */
    this.index = 0;
    /** @type {number | null} */
    this.selected = null;
    /** `true` while the newest line is not shown only because a person has selected text. */
    this.paused = false;
    /** `true` while the selected line stays in the middle, as others before it are found. */
    this.centered = false;
    /** `true` while the row of a line that a key has led to is not known. */
    this.going = false;
    /** `true` once all lines were found when mitmcraft last told. */
    this.settled = false;
    this.busy = false;
    /** `true` if something has changed while an answer was on its way. */
    this.again = false;
    this.element.addEventListener("click", (event) => this.click(event));
  }

  /** @param {number} start @param {number} count @param {number} [anchor] a row whose index is wanted */
  ask(start, count, anchor) {
    return this.connection.ask("conversation", { start, count, text: this.find.value || undefined, anchor });
  }

  /** Shows the conversation of the list as it is now. */
  show() {
    this.pages.renew();
    this.settled = false;
    return this.update();
  }

  /** Takes what is new. @param {Progress | null} [progress] how far lines were found */
  async update(progress = null) {
    if (this.busy) {
      this.again = true;
      return;
    }
    this.busy = true;
    try {
      do {
        this.again = false;
        await this.read(progress);
      } while (this.again);
    } finally {
      this.busy = false;
    }
  }

  /** @param {Progress | null} progress */
  async read(progress) {
    const { generation } = this.pages;
    const { selected } = this;
    const first = Math.floor(this.list.top);
    const top = this.pages.at(first)?.row;
    const [{ total = 0, error, anchor = null }, chosen] = await Promise.all([
      this.ask(0, 0, top), selected === null ? null : this.ask(0, 0, selected)]);
    if (generation !== this.pages.generation) {
      this.again = true;
      return;
    }
    this.count.textContent = error ? error.message : this.find.value ? plural(total, "line") : "";
    if (error) return;
    const settled = progress !== null && progress.done === progress.all;
    if (settled && this.settled && anchor === first) this.pages.grow();
    else this.pages.change();
    this.settled = settled;
    if (selected === this.selected && !this.going) this.index = chosen?.anchor ?? this.index;
    this.rest();
    if (this.list.atEnd && total > 0) {
      // All lines on the screen may be new: those before them stay until the new ones can be read.
      await this.pages.load(Math.max(0, total - this.fill), total - 1);
      if (generation !== this.pages.generation) {
        this.again = true;
        return;
      }
    }
    // Lines that are found later stand before those on the screen.
    if (!this.list.atEnd && anchor !== null) this.list.top += anchor - first;
    this.none.hidden = total > 0;
    this.none.textContent = this.find.value ? "No line has this text." : "No chat and no commands in the packets of the list: a filter, a session or a span can leave them out.";
    this.element.hidden = total === 0;
    this.list.setCount(total);
    if (this.centered) {
      this.list.moveTo(this.index - Math.floor(this.fill / 2));
      this.centered = !settled;
    }
  }

  /** The lines for which there is room. */
  get fill() {
    return Math.ceil(this.element.clientHeight / VirtualList.LINE);
  }

  /** A person has chosen another place. */
  moved() {
    this.paused = false;
    this.centered = false;
  }

  /** Lets lines rest while text of them is selected, and goes on with the newest one afterwards. */
  rest() {
    const selection = document.getSelection();
    const inUse = Boolean(selection && !selection.isCollapsed && [selection.anchorNode, selection.focusNode].some((it) => this.element.contains(it)));
    if (inUse && this.list.atEnd) {
      this.list.atEnd = false;
      this.paused = true;
    } else if (!inUse && this.paused) {
      this.paused = false;
      this.list.moveToEnd();
    }
  }

  /** Lists only lines with the text that was typed; around the selected line, if it is one of them. */
  search() {
    this.pages.clear();
    this.settled = false;
    this.centered = this.selected !== null;
    this.list.atEnd = !this.centered;
    unlessLost(this.update());
  }

  goToEnd() {
    this.moved();
    this.list.moveToEnd();
  }

  drawNewer() {
    const { list } = this;
    const rest = list.atEnd ? 0 : list.count - Math.floor(list.top + list.visible);
    this.newer.hidden = rest <= 0;
    this.newer.textContent = `${plural(rest, "newer line")} ↓`;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const line = event.target instanceof Element ? event.target.closest(".line") : null;
    if (!(line instanceof HTMLElement) || line.dataset.row === undefined) return;
    const row = Number(line.dataset.row);
    this.select(Number(line.dataset.index), row);
    if (event.target instanceof Element && event.target.closest(".when")) unlessLost(Promise.resolve(this.onOpen(row)));
  }

  /** @param {number} index @param {number} row */
  select(index, row) {
    this.index = index;
    this.selected = row;
    this.going = false;
    this.moved();
    if (index < this.list.count - 1) this.list.atEnd = false;
    this.list.reveal(index);
    this.list.redraw();
  }

  /** Selects the line that is `by` lines away. @param {number} by */
  step(by) {
    const from = this.selected === null ? Math.floor(this.list.top + (by > 0 ? -1 : this.list.visible)) : this.index;
    return this.go(from + by);
  }

  /** @param {number} index */
  async go(index) {
    if (!this.list.count) return;
    const target = Math.min(Math.max(0, index), this.list.count - 1);
    // The next key goes on from here, also if it is pressed before the answer comes.
    this.index = target;
    this.going = true;
    const row = this.pages.at(target)?.row ?? (await this.ask(target, 1)).lines?.[0]?.row;
    if (this.index !== target) return;
    this.going = false;
    if (row === undefined) return;
    if (target === this.list.count - 1) this.list.moveToEnd();
    this.select(target, row);
  }

  /** Shows the packet of the selected line. */
  open() {
    return this.selected === null ? undefined : this.onOpen(this.selected);
  }

  /** @param {number} index @param {HTMLElement} line */
  line(index, line) {
    const said = this.pages.see(index);
    line.id = `said-${index}`;
    line.dataset.index = String(index);
    line.setAttribute("role", "option");
    line.setAttribute("aria-posinset", String(index + 1));
    line.setAttribute("aria-setsize", String(this.list.count));
    const chosen = said !== undefined && said.row === this.selected;
    line.setAttribute("aria-selected", String(chosen));
    if (!said) {
      line.className = "line";
      delete line.dataset.row;
      patch(line, "…");
      return;
    }
    line.className = `line ${said.dir} v-${said.verdict}${chosen ? " selected" : ""}`;
    line.dataset.row = String(said.row);
    const to = said.dir === "serverbound" ? "→" : "←";
    const sender = said.sender ? styled(said.sender, LONG) : said.dir === "serverbound" ? said.player ?? "client" : null;
    patch(line, make("span", { class: "when", title: "Show the packet in the list" }, `${clock(said.at)} #${said.session} ${to}`), " ",
      ...(said.verdict === "pass" ? [] : [make("small", { class: "verdict" }, said.verdict), " "]),
      ...(sender ? [sender, ": "] : []), said.text ? styled(said.text, LONG) : make("small", {}, "(does not decode)"));
    if (chosen) this.element.setAttribute("aria-activedescendant", line.id);
  }
}
