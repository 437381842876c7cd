// Packets over time: the series of several expressions and the round trips, with axes. A span narrows the list.

import { unlessLost } from "./connection.js";
import { clock, make, patch, press, size } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").ChartData} ChartData */
/** @typedef {{ from: number, to: number }} Span milliseconds since 1970 */

/** Most series. */
const MOST = 8;

/** Lines differ by these, too. */
const DASHES = [[], [6, 3], [2, 2], [10, 3, 2, 3], [1, 3], [12, 4], [4, 2, 1, 2], [8, 2]];

/** Pixels around the chart: above, on the right, below, on the left. */
const EDGES = { top: 12, right: 64, bottom: 28, left: 72 };

/** Milliseconds after which the chart of a live list is drawn again. */
const PAUSE = 1000;

export class TimelinePanel {
  /**
   * @param {Connection} connection
   * @param {HTMLElement} element
   * @param {(times: Span | null) => void} onSpan
   * @param {(expressions: string[]) => void} onSeries
   */
  constructor(connection, element, onSpan, onSeries) {
    this.connection = connection;
    this.onSpan = onSpan;
    this.onSeries = onSeries;
    /** What a person has chosen; `null` for the series that mitmcraft has. @type {string[] | null} */
    this.expressions = null;
    /** @type {ChartData | null} */
    this.chart = null;
    /** The time of the selected packet. @type {number | null} */
    this.marker = null;
    /** The span that is selected on the chart. @type {Span | null} */
    this.span = null;
    /** `true` while the chart is counted. */
    this.busy = false;
    this.stale = false;
    this.what = make("select", { id: "chart-quantity", onchange: () => this.draw() },
      make("option", { value: "packets" }, "packets per second"), make("option", { value: "wire" }, "bytes per second"));
    this.interval = make("select", { id: "chart-interval", onchange: () => this.draw() }, make("option", { value: "0" }, "automatic"), ...INTERVALS.map((it) => make("option", { value: it }, duration(it))));
    this.trips = make("input", { type: "checkbox", id: "chart-trips", checked: "", onchange: () => this.draw() });
    this.text = make("input", { type: "text", id: "chart-series", spellcheck: "false", autocomplete: "off", placeholder: "chat", "aria-describedby": "chart-problem" });
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      unlessLost(this.add());
    });
    const add = make("button", { type: "button", onclick: () => unlessLost(this.add()) }, "Add");
    this.problem = make("p", { id: "chart-problem", role: "alert", class: "bad" });
    this.legend = make("ul", { id: "chart-legend", "aria-label": "Series" });
    this.legend.addEventListener("click", (event) => {
      const item = event.target instanceof Element && event.target.closest("button") ? event.target.closest("li") : null;
      if (item) this.setExpressions(this.names.filter((it) => it !== item.dataset.key));
    });
    this.canvas = make("canvas", { id: "chart", role: "img", "aria-label": "Traffic over time" });
    this.from = make("input", { id: "chart-from", type: "number", min: "0", step: "any", onchange: () => this.typed() });
    this.to = make("input", { id: "chart-to", type: "number", min: "0", step: "any", onchange: () => this.typed() });
    this.caption = make("p", { id: "chart-caption" });
    /** What the chart has under the pointer. */
    this.value = make("p", { id: "chart-value" });
    /** The time there. @type {number | null} */
    this.pointed = null;
    element.replaceChildren(
      make("div", { class: "bar" },
        make("label", { for: "chart-quantity" }, "Show"), this.what, make("label", { for: "chart-interval" }, "per interval of"), this.interval, make("label", {}, this.trips, " round trips"),
        make("label", { for: "chart-series" }, "Packets that match"), this.text, add),
      this.problem, this.legend, this.caption, this.canvas, this.value,
      make("div", { class: "bar" },
        make("label", { for: "chart-from" }, "From"), this.from, make("label", { for: "chart-to" }, "to"), this.to, make("span", {}, "s after the first packet"),
        make("button", { type: "button", onclick: () => this.apply() }, "Show only this span"),
        make("button", { type: "button", onclick: () => this.reset() }, "Show all")));
    /** The time where the button went down. @type {number | null} */
    this.dragged = null;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.dragged = this.time(event);
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      this.pointed = this.time(event);
      this.drag(event);
      this.draw();
    });
    this.canvas.addEventListener("pointerleave", () => {
      this.pointed = null;
      this.draw();
    });
    this.canvas.addEventListener("pointerup", (event) => {
      this.drag(event);
      this.dragged = null;
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.drawLegend();
  }

  /** Asks for the chart of the list. */
  async ask() {
    if (this.busy) {
      this.stale = true;
      return;
    }
    this.busy = true;
    this.stale = false;
    try {
      const { error } = await this.connection.ask("chart", { expressions: this.expressions });
      if (error) {
        this.busy = false;
        this.problem.textContent = error.message;
      }
    } catch (lost) {
      this.busy = false;
      throw lost;
    }
  }

  /** The list has changed while it is live: counts again, but not all the time. */
  refresh() {
    if (this.busy || this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      unlessLost(this.ask());
    }, PAUSE);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  /** @param {ChartData} chart */
  show(chart) {
    this.busy = false;
    this.chart = chart;
    this.drawLegend();
    this.draw();
    if (this.stale) unlessLost(this.ask());
  }

  /** Adds the series of an expression. */
  async add() {
    const text = this.text.value.trim();
    if (!text) return;
    const full = this.names.length >= MOST;
    const { error } = await this.connection.insist("check", () => ({ filter: text }));
    const hint = error?.hint ? ` (${error.hint})` : "";
    this.problem.textContent = error ? `${error.message}${hint}` : full ? `At most ${MOST} series can be shown.` : "";
    if (error || full) return;
    this.text.value = "";
    this.setExpressions([...this.names.filter((it) => it !== text), text]);
  }

  /** @param {string[]} expressions */
  setExpressions(expressions) {
    this.expressions = expressions;
    this.problem.textContent = "";
    this.drawLegend();
    this.onSeries(expressions);
    unlessLost(this.ask());
  }

  drawLegend() {
    const items = this.names.map((name, index) => {
      const found = this.chart?.series.find((it) => it.name === name);
      const count = found ? found.packets.reduce((sum, it) => sum + it, 0) : null;
      return make("li", { class: `series-${index}`, "data-key": name }, make("b", {}, name), make("span", {}, count === null ? "" : ` ${count.toLocaleString("en")}`),
        make("button", { type: "button", "aria-label": `Remove ${name}` }, "×"));
    });
    press.draw(this.legend, () => patch(this.legend, ...items));
  }

  /** The expressions of the series. */
  get names() {
    return this.expressions ?? this.chart?.series.map((it) => it.name) ?? [];
  }

  /** Moves the marker. @param {number | null} at */
  mark(at) {
    this.marker = at;
    this.draw();
  }

  /** The chart in the intervals that a person has chosen. */
  get shown() {
    return this.chart && inIntervals(this.chart, Number(this.interval.value) / 1000);
  }

  get bins() {
    return binsOf(this.chart);
  }

  /** Says what there is under the pointer. @param {ChartData} chart as it is shown */
  drawValue(chart) {
    const { pointed } = this;
    const step = chart.step * 1000;
    const place = pointed === null || chart.begin === null ? -1 : Math.min(Math.floor((pointed - chart.begin) / step), binsOf(chart) - 1);
    if (place < 0 || chart.begin === null) {
      this.value.textContent = "";
      return;
    }
    const what = this.what.value === "wire" ? "wire" : "packets";
    const count = (/** @type {number} */ value) => (what === "wire" ? size(value) : value.toLocaleString("en"));
    const trip = this.trips.checked ? chart.trips[place] ?? null : null;
    const parts = [...chart.series.map((it) => `${it.name} ${count(it[what][place] ?? 0)}`), ...(trip === null ? [] : [`slowest round trip ${(trip * 1000).toFixed(1)} ms`])];
    const begin = chart.begin + place * step;
    this.value.textContent = `${clock(begin)} to ${clock(begin + step)}: ${parts.join(", ")}`;
  }

  /** The times of the chart. @returns {Span} */
  get range() {
    const from = this.chart?.begin ?? 0;
    return { from, to: from + this.bins * (this.chart?.step ?? 1) * 1000 };
  }

  /** The time at a place of the chart. @param {PointerEvent} event */
  time(event) {
    const box = this.canvas.getBoundingClientRect();
    const part = (event.clientX - box.left - EDGES.left) / (box.width - EDGES.left - EDGES.right);
    const { from, to } = this.range;
    return from + Math.min(Math.max(0, part), 1) * (to - from);
  }

  /** @param {PointerEvent} event */
  drag(event) {
    if (this.dragged === null || !this.chart?.begin) return;
    const at = this.time(event);
    this.span = { from: Math.min(this.dragged, at), to: Math.max(this.dragged, at) };
    this.from.value = ((this.span.from - this.chart.begin) / 1000).toFixed(3);
    this.to.value = ((this.span.to - this.chart.begin) / 1000).toFixed(3);
    this.draw();
  }

  /** Takes a span that was typed. */
  typed() {
    const { from, to } = this.range;
    const span = { from: this.from.value ? from + Number(this.from.value) * 1000 : from, to: this.to.value ? from + Number(this.to.value) * 1000 : to };
    this.span = span.to > span.from ? span : null;
    this.draw();
  }

  apply() {
    this.typed();
    if (this.span && this.chart?.begin) this.onSpan(this.span);
  }

  reset() {
    this.from.value = this.to.value = "";
    this.span = null;
    this.onSpan(null);
    this.draw();
  }

  draw() {
    const { canvas } = this;
    const context = canvas.getContext("2d");
    if (!context || !canvas.clientWidth) return;
    const scale = devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = canvas.clientHeight * scale;
    context.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const color = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const chart = this.shown;
    const plot = { left: EDGES.left, top: EDGES.top, width: width - EDGES.left - EDGES.right, height: height - EDGES.top - EDGES.bottom };
    const bottom = plot.top + plot.height;
    if (!chart?.begin) {
      this.value.textContent = "";
      this.caption.textContent = chart ? "No packets in the list: its traffic over time would be here." : "";
      return;
    }
    const what = this.what.value === "wire" ? "wire" : "packets";
    const { from, to } = this.range;
    const x = (/** @type {number} */ at) => plot.left + ((at - from) / (to - from)) * plot.width;
    const shown = chart.series.map((it) => ({ name: it.name, values: it[what].map((value) => value / chart.step) }));
    const highest = Math.max(0, ...shown.flatMap((it) => it.values));
    const [most, step] = ticks(highest, what === "packets" && chart.step >= 1);
    const y = (/** @type {number} */ value) => bottom - (value / most) * plot.height;
    const write = (/** @type {string} */ text, /** @type {number} */ left, /** @type {number} */ top, /** @type {CanvasTextAlign} */ align) => {
      context.textAlign = align;
      context.fillText(text, left, top);
    };
    if (this.span) {
      const [left, right] = [Math.max(x(this.span.from), plot.left), Math.min(x(this.span.to), plot.left + plot.width)];
      context.fillStyle = color("--select");
      context.fillRect(left, plot.top, Math.max(1, right - left), plot.height);
    }
    // The axes.
    context.strokeStyle = color("--line");
    context.fillStyle = color("--soft");
    context.lineWidth = 1;
    context.textBaseline = "middle";
    for (let value = 0; value <= most * 1.0001; value += step) {
      line(context, [[plot.left, y(value)], [plot.left + plot.width, y(value)]]);
      write(what === "wire" ? size(Math.round(value)) : rounded(value), plot.left - 8, y(value), "right");
    }
    context.textBaseline = "top";
    const apart = TIMES.find((it) => ((to - from) / it) * 90 <= plot.width) ?? to - from;
    for (let at = Math.ceil(from / apart) * apart; at <= to; at += apart) {
      line(context, [[x(at), bottom], [x(at), bottom + 4]]);
      write(apart < 1000 ? clock(at) : clock(at).slice(0, 8), x(at), bottom + 8, "center");
    }
    shown.forEach(({ values }, index) => {
      context.strokeStyle = color(`--series-${index}`);
      context.lineWidth = 1.5;
      context.setLineDash(DASHES[index] ?? []);
      const bin = (plot.width * chart.step * 1000) / (to - from);
      // The last interval may go on beyond the chart.
      const right = (/** @type {number} */ place) => Math.min(plot.left + place * bin, plot.left + plot.width);
      line(context, values.flatMap((value, place) => [[right(place), y(value)], [right(place + 1), y(value)]]));
    });
    context.setLineDash([]);
    const trips = this.trips.checked ? chart.trips.flatMap((trip, place) => (trip === null ? [] : [[place, trip * 1000]])) : [];
    const slowest = Math.max(0, ...trips.map(([, trip = 0]) => trip));
    if (trips.length) {
      const [top, every] = ticks(slowest, false);
      context.fillStyle = color("--made");
      for (const [place = 0, trip = 0] of trips) {
        context.beginPath();
        context.arc(Math.min(x(from + (place + 0.5) * chart.step * 1000), plot.left + plot.width), bottom - (trip / top) * plot.height, 2.5, 0, 2 * Math.PI);
        context.fill();
      }
      context.textBaseline = "middle";
      for (let value = 0; value <= top * 1.0001; value += every) write(`${rounded(value)} ms`, plot.left + plot.width + 8, bottom - (value / top) * plot.height, "left");
    }
    if (this.marker !== null && this.marker >= from && this.marker <= to) {
      context.strokeStyle = color("--text");
      line(context, [[x(this.marker), plot.top - 6], [x(this.marker), bottom]]);
      context.fillStyle = color("--text");
      context.beginPath();
      context.moveTo(x(this.marker) - 5, plot.top - 8);
      context.lineTo(x(this.marker) + 5, plot.top - 8);
      context.lineTo(x(this.marker), plot.top);
      context.fill();
    }
    if (this.pointed !== null && this.dragged === null) {
      context.strokeStyle = color("--accent");
      line(context, [[x(this.pointed), plot.top], [x(this.pointed), bottom]]);
    }
    this.drawValue(chart);
    const unit = what === "packets" ? `${rounded(highest)} packets` : size(Math.round(highest));
    // A rate of less than a second is extrapolated.
    const counted = chart.step < 1 ? ` (${what === "packets" ? rounded(highest * chart.step) : size(Math.round(highest * chart.step))} in ${duration(chart.step * 1000)})` : "";
    const delay = trips.length ? ` Slowest round trip: ${slowest.toFixed(1)} ms (dots, right axis).` : "";
    const selected = this.marker === null ? "" : ` ▼ is the selected packet, at ${clock(this.marker)}.`;
    this.caption.textContent = `Highest: ${unit} per second${counted}.${delay}${selected}`;
    canvas.setAttribute("aria-label", `Traffic from ${clock(from)} to ${clock(to)}: ${shown.map((it) => `${it.name}, highest ${rounded(Math.max(0, ...it.values))} per second`).join("; ")}`);
  }
}

/** Milliseconds of the intervals that are offered. */
const INTERVALS = [100, 1000, 10_000, 60_000, 600_000, 3_600_000];

/** @param {number} millis */
function duration(millis) {
  const [unit, name] = millis < 1000 ? [1, "ms"] : millis < 60_000 ? [1000, "s"] : millis < 3_600_000 ? [60_000, "min"] : [3_600_000, "h"];
  return `${rounded(millis / unit)} ${name}`;
}

/** @param {ChartData | null} chart */
function binsOf(chart) {
  return Math.max(1, ...(chart?.series ?? []).map((it) => it.packets.length), chart?.trips.length ?? 0);
}

/** Returns a chart with intervals of at least so many seconds: whole bins together. @param {ChartData} chart @param {number} seconds @returns {ChartData} */
export function inIntervals(chart, seconds) {
  const count = Math.max(1, Math.round(seconds / chart.step));
  if (count === 1) return chart;
  const groups = (/** @type {any[]} */ all) => Array.from({ length: Math.ceil(all.length / count) }, (_, at) => all.slice(at * count, (at + 1) * count));
  const sums = (/** @type {number[]} */ all) => groups(all).map((group) => group.reduce((sum, it) => sum + it, 0));
  // The slowest of each.
  const trips = groups(chart.trips).map((group) => group.reduce((slowest, it) => (it === null || slowest > it ? slowest : it), null));
  return { begin: chart.begin, step: chart.step * count, trips, series: chart.series.map((it) => ({ name: it.name, packets: sums(it.packets), wire: sums(it.wire) })) };
}

/** Milliseconds between the labels of times. */
const TIMES = [100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000, 3_600_000, 10_800_000, 43_200_000, 86_400_000];

/** The upper end of an axis, and what lies between its labels. @param {number} highest @param {boolean} whole */
function ticks(highest, whole) {
  const rough = Math.max(highest, whole ? 1 : 0.001) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? rough;
  const fit = whole ? Math.max(1, step) : step;
  return /** @type {const} */ ([Math.ceil(Math.max(highest, fit) / fit) * fit, fit]);
}

/** @param {number} value */
function rounded(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 4 });
}

/** @param {CanvasRenderingContext2D} context @param {number[][]} points */
function line(context, points) {
  context.beginPath();
  for (const [x = 0, y = 0] of points) context.lineTo(x, y);
  context.stroke();
}
