// One packet: facts, fields and bytes, linked in both directions.

import { clock, make, patch, size, styled, zone } from "./dom.js";
import { has, marked, places } from "./sought.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./protocol.d.ts").PacketDetails} Packet */
/** @typedef {import("./protocol.d.ts").LegInfo} LegInfo */
/** A line of the tree: a field, or the source of one that is a text component. @typedef {{ field: number, depth: number, source: boolean, parent: boolean }} Node */

const PER_LINE = 16;

export class Details {
  /** @param {HTMLElement} facts @param {HTMLElement} tree @param {HTMLElement} hex @param {HTMLElement} [tools] gets what finds and folds fields */
  constructor(facts, tree, hex, tools = make("div", {})) {
    this.facts = facts;
    /** What is found in the fields of the packet. */
    this.sought = make("input", { id: "field-search", type: "search", spellcheck: "false", autocomplete: "off", placeholder: "field or value", "aria-label": "Find in the fields" });
    this.soughtCount = make("span", { id: "field-count" });
    /** Shows another packet. */
    this.onrow = (/** @type {number} */ _row) => {};
    /** What is searched in all packets. */
    this.searched = "";
    /** The bytes that this search finds. @type {Set<number>} */
    this.searchedBytes = new Set();
    const button = (/** @type {string} */ name, /** @type {() => void} */ act) => make("button", { type: "button", onclick: act }, name);
    tools.append(this.sought, button("↑", () => this.find(-1)), button("↓", () => this.find(1)), this.soughtCount,
      button("Expand all", () => this.foldAll(false)), button("Collapse all", () => this.foldAll(true)));
    for (const [at, name] of [[1, "Previous field with this"], [2, "Next field with this"]]) tools.children[Number(at)]?.setAttribute("aria-label", String(name));
    this.sought.addEventListener("input", () => this.find(0));
    this.sought.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      this.find(event.shiftKey ? -1 : 1);
    });
    /** @type {Packet | null} */
    this.packet = null;
    this.bytes = new Uint8Array();
    /** The selected field, and whether its source is. */
    this.field = -1;
    this.source = false;
    /** The lines of the tree, open or not. @type {Node[]} */
    this.nodes = [];
    /** The lines whose parents are open, as places in `nodes`. @type {number[]} */
    this.open = [];
    /** The nodes whose children are not shown. @type {Set<Node>} */
    this.closed = new Set();
    this.tree = new VirtualList(tree, (index, line) => this.fieldLine(index, line));
    this.hex = new VirtualList(hex, (index, line) => this.hexLine(index, line));
    facts.addEventListener("click", (event) => {
      const row = event.target instanceof HTMLElement ? event.target.dataset.row : undefined;
      if (row !== undefined) this.onrow(Number(row));
    });
    tree.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line") : null;
      const node = line instanceof HTMLElement ? this.nodes[this.open[Number(line.dataset.line)] ?? -1] : undefined;
      if (!node) return;
      if (event.target instanceof Element && event.target.closest(".fold")) this.fold(node, !this.closed.has(node));
      this.selectField(node.field, node.source);
    });
    tree.addEventListener("keydown", (event) => this.key(event));
    hex.addEventListener("click", (event) => {
      const byte = event.target instanceof HTMLElement ? event.target.dataset.at : undefined;
      if (byte !== undefined) this.selectByte(Number(byte));
    });
  }

  /** Shows a packet. The one that is shown already keeps its field, its folds and what is in view. @param {Packet} packet */
  show(packet) {
    const same = isSame(packet, this.packet);
    this.packet = packet;
    this.facts.replaceChildren(...facts(packet));
    if (!same) {
      this.field = -1;
      this.source = false;
      this.bytes = Uint8Array.from(atob(packet.bytes), (char) => char.charCodeAt(0));
      this.searchedBytes = places(this.bytes, this.searched);
      this.tree.element.removeAttribute("aria-activedescendant");
      this.nodes = nodesOf(packet);
      this.closed = new Set(this.nodes.filter((it) => it.parent && packet.fields[it.field]?.text));
    }
    this.drawFound();
    this.arrange();
    this.hex.setCount(Math.ceil(this.bytes.length / PER_LINE));
    if (same) return;
    this.tree.moveTo(0);
    this.hex.moveTo(0);
  }

  clear() {
    this.packet = null;
    this.nodes = this.open = [];
    this.facts.replaceChildren("Select a packet to see its fields and bytes.");
    this.tree.setCount(0);
    this.hex.setCount(0);
  }

  /** @param {string} message */
  fail(message) {
    this.clear();
    this.facts.replaceChildren(make("span", { class: "error" }, message));
  }

  /** Finds out which lines are shown. */
  arrange() {
    this.open = [];
    let hidden = Infinity;
    for (const [place, node] of this.nodes.entries()) {
      if (node.depth > hidden) continue;
      hidden = this.closed.has(node) ? node.depth : Infinity;
      this.open.push(place);
    }
    this.tree.setCount(this.open.length);
    this.tree.redraw();
  }

  /** Closes or opens a line of the tree. @param {Node} node @param {boolean} close */
  fold(node, close) {
    if (!node.parent) return;
    if (close) this.closed.add(node);
    else this.closed.delete(node);
    this.arrange();
  }

  /** Opens all lines of the tree, or closes those around which there is none. @param {boolean} close */
  foldAll(close) {
    this.closed = new Set(close ? this.nodes.filter((it) => it.parent) : []);
    this.arrange();
    this.tree.moveTo(0);
  }

  /** Marks what is searched in all packets. @param {string} text */
  setSearched(text) {
    this.searched = text;
    this.searchedBytes = places(this.bytes, text);
    this.tree.redraw();
    this.hex.redraw();
  }

  /** The lines of the tree that have what is found in the fields, as places in `nodes`. */
  found() {
    const { value } = this.sought;
    if (!value) return [];
    return this.nodes.flatMap(({ field: index, source }, place) => {
      const field = this.packet?.fields[index];
      const texts = field && !source ? [field.name, field.value, field.meaning ?? "", ...(field.text ?? []).map((it) => it.text)] : [];
      return texts.some((it) => has(it, value)) ? [place] : [];
    });
  }

  /** The place of the selected line in `nodes`; negative if none is. */
  get place() {
    return this.nodes.findIndex((it) => it.field === this.field && it.source === this.source);
  }

  /** Selects the next field that has what is sought, the previous one, or the selected one if it has it. @param {-1 | 0 | 1} step */
  find(step) {
    const places = this.found();
    const at = this.place;
    const next = step < 0 ? places.filter((it) => it < at).at(-1) ?? places.at(-1) : places.find((it) => (step ? it > at : it >= at)) ?? places[0];
    const node = this.nodes[next ?? -1];
    if (node) this.selectField(node.field, node.source);
    this.drawFound(places);
    this.tree.redraw();
  }

  drawFound(all = this.found()) {
    const at = all.indexOf(this.place);
    this.soughtCount.textContent = this.sought.value ? all.length ? `${at < 0 ? "" : `${at + 1} of `}${all.length.toLocaleString("en")}` : "none" : "";
  }

  /** @param {number} index @param {HTMLElement} line */
  fieldLine(index, line) {
    const place = this.open[index] ?? -1;
    const node = this.nodes[place];
    const field = this.packet?.fields[node?.field ?? -1];
    if (!node || !field) return;
    const chosen = node.field === this.field && node.source === this.source;
    line.id = `field-${place}`;
    line.dataset.line = String(index);
    line.setAttribute("role", "treeitem");
    line.setAttribute("aria-level", String(node.depth + 1));
    line.setAttribute("aria-selected", String(chosen));
    if (node.parent) line.setAttribute("aria-expanded", String(!this.closed.has(node)));
    else line.removeAttribute("aria-expanded");
    line.classList.toggle("selected", chosen);
    const mark = make("span", { class: node.parent ? "fold" : undefined, "aria-hidden": "true" }, node.parent ? (this.closed.has(node) ? "▸ " : "▾ ") : "  ");
    const meaning = field.meaning ? ` (${field.meaning})` : "";
    // Contents that were decoded have no name.
    const name = node.source ? "source" : field.name;
    const terms = [this.sought.value, this.searched];
    const values = field.text && !node.source ? [styled(field.text)] : marked(field.value + (node.source ? "" : meaning), terms);
    patch(line, "  ".repeat(node.depth), mark, ...(name ? [make("b", {}, ...marked(name, [this.sought.value])), " "] : []), ...values);
    if (chosen) this.tree.element.setAttribute("aria-activedescendant", line.id);
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
      const at = { "data-at": start + place, class: on(start + place) ? "leaf" : this.searchedBytes.has(start + place) ? "sought" : undefined };
      hex.push(make("i", at, byte.toString(16).padStart(2, "0")), " ");
      text.push(make("i", at, byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "."));
    }
    const offset = make("span", { class: "offset" }, start.toString(16).padStart(4, "0"), "  ");
    patch(line, offset, ...hex, " ", ...text);
  }

  /** Selects the field of a line of the tree. @param {number} index */
  selectLine(index) {
    const node = this.nodes[this.open[index] ?? -1];
    if (node) this.selectField(node.field, node.source);
  }

  /** @param {number} index @param {boolean} [source] */
  selectField(index, source = false) {
    const field = this.packet?.fields[index];
    if (!field) return;
    this.field = index;
    this.source = source;
    this.tree.reveal(this.reach(index, source));
    this.tree.redraw();
    if (field.end > field.start && field.start < this.bytes.length) {
      const first = Math.floor(field.start / PER_LINE);
      const last = Math.floor((Math.min(field.end, this.bytes.length) - 1) / PER_LINE);
      if (last - first < this.hex.visible) this.hex.reveal(last);
      this.hex.reveal(first);
    }
    this.hex.redraw();
  }

  /** Opens what a field is in. Returns the number of its line. @param {number} index @param {boolean} source */
  reach(index, source) {
    const place = this.nodes.findIndex((it) => it.field === index && it.source === source);
    let { depth } = this.nodes[place] ?? { depth: 0 };
    let opened = false;
    for (let at = place - 1; at >= 0 && depth > 0; at--) {
      const node = this.nodes[at];
      if (!node || node.depth >= depth) continue;
      depth = node.depth;
      opened = this.closed.delete(node) || opened;
    }
    if (opened) this.arrange();
    return this.open.indexOf(place);
  }

  /** Selects the innermost field that a byte belongs to. @param {number} at */
  selectByte(at) {
    const fields = this.packet?.fields ?? [];
    let best = -1;
    for (let index = 0; index < fields.length; index++) {
      const field = fields[index];
      if (at < field.start || at >= field.end) continue;
      if (field.depth > (fields[best]?.depth ?? -1)) best = index;
    }
    if (best >= 0) this.selectField(best);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
    if (!this.packet || event.ctrlKey || event.metaKey || event.altKey) return;
    const { place } = this;
    const line = this.open.indexOf(place);
    const node = this.nodes[place];
    const step = steps[event.key];
    if (step) {
      const next = this.nodes[this.open[Math.min(Math.max(0, line + step), this.open.length - 1)] ?? -1];
      if (next) this.selectField(next.field, next.source);
    } else if (event.key === "ArrowRight" && node?.parent) {
      this.fold(node, false);
    } else if (event.key === "ArrowLeft" && node?.parent && !this.closed.has(node)) {
      this.fold(node, true);
    } else if (event.key === "ArrowLeft" && node) {
      const parent = this.nodes.slice(0, place).reverse().find((it) => it.depth < node.depth);
      if (parent) this.selectField(parent.field, parent.source);
    } else if ((event.key === "Enter" || event.key === " ") && node?.parent) {
      this.fold(node, !this.closed.has(node));
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Returns whether two answers are of the same packet. @param {Packet} one @param {Packet | null | undefined} other */
export function isSame(one, other) {
  return one.session === other?.session && one.seq === other.seq && one.bytes === other.bytes;
}

/** Returns the lines of a packet's tree: its fields, and below a text component its source. @param {Packet} packet @returns {Node[]} */
function nodesOf({ fields }) {
  return fields.flatMap(({ depth, text }, field) => {
    const parent = Boolean(text) || (fields[field + 1]?.depth ?? 0) > depth;
    const node = { field, depth, source: false, parent };
    return text ? [node, { field, depth: depth + 1, source: true, parent: false }] : [node];
  });
}

/** Returns a time in the zone of the list, with all its digits. @param {string} at as RFC 3339 */
function localTime(at) {
  const date = new Date(at);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const digits = /\.\d+/.exec(at)?.[0] ?? "";
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${clock(date.getTime()).replace(/\.\d+$/, digits)} ${zone(date.getTime())}`;
}

/** @param {Packet} packet */
export function facts(packet) {
  const id = packet.id === null ? "" : ` 0x${packet.id.toString(16).padStart(2, "0")}`;
  const guess = packet.guess ? ", a guess" : "";
  /** @type {[string, string][]} */
  const pairs = [
    ["Packet", `${packet.name ?? "(unknown)"}${id}, ${packet.state}, ${packet.dir}`],
    ["Time", `${localTime(packet.at)} (${packet.t.toFixed(6)} s)`],
    ["Session", `#${packet.session}${packet.player ? ` ${packet.player}` : ""}, no. ${packet.seq}, ${packet.version}${guess}`],
    ["Size", `${packet.size.toLocaleString("en")} B, ${packet.wire.toLocaleString("en")} B on the wire`],
    ["Verdict", `${packet.verdict}, from the ${packet.origin}${packet.of ? `, replaces no. ${packet.of}` : ""}`],
  ];
  if (packet.legs) {
    const leg = (/** @type {LegInfo} */ it) =>
      `${it.encrypted ? "encrypted" : "not encrypted"}, ${it.threshold === null ? "not compressed" : `compressed from ${it.threshold} B`}`;
    const [client, server] = [leg(packet.legs.client), leg(packet.legs.server)];
    pairs.push(["Legs", client === server ? `both ${client}` : `client ${client}; server ${server}`]);
  }
  if (packet.comment) pairs.push(["Comment", packet.comment]);
  for (const it of packet.diagnostics) pairs.push([it.name, it.description]);
  if (packet.left_out) pairs.push(["Bytes", `the first ${size(256 << 10)} are shown, ${size(packet.left_out)} are not`]);
  const fact = (/** @type {string} */ name, /** @type {string} */ value, /** @type {string} */ kind, /** @type {(HTMLElement | string)[]} */ ...more) =>
    make("div", { class: `fact ${kind}` }, make("dt", {}, name), " ", make("dd", {}, value, ...more));
  const lines = pairs.map(([name, value]) => fact(name, value, ""));
  const { round_trip: other } = packet;
  if (other) lines.push(fact("Round trip", other.text, "", " ", make("button", { type: "button", title: "Go to that packet (l)", "data-row": other.row }, "Go there")));
  if (packet.error) lines.push(fact("Error", `! ${packet.error.reason} (at byte ${packet.error.at})`, "error"));
  return [make("dl", {}, ...lines)];
}
