// Packets and bytes per second, by direction, of all packets or of one name. A span narrows the list.

import { make, patch, size } from "./dom.js";

/** @typedef {Record<string, any>} Json */

export class TimelinePanel {
  /** @param {HTMLElement} element @param {(times: { from: number, to: number } | null) => void} onSpan */
  constructor(element, onSpan) {
    this.onSpan = onSpan;
    /** @type {Json | null} */
    this.timeline = null;
    this.canvas = make("canvas", { id: "chart", role: "img", "aria-label": "Traffic over time" });
    this.what = make("select", { "aria-label": "Quantity", onchange: () => this.draw() },
      make("option", { value: "packets" }, "packets per second"), make("option", { value: "wire" }, "bytes per second"));
    this.name = make("select", { id: "chart-packet", "aria-label": "Packet", onchange: () => this.draw() }, make("option", { value: "" }, "all packets"));
    this.from = make("input", { type: "number", min: "0", step: "any", "aria-label": "From second" });
    this.to = make("input", { type: "number", min: "0", step: "any", "aria-label": "To second" });
    const apply = make("button", { type: "button", onclick: () => this.apply() }, "Show only this span");
    const all = make("button", { type: "button", onclick: () => this.reset() }, "Show all");
    const legend = make("p", { class: "legend" }, make("span", { class: "in" }, "clientbound"), "  ", make("span", { class: "out" }, "serverbound"));
    this.caption = make("p", { role: "status" });
    element.replaceChildren(this.what, " ", this.name, legend, this.canvas,
      make("p", {}, "From ", this.from, " to ", this.to, " s after the first packet ", apply, " ", all), this.caption);
    /** @type {number | null} */
    this.dragged = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.dragged = this.second(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => this.drag(event));
    this.canvas.addEventListener("pointerup", (event) => {
      this.drag(event);
      this.dragged = null;
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  /** @param {Json} timeline */
  show(timeline) {
    this.timeline = timeline;
    const chosen = this.name.value;
    const names = [...new Set((timeline.names ?? []).map((/** @type {Json} */ it) => it.name))];
    if (chosen && !names.includes(chosen)) names.push(chosen);
    patch(this.name, make("option", { value: "" }, "all packets"), ...names.map((name) => make("option", { value: name }, name || "(unknown)")));
    this.name.value = chosen;
    this.draw();
  }

  /** The number of bins. */
  get bins() {
    return Math.max(1, ...(this.timeline?.directions ?? []).map((/** @type {Json} */ it) => it.packets.length));
  }

  /** The second of a place on the chart. @param {PointerEvent} event */
  second(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = Math.min(Math.max(0, (event.clientX - box.left - LEFT) / (box.width - LEFT)), 1);
    return part * this.bins * (this.timeline?.step ?? 1);
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (this.dragged === null) return;
    const at = this.second(event);
    this.from.value = Math.min(this.dragged, at).toFixed(3);
    this.to.value = Math.max(this.dragged, at).toFixed(3);
    this.draw();
  }

  apply() {
    if (!this.timeline?.begin) return;
    const begin = Date.parse(this.timeline.begin);
    const from = Number(this.from.value || 0);
    const to = this.to.value ? Number(this.to.value) : this.bins * this.timeline.step;
    this.onSpan({ from: begin + from * 1000, to: begin + to * 1000 });
  }

  reset() {
    this.from.value = this.to.value = "";
    this.onSpan(null);
    this.draw();
  }

  draw() {
    const canvas = this.canvas;
    const context = canvas.getContext("2d");
    if (!context || !canvas.clientWidth) return;
    const scale = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    context.scale(scale, scale);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const style = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    context.clearRect(0, 0, width, height);
    const timeline = this.timeline;
    if (!timeline) return;
    const what = this.what.value;
    const step = timeline.step || 1;
    const shown = this.name.value ? timeline.names.filter((/** @type {Json} */ it) => it.name === this.name.value) : timeline.directions;
    const series = shown.map((/** @type {Json} */ it) => ({
      color: color(it.dir === "clientbound" ? "--in" : "--out"), place: it.dir === "clientbound" ? 0 : 1, values: it[what],
    }));
    const highest = Math.max(0, ...series.flatMap((/** @type {Json} */ it) => it.values));
    const rate = (/** @type {number} */ perSecond) => (what === "packets" ? perSecond.toLocaleString("en", { maximumFractionDigits: 1 }) : size(Math.round(perSecond)));
    const wanted = Math.max(highest, 1) / step;
    // Round numbers of KiB or MiB, too.
    const unitSize = what === "packets" ? 1 : 1024 ** Math.floor(Math.log2(wanted) / 10);
    const top = ceiling(wanted / unitSize) * unitSize;
    const most = top * step;
    const bin = (width - LEFT) / this.bins;
    const tallest = height - BELOW - ABOVE;
    // The axes: packets or bytes per second, and seconds.
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = color("--soft");
    context.strokeStyle = color("--line");
    context.textBaseline = "middle";
    context.textAlign = "right";
    for (const part of [0, 0.5, 1]) {
      const y = Math.round(ABOVE + tallest * (1 - part)) + 0.5;
      context.beginPath();
      context.moveTo(LEFT, y);
      context.lineTo(width, y);
      context.stroke();
      context.fillText(`${rate(top * part)}${part === 1 ? "/s" : ""}`, LEFT - 6, y);
    }
    const seconds = this.bins * step;
    const tick = ceiling(seconds / Math.max(1, Math.floor((width - LEFT) / 120)));
    for (let at = 0; at <= seconds; at += tick) {
      const x = LEFT + (at / step) * bin;
      context.textAlign = at === 0 ? "left" : x > width - 40 ? "right" : "center";
      context.fillText(`${at.toLocaleString("en", { maximumFractionDigits: 2 })} s`, x, height - BELOW / 2);
    }
    const [from, to] = [Number(this.from.value), Number(this.to.value)];
    if (to > from) {
      context.fillStyle = color("--select");
      context.fillRect(LEFT + (from / step) * bin, ABOVE, ((to - from) / step) * bin, tallest);
    }
    series.forEach((/** @type {Json} */ one) => {
      context.fillStyle = one.color;
      one.values.forEach((/** @type {number} */ value, /** @type {number} */ index) => {
        const tall = (value / most) * tallest;
        context.fillRect(LEFT + index * bin + (one.place * bin) / 2, ABOVE + tallest - tall, Math.max(1, bin / 2 - 0.5), tall);
      });
    });
    const peak = highest / step;
    const unit = what === "packets" ? `${peak.toFixed(1)} packets` : size(Math.round(peak));
    const of = this.name.value ? `${this.name.value}: ` : "";
    this.caption.textContent = highest ? `${of}Highest: ${unit} per second; ${this.bins} steps of ${step} s.` : "No packets yet.";
  }
}

/** Returns the next number of the form 1, 2 or 5 times a power of ten. @param {number} value */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((it) => it * power >= value * 0.999999) ?? 10) * power;
}

/** Room for the axes, in pixels. */
const LEFT = 76;
const ABOVE = 10;
const BELOW = 22;
