// The list of held packets: only what is visible is asked for, and only visible lines exist.

import { unlessLost } from "./connection.js";
import { make, patch, plural } from "./dom.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").HeldPacket} HeldPacket */
/** @typedef {import("./protocol.d.ts").Holding} Holding */
/** @typedef {{ packets: HeldPacket[], fresh: boolean, asked: boolean }} Page */

/** Packets asked for at a time. */
const PAGE = 100;

/** Most packets of one request. */
const MOST = 500;

const COLUMNS = [["number", "No."], ["packet", "Packet"], ["fields", "Fields"], ["age", "Age"], ["decision", "Decision"]];

export class HeldList {
  /** @param {Connection} connection */
  constructor(connection) {
    this.connection = connection;
    /** @type {Map<number, Page>} */
    this.pages = new Map();
    /** @type {Holding} */
    this.holding = { total: 0, changes: 0 };
    /** The selected packets by their numbers. @type {Map<number, HeldPacket>} */
    this.selected = new Map();
    /** The packet that the last click or key selected, and the one where a span of packets begins. */
    this.at = 0;
    this.from = 0;
    /** The packet that each line shows. @type {WeakMap<Element, HeldPacket>} */
    this.shown = new WeakMap();
    /** What is asked about another connection does not count. */
    this.generation = 0;
    /** Ends when lines and selection are in their places. @type {Promise<void> | null} */
    this.settling = null;
    /** Called when the selection changes. */
    this.onselect = () => {};
    /** Called when a packet is to be edited. */
    this.onopen = () => {};
    this.head = make("div", { class: "line head", role: "row" },
      ...COLUMNS.map(([key, title]) => make("span", { class: `h-${key}`, role: "columnheader" }, title)));
    this.element = make("div", { id: "held", role: "grid", "aria-label": "Held packets", "aria-multiselectable": "true", "aria-rowcount": 1, tabindex: 0 });
    this.list = new VirtualList(this.element, (index, line) => this.line(index, line), this.head);
    this.element.addEventListener("click", (event) => this.click(event));
    this.element.addEventListener("dblclick", () => this.onopen());
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Takes the news of how much is held. @param {Holding} holding */
  async take(holding) {
    const moved = holding.changes !== this.holding.changes;
    this.holding = holding;
    for (const page of this.pages.values()) page.fresh = page.fresh && !moved && page.packets.length === PAGE;
    if (moved) await this.settle();
    this.setCount();
  }

  /** Asks again for what is shown: the connection is a new one. */
  renew() {
    this.generation++;
    this.settling = null;
    for (const page of this.pages.values()) page.fresh = page.asked = false;
    this.list.redraw();
    return this.settle();
  }

  setCount() {
    this.element.setAttribute("aria-rowcount", String(this.holding.total + 1));
    this.list.setCount(this.holding.total);
  }

  /** Keeps the lines in their places, and the selection to what is still held, after packets have gone. */
  settle() {
    this.settling ??= this.settleNow().finally(() => { this.settling = null; });
    return this.settling;
  }

  async settleNow() {
    const { generation, holding } = this;
    const { top } = this.list;
    const anchor = this.packetAt(Math.floor(top));
    const numbers = [...this.selected.keys()];
    const [above, still] = await Promise.all([
      anchor && top >= 1 ? this.connection.ask("held_rows", { start: 0, count: 0, anchor: anchor.number }) : null,
      numbers.length ? this.connection.ask("still_held", { numbers }) : null,
    ]);
    if (generation !== this.generation) return;
    // What was moved or selected meanwhile stays in view.
    if (typeof above?.anchor === "number" && this.list.top === top) this.list.top = above.anchor + (top % 1);
    if (still?.numbers && still.numbers.length < numbers.length) {
      const gone = new Set(numbers);
      for (const number of still.numbers) gone.delete(number);
      this.select([...this.selected.values()].filter((it) => !gone.has(it.number)));
    }
    if (holding.changes !== this.holding.changes) await this.settleNow();
  }

  /** Returns the held packets from one number to another. @param {number} first @param {number} last */
  async span(first, last) {
    /** @type {HeldPacket[]} */
    const packets = [];
    const { anchor } = await this.connection.ask("held_rows", { start: 0, count: 0, anchor: first });
    let start = anchor ?? 0;
    for (;;) {
      const answer = await this.connection.ask("held_rows", { start, count: MOST });
      const found = answer.packets ?? [];
      packets.push(...found.filter((it) => it.number >= first && it.number <= last));
      start += found.length;
      if (found.length < MOST || (found.at(-1)?.number ?? last) >= last) return packets;
    }
  }

  /** @param {number} index @returns {HeldPacket | undefined} */
  packetAt(index) {
    return this.pages.get(Math.floor(index / PAGE))?.packets[index % PAGE];
  }

  /** @param {number} number of a page */
  fetch(number) {
    const page = this.pages.get(number) ?? { packets: [], fresh: false, asked: false };
    this.pages.set(number, page);
    if (page.fresh || page.asked) return;
    page.asked = true;
    unlessLost(this.fetchPage(number, page));
    const [oldest] = this.pages.keys();
    if (this.pages.size > 20 && oldest !== undefined && oldest !== number) this.pages.delete(oldest);
  }

  /** @param {number} number @param {Page} page */
  async fetchPage(number, page) {
    const { generation, holding } = this;
    const answer = await this.connection.ask("held_rows", { start: number * PAGE, count: PAGE });
    page.asked = false;
    if (generation !== this.generation) return;
    page.packets = answer.packets ?? [];
    page.fresh = holding === this.holding || (holding.changes === this.holding.changes && page.packets.length === PAGE);
    this.list.redraw();
  }

  /** @param {number} index @param {HTMLElement} line */
  line(index, line) {
    this.fetch(Math.floor(index / PAGE));
    const held = this.packetAt(index);
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(index + 2));
    line.id = `held-${index}`;
    if (!held) {
      line.className = "line";
      this.shown.delete(line);
      patch(line, make("span", { role: "gridcell", class: "h-fields" }, "…"));
      return;
    }
    const chosen = this.selected.has(held.number);
    line.className = `line ${held.dir}${chosen ? " selected" : ""}`;
    line.setAttribute("aria-selected", String(chosen));
    this.shown.set(line, held);
    const arrow = held.dir === "serverbound" ? "→" : "←";
    const order = held.in_order ? ` (others wait: ${held.in_order})` : "";
    const texts = [String(held.number), `#${held.session} ${arrow} ${held.packet ?? "(unknown)"}`, held.summary + order, age(held), held.decided ?? ""];
    patch(line, ...texts.map((text, at) => make("span", { class: `h-${COLUMNS[at]?.[0]}`, role: "gridcell" }, text)));
    if (held.number === this.at) this.element.setAttribute("aria-activedescendant", line.id);
  }

  /** @param {HeldPacket[]} packets */
  select(packets) {
    const before = this.selected;
    this.selected = new Map(packets.map((it) => [it.number, it]));
    this.list.redraw();
    if (before.size || packets.length) this.onselect();
  }

  /** Selects the packet of a line, if it is not selected, for its menu. Returns its title. @param {HTMLElement} line */
  selectLine(line) {
    const held = this.shown.get(line);
    if (!held) return null;
    if (!this.selected.has(held.number)) unlessLost(this.choose(held, false, false));
    return this.title;
  }

  /** Names the selected packets; `null` if there are none. */
  get title() {
    const [one] = this.selected.values();
    return this.selected.size > 1 ? plural(this.selected.size, "held packet") : one ? title(one) : null;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const line = event.target instanceof Element ? event.target.closest(".line") : null;
    if (!(line instanceof HTMLElement) || line === this.head) return;
    const [span, besides] = [event.shiftKey, event.ctrlKey || event.metaKey];
    const held = this.shown.get(line);
    // If it is not shown yet, its packet is still on its way.
    unlessLost(held ? this.choose(held, span, besides) : this.go(Number(line.id.slice("held-".length)), span, besides));
  }

  /** Selects the packet that is held at an index. @param {number} index @param {boolean} span @param {boolean} besides */
  async go(index, span, besides) {
    const { packets } = await this.connection.ask("held_rows", { start: index, count: 1 });
    if (packets?.[0]) await this.choose(packets[0], span, besides);
  }

  /** Selects a packet: alone, with those up to it, or besides the others. @param {HeldPacket} held @param {boolean} span @param {boolean} besides */
  async choose(held, span, besides) {
    this.at = held.number;
    if (span && this.from) {
      const [first, last] = [Math.min(this.from, held.number), Math.max(this.from, held.number)];
      this.select((await this.span(first, last)).filter((it) => !it.decided));
      return;
    }
    this.from = held.number;
    const others = besides ? [...this.selected.values()] : [];
    if (besides && this.selected.has(held.number)) this.select(others.filter((it) => it.number !== held.number));
    else this.select([...others, held]);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "a") {
      event.preventDefault();
      unlessLost(this.selectAll());
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const screen = Math.floor(this.list.visible);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (event.key === "Enter") this.onopen();
    else if (step !== undefined) unlessLost(this.step(step, event.shiftKey));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  async selectAll() {
    this.select((await this.span(0, Infinity)).filter((it) => !it.decided));
  }

  /** Selects the packet that is `by` lines away. @param {number} by @param {boolean} span */
  async step(by, span) {
    const { total } = this.holding;
    if (!total) return;
    const { anchor } = await this.connection.ask("held_rows", { start: 0, count: 0, anchor: this.at });
    const from = this.at ? anchor ?? 0 : by > 0 ? -1 : 0;
    const index = Math.min(Math.max(0, from + by), total - 1);
    this.list.reveal(index);
    await this.go(index, span, false);
  }

  /** The packets on which a command acts: the selected ones, or the one that is held longest. @returns {Promise<HeldPacket[]>} */
  async targets() {
    if (this.selected.size) return [...this.selected.values()];
    for (let start = 0; ; start += PAGE) {
      const { packets = [] } = await this.connection.ask("held_rows", { start, count: PAGE });
      const first = packets.find((it) => !it.decided);
      if (first || packets.length < PAGE) return first ? [first] : [];
    }
  }
}

/** @param {HeldPacket} held */
export function title({ number, packet, session }) {
  return `packet ${number}, ${packet ?? "(unknown)"}, of session #${session}`;
}

/** @param {HeldPacket} held */
function age({ since }) {
  return `${Math.max(0, Math.round((Date.now() - since) / 1000))} s`;
}
