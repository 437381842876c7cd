// One packet: facts, fields and bytes, linked in both directions.

import { VirtualList, make, patch, size, styled } from "./dom.js";

/** @typedef {import("./protocol.d.ts").PacketDetails} Packet */
/** @typedef {import("./protocol.d.ts").LegInfo} LegInfo */

const PER_LINE = 16;

export class Details {
  /** @param {HTMLElement} facts @param {HTMLElement} tree @param {HTMLElement} hex */
  constructor(facts, tree, hex) {
    this.facts = facts;
    /** @type {Packet | null} */
    this.packet = null;
    this.bytes = new Uint8Array();
    /** The selected field. */
    this.field = -1;
    this.tree = new VirtualList(tree, (index, line) => this.fieldLine(index, line));
    this.hex = new VirtualList(hex, (index, line) => this.hexLine(index, line));
    tree.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line") : null;
      if (line instanceof HTMLElement) this.selectField(Number(line.dataset.index));
    });
    tree.addEventListener("keydown", (event) => this.key(event));
    hex.addEventListener("click", (event) => {
      const byte = event.target instanceof HTMLElement ? event.target.dataset.at : undefined;
      if (byte !== undefined) this.selectByte(Number(byte));
    });
  }

  /** @param {Packet} packet */
  show(packet) {
    this.packet = packet;
    this.field = -1;
    this.bytes = Uint8Array.from(atob(packet.bytes), (char) => char.charCodeAt(0));
    this.facts.replaceChildren(...facts(packet));
    this.tree.element.removeAttribute("aria-activedescendant");
    this.tree.setCount(packet.fields.length);
    this.tree.moveTo(0);
    this.hex.setCount(Math.ceil(this.bytes.length / PER_LINE));
    this.hex.moveTo(0);
  }

  clear() {
    this.packet = null;
    this.facts.replaceChildren("Select a packet to see its fields and bytes.");
    this.tree.setCount(0);
    this.hex.setCount(0);
  }

  /** @param {string} message */
  fail(message) {
    this.clear();
    this.facts.replaceChildren(make("span", { class: "error" }, message));
  }

  /** @param {number} index @param {HTMLElement} line */
  fieldLine(index, line) {
    const field = this.packet?.fields[index];
    if (!field) return;
    line.id = `field-${index}`;
    line.dataset.index = String(index);
    line.setAttribute("role", "treeitem");
    line.setAttribute("aria-level", String(field.depth + 1));
    line.setAttribute("aria-selected", String(index === this.field));
    line.classList.toggle("selected", index === this.field);
    const parts = ["  ".repeat(field.depth), make("b", {}, field.name), " "];
    if (field.text) parts.push(styled(field.text), "  ");
    const meaning = field.meaning ? ` (${field.meaning})` : "";
    patch(line, ...parts, field.value + meaning);
    if (index === this.field) this.tree.element.setAttribute("aria-activedescendant", line.id);
  }

  /** @param {number} index @param {HTMLElement} line */
  hexLine(index, line) {
    const start = index * PER_LINE;
    const bytes = this.bytes.subarray(start, start + PER_LINE);
    const field = this.packet?.fields[this.field];
    const on = (/** @type {number} */ at) => field && at >= field.start && at < field.end;
    const hex = [];
    const text = [];
    for (let place = 0; place < PER_LINE; place++) {
      const byte = bytes[place];
      if (place === 8) hex.push(" ");
      if (byte === undefined) {
        hex.push("   ");
        continue;
      }
      const at = { "data-at": start + place, class: on(start + place) ? "leaf" : undefined };
      hex.push(make("i", at, byte.toString(16).padStart(2, "0")), " ");
      text.push(make("i", at, byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."));
    }
    const offset = make("span", { class: "offset" }, start.toString(16).padStart(4, "0"), "  ");
    patch(line, offset, ...hex, " ", ...text);
  }

  /** @param {number} index */
  selectField(index) {
    const field = this.packet?.fields[index];
    if (!field) return;
    this.field = index;
    this.tree.reveal(index);
    this.tree.redraw();
    if (field.end > field.start && field.start < this.bytes.length) {
      const first = Math.floor(field.start / PER_LINE);
      const last = Math.floor((Math.min(field.end, this.bytes.length) - 1) / PER_LINE);
      if (last - first < this.hex.visible) this.hex.reveal(last);
      this.hex.reveal(first);
    }
    this.hex.redraw();
  }

  /** Selects the innermost field that a byte belongs to. @param {number} at */
  selectByte(at) {
    const fields = this.packet?.fields ?? [];
    let best = -1;
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index];
      if (at < field.start || at >= field.end) continue;
      const known = fields[best];
      if (!known || field.end - field.start < known.end - known.start) best = index;
    }
    if (best >= 0) this.selectField(best);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 10, PageUp: -10 };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (!step || !this.packet || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const last = this.packet.fields.length - 1;
    this.selectField(Math.min(Math.max(0, this.field + step), last));
  }
}

/** @param {Packet} packet */
export function facts(packet) {
  const id = packet.id === null ? "" : ` 0x${packet.id.toString(16).padStart(2, "0")}`;
  const guess = packet.guess ? ", a guess" : "";
  /** @type {[string, string][]} */
  const pairs = [
    ["Packet", `${packet.name ?? "(unknown)"}${id}, ${packet.state}, ${packet.dir}`],
    ["Time", `${packet.at} (${packet.t.toFixed(6)} s)`],
    ["Session", `#${packet.session}${packet.player ? ` ${packet.player}` : ""}, no. ${packet.seq}, ${packet.version}${guess}`],
    ["Size", `${packet.size} B, ${packet.wire} B on the wire`],
    ["Verdict", `${packet.verdict}, from the ${packet.origin}${packet.of ? `, replaces no. ${packet.of}` : ""}`],
  ];
  if (packet.legs) {
    const leg = (/** @type {LegInfo} */ it) =>
      `${it.encrypted ? "encrypted" : "not encrypted"}, ${it.threshold === null ? "not compressed" : `compressed from ${it.threshold} B`}`;
    pairs.push(["Legs", `client ${leg(packet.legs.client)}; server ${leg(packet.legs.server)}`]);
  }
  if (packet.comment) pairs.push(["Comment", packet.comment]);
  for (const it of packet.diagnostics) pairs.push([it.name, it.description]);
  if (packet.left_out) pairs.push(["Bytes", `the first ${size(256 << 10)} are shown, ${size(packet.left_out)} are not`]);
  const lines = pairs.flatMap(([name, value]) => [make("b", {}, name), ` ${value}  `]);
  if (packet.error) {
    lines.push(make("span", { class: "error" }, `! ${packet.error.reason} (at byte ${packet.error.at})`));
  }
  return lines;
}
