// A rewritten packet: what came, and what was sent in its place, side by side.

import { isSame } from "./details.js";
import { make, patch } from "./dom.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./protocol.d.ts").PacketDetails} Packet */
/** @typedef {import("./protocol.d.ts").ComparedValues} ComparedValues */

const PER_LINE = 8;

export class PairView {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    /** @type {ComparedValues[]} */
    this.fields = [];
    /** @type {Packet[]} */
    this.packets = [];
    /** Of both packets, each with the part that is different. @type {{ bytes: Uint8Array, from: number, to: number }[]} */
    this.sides = [];
    this.field = -1;
    /** Called when a field is selected. @type {(path: string) => void} */
    this.onselect = () => {};
    const head = (/** @type {string[]} */ titles) => make("div", { class: "line head", role: "row" }, ...titles.map((title, at) => make("span", { class: `p-${at}`, role: "columnheader" }, title)));
    this.grid = make("div", { id: "pair-fields", role: "grid", "aria-label": "Fields of both packets", tabindex: 0 });
    this.bytes = make("div", { id: "pair-bytes", role: "group", "aria-label": "Bytes of both packets", tabindex: 0 });
    element.replaceChildren(this.grid, this.bytes);
    this.tree = new VirtualList(this.grid, (index, line) => this.fieldLine(index, line), head(["Field", "Original", "Sent"]));
    this.hex = new VirtualList(this.bytes, (index, line) => this.hexLine(index, line), make("div", { class: "line head" }, make("span", { class: "p-side" }, "Original"), make("span", { class: "p-side" }, "Sent")));
    this.grid.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line:not(.head)") : null;
      if (line instanceof HTMLElement) this.select(Number(line.dataset.index));
    });
    this.grid.addEventListener("keydown", (event) => {
      /** @type {Record<string, number>} */
      const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 10, PageUp: -10 };
      const step = steps[event.key];
      if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      event.stopPropagation();
      this.select(Math.min(Math.max(0, this.field + step), this.fields.length - 1));
    });
  }

  /** Shows a pair. The one that is shown already keeps its field and what is in view. @param {Packet[]} packets @param {ComparedValues[]} fields @param {[number, number][]} differing */
  show(packets, fields, differing) {
    if (packets.every((packet, side) => isSame(packet, this.packets[side]))) return;
    this.packets = packets;
    this.fields = fields;
    this.field = -1;
    this.sides = this.packets.map((packet, side) => {
      const [from, to] = differing[side] ?? [0, 0];
      return { bytes: bytesOf(packet), from, to };
    });
    this.tree.setCount(fields.length);
    this.tree.moveTo(0);
    this.grid.setAttribute("aria-rowcount", String(fields.length + 1));
    this.hex.setCount(Math.ceil(Math.max(...this.sides.map((side) => side.bytes.length)) / PER_LINE));
    this.hex.moveTo(0);
    const first = fields.findIndex((it) => !it.same);
    if (first >= 0) this.select(first);
  }

  /** Forgets the pair: another packet is shown. */
  clear() {
    this.packets = [];
  }

  /** @param {number} index */
  select(index) {
    const { path } = this.fields[index] ?? {};
    if (path === undefined) return;
    this.field = index;
    this.onselect(path);
    this.tree.reveal(index);
    this.tree.redraw();
    const [range] = this.ranges().filter((it) => it !== null);
    if (range) this.hex.reveal(Math.floor(range.start / PER_LINE));
    this.hex.redraw();
  }

  /** The bytes of the selected field in both packets. */
  ranges() {
    const path = this.fields[this.field]?.path;
    return this.packets.map((packet) => packet.fields.find((it) => it.path === path) ?? null);
  }

  /** @param {number} index @param {HTMLElement} line */
  fieldLine(index, line) {
    const field = this.fields[index];
    if (!field) return;
    line.id = `pair-${index}`;
    line.dataset.index = String(index);
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(index + 2));
    line.setAttribute("aria-selected", String(index === this.field));
    line.className = `line${field.same ? "" : " differs"}${index === this.field ? " selected" : ""}`;
    const texts = [`${"  ".repeat(field.depth)}${field.path.split(".").at(-1)}`, field.a ?? "—", field.b ?? "—"];
    patch(line, make("span", { class: "p-mark", role: "gridcell" }, field.same ? "" : "≠"),
      ...texts.map((text, at) => make("span", { class: `p-${at}`, role: "gridcell" }, text)));
    if (index === this.field) this.grid.setAttribute("aria-activedescendant", line.id);
  }

  /** @param {number} index @param {HTMLElement} line */
  hexLine(index, line) {
    const ranges = this.ranges();
    patch(line, ...this.sides.map(({ bytes, from, to }, side) => {
      const range = ranges[side];
      const cells = [];
      const text = [];
      for (let at = index * PER_LINE; at < (index + 1) * PER_LINE; at++) {
        const byte = bytes[at];
        if (byte === undefined) {
          cells.push("   ");
          continue;
        }
        const classes = [at >= from && at < to ? "differs" : "", range && at >= range.start && at < range.end ? "leaf" : ""].filter(Boolean).join(" ");
        cells.push(make("i", { class: classes || undefined }, byte.toString(16).padStart(2, "0")), " ");
        text.push(make("i", { class: classes || undefined }, byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."));
      }
      return make("span", { class: "p-side" }, make("span", { class: "offset" }, (index * PER_LINE).toString(16).padStart(4, "0")), " ", ...cells, ...text);
    }));
  }
}

/** @param {Packet} packet */
function bytesOf(packet) {
  return Uint8Array.from(atob(packet.bytes), (char) => char.charCodeAt(0));
}
