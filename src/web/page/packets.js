// The list of packets.

import { Columns } from "./columns.js";
import { unlessLost } from "./connection.js";
import { clock, make, patch } from "./dom.js";
import { Pages } from "./pages.js";
import { Tail } from "./tail.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Row} Row */
/** @typedef {import("./protocol.d.ts").Arguments<"view">} View */
/** @typedef {import("./columns.js").Column} Column */
/** @typedef {{ total: number, done: number, all: number }} Progress */

const TIMES = ["absolute", "relative", "delta"];

/** Rows at the end of the list that come with each state, besides those that fit. */
const MORE = 5;

/** Most of them. */
const MOST_NEWEST = 500;

/** Most rows that are selected at once. */
const MOST = 10_000;

export class Packets {
  /**
   * @param {Connection} connection
   * @param {HTMLElement} element
   * @param {(row: number) => void} onSelect
   * @param {Columns} columns
   */
  constructor(connection, element, onSelect, columns) {
    this.connection = connection;
    this.element = element;
    this.onSelect = onSelect;
    this.columns = columns;
    columns.onchange = (values) => this.renewRows(values);
    /** @type {Pages<Row>} */
    this.pages = new Pages(async (start, count) => (await connection.ask("rows", { start, count, columns: columns.names })).rows ?? [], () => this.list.redraw());
    /** The number of the selected row. @type {number | null} */
    this.selected = null;
    this.index = 0;
    /** All rows that are selected, that one too. @type {Set<number>} */
    this.chosen = new Set();
    /** The index where a span of rows begins. */
    this.from = 0;
    /** Grows with each selection: the answer to an earlier one comes too late. */
    this.turn = 0;
    /** Ends when the selection is that of the last key or press; `null` if it is. @type {Promise<void> | null} */
    this.moving = null;
    this.follow = true;
    /** The number of newest rows that come with each state. */
    this.newest = 0;
    this.time = 0;
    /** Called when other rows are selected. */
    this.onchoose = () => {};
    this.onfollow = () => {};
    this.generation = 0;
    this.settled = true;
    /** Requests for another list that have no answer yet. */
    this.asked = 0;
    /** `false` while a new connection has another list than the one that is shown. */
    this.renewed = true;
    /** `true` once all packets of the list are found. */
    this.complete = false;
    /** How far the list was found when mitmcraft last told. @type {Progress} */
    this.progress = { total: 0, done: 0, all: 0 };
    /** The number of the row to select as soon as it is found. @type {number | null} */
    this.wanted = null;
    /** The end of the list whose packet is to be selected as soon as the list is found. @type {"first" | "last" | null} */
    this.end = null;
    this.list = new VirtualList(element, (index, line) => this.line(index, line), columns.head);
    this.tail = new Tail(this.list, this.pages, () => this.follow);
    this.list.onmove = () => this.setFollow(this.list.top >= this.list.last - 0.5);
    this.list.onresize = (fitted) => this.resized(fitted);
    element.addEventListener("click", (event) => this.click(event));
    this.drawBusy();
  }

  /**
   * Asks for another list, and shows it once it is accepted: around the selected packet, if it has that, unless
   * the newest packet is followed. Returns the answer.
   * @param {View} view its filter, sessions and times
   * @param {number | null} [wanted] the number of the row to select, if the list has it
   */
  async show(view, wanted = this.follow ? null : this.selected) {
    const answer = await this.askView(view);
    if (answer.error) {
      this.drawBusy();
      return answer;
    }
    this.pages.clear();
    this.tail.total = 0;
    this.list.setCount(0);
    this.chosen = new Set(this.selected === null ? [] : [this.selected]);
    this.wanted = wanted;
    this.begin();
    return answer;
  }

  /**
   * Asks again for the list that is shown, over a new connection. What is on the screen and the selection stay.
   * @param {View} view
   */
  async showAgain(view) {
    this.renewed = false;
    await this.askView(view);
    this.renewed = true;
    this.newest = 0;
    this.pages.renew();
    this.begin();
    if (this.selected !== null) this.onSelect(this.selected);
  }

  /** @param {View} view */
  async askView(view) {
    this.asked++;
    this.drawBusy();
    try {
      return await this.connection.ask("view", view);
    } finally {
      this.asked--;
    }
  }

  /** The list is a new one, and nothing that was asked about the one before counts. */
  begin() {
    this.generation++;
    this.settled = false;
    this.complete = false;
    this.drawBusy();
  }

  /** Tells readers of the screen whether the list is still being filtered. */
  drawBusy() {
    this.element.setAttribute("aria-busy", String(this.asked > 0 || !this.complete));
  }

  /** @param {Progress} progress @param {boolean} shifted @param {Row[]} [newest] the rows at the end of the list */
  async update(progress, shifted, newest = []) {
    if (!this.renewed) return;
    this.progress = progress;
    this.askNewest();
    const settled = progress.done === progress.all;
    const { top, visible } = this.list;
    // What is selected stays in its place if it is in view, and what is at the upper edge otherwise.
    const sees = this.selected !== null && this.selected !== this.wanted && this.index >= top && this.index < top + visible;
    const at = sees ? this.index : Math.floor(top);
    const anchor = this.follow ? null : sees ? this.selected : this.pages.at(at)?.row ?? null;
    const moves = shifted || !settled || !this.settled;
    if (moves) this.pages.change();
    else this.pages.grow();
    this.pages.take(progress.total - newest.length, newest);
    this.settled = settled;
    const generation = this.generation;
    unlessLost(this.tail.take(progress.total));
    if (anchor !== null && moves) {
      // Rows that are found later stand before those on the screen.
      const { index, found } = await this.connection.ask("index", { row: anchor });
      if (generation !== this.generation) return;
      // What was moved or selected meanwhile stays in view.
      if (found && this.list.top === top) this.list.top = index + (top - at);
    }
    if (this.selected !== null && this.selected !== this.wanted && moves) {
      const { index, found } = await this.connection.ask("index", { row: this.selected });
      if (generation !== this.generation || index === undefined) return;
      // It stands between two rows if the list does not have it.
      this.index = found ? index : index - 0.5;
    }
    // A later state can have come while this one waited.
    const { total, done, all } = this.progress;
    this.element.setAttribute("aria-rowcount", String(total + 1));
    if (!this.follow) this.list.setCount(total);
    this.complete = done === all;
    this.drawBusy();
    await this.selectWanted();
    await this.selectEnd();
  }

  /** Asks for the newest rows with each state while the end of the list is in view. */
  askNewest() {
    const ends = this.follow || this.list.top + this.list.visible >= this.list.count;
    const wanted = ends ? Math.min(Math.ceil(this.list.visible) + MORE, MOST_NEWEST) : 0;
    if (wanted === this.newest) return;
    this.newest = wanted;
    unlessLost(this.connection.ask("rows", { start: 0, count: 0, columns: this.columns.names, newest: wanted }));
  }

  /** Selects the row that is to be selected, if it was found by now. */
  async selectWanted() {
    const { wanted: row, complete, generation } = this;
    if (row === null) return;
    const { index, found } = await this.connection.ask("index", { row });
    if (generation !== this.generation || row !== this.wanted) return;
    if (found || complete) this.wanted = null;
    if (!found) return;
    const { visible, top } = this.list;
    if (index < top || index + 1 > top + visible) this.list.moveTo(index - Math.floor(visible / 2));
    if (row !== this.selected) this.select(index, row);
    else this.index = index;
  }

  /** Draws rows anew. @param {boolean} values whether they have other values now */
  renewRows(values) {
    if (values) this.pages.renew();
    this.list.redraw();
  }

  /** @param {number} index @param {HTMLElement} line */
  line(index, line) {
    const row = this.pages.see(index);
    line.setAttribute("role", "row");
    line.setAttribute("aria-rowindex", String(index + 2));
    line.id = `row-${index}`;
    if (!row) {
      line.className = "line";
      delete line.dataset.row;
      patch(line, make("span", { role: "gridcell", class: "c-summary" }, "…"));
      return;
    }
    const chosen = row.row === this.selected;
    line.setAttribute("aria-selected", String(chosen || this.chosen.has(row.row)));
    const classes = ["line", row.dir, `v-${row.verdict}`];
    if (chosen) classes.push("selected");
    else if (this.chosen.has(row.row)) classes.push("chosen");
    if (row.marked) classes.push("marked");
    if (row.error) classes.push("failed");
    if (row.color) classes.push(`h-${row.color}`);
    line.className = classes.join(" ");
    if (row.marked) line.setAttribute("aria-description", "marked");
    else line.removeAttribute("aria-description");
    line.dataset.row = String(row.row);
    let added = 0;
    patch(line, ...this.columns.shown.map((column, index) => {
      const text = column.added ? row.columns[added++] ?? "" : this.cell(row, column.key);
      return make("span", { class: `${Columns.cell(column)} col-${index}`, role: "gridcell" }, text);
    }));
    if (chosen) this.element.setAttribute("aria-activedescendant", line.id);
  }

  /** @param {Row} row @param {string} key @returns {string} */
  cell(row, key) {
    switch (key) {
      case "time":
        return this.time === 0 ? clock(row.at) : (this.time === 1 ? row.t : row.delta).toFixed(6);
      case "dir": return row.dir === "serverbound" ? "→" : "←";
      case "state": return row.state === "configuration" ? "config" : row.state === "handshaking" ? "handshake" : row.state;
      case "size": case "wire": return row[key].toLocaleString("en");
      case "id": return row.id === null || row.id === undefined ? "" : `0x${row.id.toString(16).padStart(2, "0")}`;
      case "name": return (row.name ?? "(unknown)") + (row.guess ? "?" : "");
      case "summary": return row.sent === null ? row.summary : `${row.summary}  ⟶  ${row.sent}`;
      case "verdict": return row.verdict === "pass" ? "" : row.verdict;
      default: return String(row[/** @type {"session"} */ (key)] ?? "");
    }
  }

  /** @param {MouseEvent} event */
  click(event) {
    const line = event.target instanceof Element ? event.target.closest(".line") : null;
    if (!(line instanceof HTMLElement) || line === this.columns.head) return;
    const index = Number(line.id.slice("row-".length));
    const row = line.dataset.row === undefined ? null : Number(line.dataset.row);
    if (event.shiftKey) unlessLost(this.chooseSpan(index));
    else if (row !== null && (event.ctrlKey || event.metaKey)) this.choose(index, row);
    else if (row !== null) this.select(index, row);
    // Its packet is still on its way.
    else unlessLost(this.go(index));
  }

  /** Selects a row, and no other one. @param {number} index @param {number} row */
  select(index, row) {
    this.turn++;
    this.from = index;
    this.showSelected(index, row);
    this.setChosen([row]);
  }

  /** Adds a row to the selection, or removes it. @param {number} index @param {number} row */
  choose(index, row) {
    if (this.chosen.has(row)) {
      this.setChosen([...this.chosen].filter((it) => it !== row));
      return;
    }
    this.from = index;
    this.showSelected(index, row);
    this.setChosen([...this.chosen, row]);
  }

  /** Selects all rows from where the last selection began to another one. @param {number} index */
  async chooseSpan(index) {
    const target = Math.min(Math.max(0, index), this.list.count - 1);
    const [start, end] = [Math.min(this.from, target), Math.max(this.from, target)];
    // The next key goes on from here, also if it is pressed before the answer comes.
    this.index = target;
    const count = Math.min(end - start + 1, MOST);
    const known = Array.from({ length: count }, (_, at) => this.pages.at(start + at)?.row);
    const choose = (/** @type {number[]} */ rows) => {
      const row = rows[target === start ? 0 : rows.length - 1];
      if (row === undefined) return;
      this.showSelected(target, row);
      this.setChosen(rows);
    };
    const rows = known.flatMap((row) => row ?? []);
    if (rows.length === count) {
      this.turn++;
      choose(rows);
    } else {
      await this.move(async () => (await this.connection.ask("row_numbers", { start, count })).rows ?? [], choose);
    }
  }

  /** Selects all rows of the list, as far as so many can be selected. */
  chooseAll() {
    const all = this.connection.ask("row_numbers", { start: 0, count: MOST });
    return this.move(async () => (await all).rows ?? [], (rows) => this.setChosen(rows));
  }

  /**
   * Changes the selection by what is still on its way, unless it changes otherwise meanwhile. Commands wait for it.
   * @template T
   * @param {() => Promise<T>} ask
   * @param {(answer: T) => void} change
   */
  async move(ask, change) {
    const turn = ++this.turn;
    const moving = ask().then((answer) => {
      if (turn === this.turn) change(answer);
    }).finally(() => {
      if (this.moving === moving) this.moving = null;
    });
    this.moving = moving;
    await moving;
  }

  /** @param {number[]} rows */
  setChosen(rows) {
    this.chosen = new Set(rows);
    this.list.redraw();
    this.onchoose();
  }

  /** The rows that commands act on. */
  get targets() {
    return this.chosen.size ? [...this.chosen] : this.selected === null ? [] : [this.selected];
  }

  /** Shows a row as the one that is selected last. @param {number} index @param {number} row */
  showSelected(index, row) {
    this.index = index;
    this.selected = row;
    this.wanted = null;
    this.end = null;
    if (index < this.list.count - 1) this.setFollow(false);
    this.list.reveal(index);
    this.list.redraw();
    this.onSelect(row);
  }

  /** Selects the line that is `by` lines away. @param {number} by @param {boolean} [span] with those up to it */
  async step(by, span = false) {
    const from = this.selected === null ? Math.floor(this.list.top) - Math.sign(by) : this.index;
    const target = by > 0 ? Math.floor(from + by) : Math.ceil(from + by);
    await (span ? this.chooseSpan(target) : this.go(target));
  }

  /** Selects the first packet of the list, or the last one, once the list is found. @param {boolean} last */
  async goToEnd(last) {
    this.end = last ? "last" : "first";
    await this.selectEnd();
  }

  async selectEnd() {
    const { end } = this;
    if (end === null || !this.complete) return;
    this.end = null;
    await this.go(end === "last" ? Infinity : 0);
  }

  /** @param {number} index */
  async go(index) {
    if (this.list.count === 0) return;
    const target = Math.min(Math.max(0, index), this.list.count - 1);
    await this.jump(target, () => this.pages.at(target)?.row);
  }

  /**
   * Selects a row of the list. What is on the screen stays until the rows around it can be read.
   * @param {number} index
   * @param {() => number | undefined} row its number
   */
  async jump(index, row) {
    const window = this.list.seenFrom(this.list.revealing(index));
    const select = () => {
      const found = row();
      if (found !== undefined) this.select(index, found);
    };
    if (this.pages.has(...window)) {
      select();
      return;
    }
    // The next key goes on from here, also if it is pressed before the answer comes.
    this.index = index;
    await this.move(() => this.pages.load(window[0], window[1] - 1), select);
  }

  /** What was in view stays in view. @param {number} fitted the lines that fitted before */
  resized(fitted) {
    const { top } = this.list;
    if (this.follow) unlessLost(this.tail.take(this.tail.total));
    else if (this.selected !== null && this.index >= top && this.index < top + fitted) this.list.reveal(this.index);
  }

  /** @param {boolean} follow */
  setFollow(follow) {
    if (follow !== this.follow) {
      this.follow = follow;
      this.onfollow();
    }
    if (follow) unlessLost(this.tail.take(this.tail.total));
  }

  /** Shows times in another form, and returns its name. */
  nextTime() {
    this.time = (this.time + 1) % TIMES.length;
    this.columns.setClock(this.time === 0);
    this.list.redraw();
    return TIMES[this.time];
  }

  /** The row that is selected last, if it is known, wherever it stands by now. @returns {Row | undefined} */
  get current() {
    return [...this.pages.known()].find((it) => it.row === this.selected);
  }

  /** Keeps a comment on a packet. @param {Row} row @param {string} comment */
  async annotate({ row, marked }, comment) {
    const known = [...this.pages.known()].find((it) => it.row === row);
    await this.connection.ask("annotate", { row, marked: known?.marked ?? marked, comment });
    this.forget();
  }

  /** Marks all selected packets, or unmarks them if they are marked. */
  async mark() {
    const rows = this.targets;
    const known = [...this.pages.known()].filter((it) => this.chosen.has(it.row));
    const marked = known.length < rows.length || known.some((it) => !it.marked);
    // Should they be marked again before their rows have come.
    for (const it of known) it.marked = marked;
    await this.connection.ask("mark_all", { rows, marked });
    this.forget();
  }

  /** Asks again for what is shown: it is something else now. */
  forget() {
    this.pages.change();
    this.list.redraw();
  }
}
