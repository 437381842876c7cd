// The list of held packets: only what is visible is asked for, and only visible lines exist.

import { unlessLost } from "./connection.js";
import { make, patch, plural } from "./dom.js";
import { Pages } from "./pages.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").HeldPacket} HeldPacket */
/** @typedef {import("./protocol.d.ts").Holding} Holding */
/** Selected packets: the first and last numbers of spans, and the packet if it is a single one. @typedef {{ spans: [number, number][], one: HeldPacket | null }} Targets */

/** Packets that are asked for at a time. */
const PAGE = 100;

const COLUMNS = [["number", "No."], ["packet", "Packet"], ["fields", "Fields"], ["age", "Age"], ["decision", "Decision"]];

export class HeldList {
  /** @param {Connection} connection */
  constructor(connection) {
    this.connection = connection;
    /** @type {Pages<HeldPacket>} */
    this.pages = new Pages(async (start, count) => (await connection.ask("held_rows", { start, count })).packets ?? [], () => this.list.redraw());
    /** @type {Holding} */
    this.holding = { total: 0, changes: 0, last: 0 };
    /** The selected packets: the first and last numbers of spans, in their order. @type {[number, number][]} */
    this.spans = [];
    /** The selected packet, if it is a single one. @type {HeldPacket | null} */
    this.one = null;
    /** How many are selected, as far as mitmcraft has told. */
    this.count = 0;
    /** Ends when the selection is that of the last key or press. @type {Promise<void> | null} */
    this.moving = null;
    /** The packet that the last click or key selected, and the one where a span of packets begins. */
    this.at = 0;
    this.from = 0;
    /** The packet that each line shows. @type {WeakMap<Element, HeldPacket>} */
    this.shown = new WeakMap();
    /** Grows with each press: a selection from before comes too late. */
    this.turn = 0;
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
    if (moved) this.pages.change();
    else this.pages.grow();
    if (moved) await this.settle();
    this.setCount();
  }

  /** Asks again for what is shown: the connection is a new one. */
  renew() {
    this.generation++;
    this.settling = null;
    this.pages.renew();
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
    const anchor = this.pages.at(Math.floor(top));
    const { spans } = this;
    const [above, still] = await Promise.all([
      anchor && top >= 1 ? this.connection.ask("held_rows", { start: 0, count: 0, anchor: anchor.number }) : null,
      spans.length ? this.connection.ask("still_held", { spans }) : null,
    ]);
    if (generation !== this.generation) return;
    // What was moved or selected meanwhile stays in view.
    if (typeof above?.anchor === "number" && this.list.top === top) this.list.top = above.anchor + (top % 1);
    if (spans === this.spans && still) this.setCounted(still.count ?? 0);
    if (holding.changes !== this.holding.changes) await this.settleNow();
  }

  /** @param {number} index @param {HTMLElement} line */
  line(index, line) {
    const held = this.pages.see(index);
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(index + 2));
    line.id = `held-${index}`;
    if (!held) {
      line.className = "line";
      this.shown.delete(line);
      patch(line, make("span", { role: "gridcell", class: "h-fields" }, "…"));
      return;
    }
    const chosen = this.has(held);
    line.className = `line ${held.dir}${chosen ? " selected" : ""}`;
    line.setAttribute("aria-selected", String(chosen));
    this.shown.set(line, held);
    const arrow = held.dir === "serverbound" ? "→" : "←";
    const order = held.in_order ? ` (others wait: ${held.in_order})` : "";
    const texts = [String(held.number), `#${held.session} ${arrow} ${held.packet ?? "(unknown)"}`, held.summary + order, age(held), held.decided ?? ""];
    patch(line, ...texts.map((text, at) => make("span", { class: `h-${COLUMNS[at]?.[0]}`, role: "gridcell" }, text)));
    if (held.number === this.at) this.element.setAttribute("aria-activedescendant", line.id);
  }

  /** Returns `true` if a packet is selected. @param {HeldPacket} held */
  has({ number, decided }) {
    return this.spans.some(([first, last]) => first <= number && number <= last) && (!decided || number === this.one?.number);
  }

  /** Selects spans of packets. @param {[number, number][]} spans @param {HeldPacket | null} [one] the packet, if it is a single one */
  select(spans, one = null) {
    const before = this.spans;
    this.spans = spans;
    const [single] = spans;
    const alone = spans.length === 1 && single && single[0] === single[1] ? single[0] : null;
    this.one = one ?? [...this.pages.known()].find((it) => it.number === alone) ?? null;
    this.count = this.one ? 1 : 0;
    this.list.redraw();
    if (before.length || spans.length) this.onselect();
    if (spans.length && !this.one) unlessLost(this.countSelected());
  }

  /** Asks how many packets are selected: some can be decided on, or gone. */
  async countSelected() {
    const { spans } = this;
    const { count = 0 } = await this.connection.ask("still_held", { spans });
    if (spans === this.spans) this.setCounted(count);
  }

  /** @param {number} count of the selected packets that are still held, and not decided on */
  setCounted(count) {
    if (count === 0) this.select([]);
    else if (count !== this.count) {
      this.count = count;
      this.onselect();
    }
  }

  /** Selects the packet of a line, if it is not selected, for its menu. Returns its title. @param {HTMLElement} line */
  selectLine(line) {
    const held = this.shown.get(line);
    if (!held) return null;
    if (!this.has(held)) this.choose(held, false, false);
    return this.title;
  }

  /** Names the selected packets; `null` if there are none. */
  get title() {
    if (this.one) return title(this.one);
    return this.spans.length ? this.count ? plural(this.count, "held packet") : "held packets" : null;
  }

  /** @param {MouseEvent} event */
  click(event) {
    const line = event.target instanceof Element ? event.target.closest(".line") : null;
    if (!(line instanceof HTMLElement) || line === this.head) return;
    const [span, besides] = [event.shiftKey, event.ctrlKey || event.metaKey];
    const held = this.shown.get(line);
    this.turn++;
    if (held) this.choose(held, span, besides);
    // Its packet is still on its way.
    else this.move(() => this.go(Number(line.id.slice("held-".length)), span, besides));
  }

  /** Changes the selection by what is still on its way: commands wait for it, and later keys go on from it. @param {() => Promise<void>} change */
  move(change) {
    const moving = (this.moving ?? Promise.resolve()).catch(() => {}).then(change).finally(() => {
      if (this.moving === moving) this.moving = null;
    });
    this.moving = moving;
    unlessLost(moving);
  }

  /** Selects the packet that is held at an index. @param {number} index @param {boolean} span @param {boolean} besides */
  async go(index, span, besides) {
    const { turn } = this;
    const window = this.list.seenFrom(this.list.revealing(index));
    if (!this.pages.has(...window)) await this.pages.load(window[0], window[1] - 1);
    const held = this.pages.at(index);
    // A person has selected another one meanwhile.
    if (!held || turn !== this.turn) return;
    this.list.reveal(index);
    this.choose(held, span, besides);
  }

  /** Selects a packet: alone, with those up to it, or besides the others. @param {HeldPacket} held @param {boolean} span @param {boolean} besides */
  choose(held, span, besides) {
    const { number } = held;
    this.at = number;
    if (span && this.from) {
      this.select([[Math.min(this.from, number), Math.max(this.from, number)]]);
      return;
    }
    this.from = number;
    if (!besides || !this.spans.length) this.select([[number, number]], held);
    else if (!this.has(held)) this.select([...this.spans, [number, number]]);
    // The spans without it.
    else this.select(this.spans.flatMap((span) => without(span, number)));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if ((event.ctrlKey || event.metaKey) && event.key === "a") {
      event.preventDefault();
      this.selectAll();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const screen = Math.floor(this.list.visible);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (event.key === "Enter") this.onopen();
    else if (step !== undefined) this.step(step, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Selects everything that is held, as far as mitmcraft has told. */
  selectAll() {
    this.turn++;
    if (this.holding.last) this.select([[1, this.holding.last]]);
  }

  /** Selects the packet that is `by` lines away. @param {number} by @param {boolean} span */
  step(by, span) {
    if (!this.holding.total) return;
    const from = this.at && !this.moving ? this.pages.find((it) => it.number === this.at) : null;
    if (from !== null) {
      const index = this.clamp(from + by);
      const held = this.pages.at(index);
      if (held && this.pages.has(...this.list.seenFrom(this.list.revealing(index)))) {
        this.list.reveal(index);
        this.choose(held, span, false);
        return;
      }
    }
    this.move(async () => {
      const { anchor } = await this.connection.ask("held_rows", { start: 0, count: 0, anchor: this.at });
      await this.go(this.clamp((this.at ? anchor ?? 0 : by > 0 ? -1 : 0) + by), span, false);
    });
  }

  /** @param {number} index */
  clamp(index) {
    return Math.min(Math.max(0, index), this.holding.total - 1);
  }

  /** What a command acts on: the selected packets, or the one that is held longest. Waits for a selection that is on its way. @returns {Promise<Targets>} */
  async targets() {
    if (this.moving) await this.moving;
    const { spans, one } = this;
    if (spans.length) return { spans, one };
    for (let start = 0; ; start += PAGE) {
      const { packets = [] } = await this.connection.ask("held_rows", { start, count: PAGE });
      const first = packets.find((it) => !it.decided);
      if (first) return { spans: [[first.number, first.number]], one: first };
      if (packets.length < PAGE) return { spans: [], one: null };
    }
  }
}

/** Returns what is left of a span without a number. @param {[number, number]} span @param {number} number @returns {[number, number][]} */
function without([first, last], number) {
  if (number < first || number > last) return [[first, last]];
  return [...(first < number ? [/** @type {[number, number]} */ ([first, number - 1])] : []), ...(number < last ? [/** @type {[number, number]} */ ([number + 1, last])] : [])];
}

/** @param {HeldPacket} held */
export function title({ number, packet, session }) {
  return `packet ${number}, ${packet ?? "(unknown)"}, of session #${session}`;
}

/** @param {HeldPacket} held */
function age({ since }) {
  return `${Math.max(0, Math.round((Date.now() - since) / 1000))} s`;
}
