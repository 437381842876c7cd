// The columns of the list: which are shown, how wide they are, and by which one the list is sorted.

import { byId, make, zone } from "./dom.js";
import { settings } from "./memory.js";

/** @typedef {{ key: string, title: string, shown: boolean, sort?: string, width?: number, added?: boolean }} Column */
/** @typedef {{ by: string, descending: boolean }} Sort */

/** Key, title, and what the list is sorted by. @type {[string, string, string?][]} */
const OWN = [
  ["time", "Time", "time"], ["session", "#", "session"], ["seq", "No.", "number"], ["dir", "⇄", "direction"], ["state", "State", "state"],
  ["id", "Id", "id"], ["name", "Packet", "packet"], ["size", "Size", "size"], ["wire", "Wire", "wire"], ["verdict", "Verdict", "verdict"],
  ["comment", "Comment", "pkt.comment"], ["summary", "Fields"],
];

/** Names where the title is a sign. @type {Record<string, string>} */
const NAMES = { dir: "Direction", session: "Session", seq: "Number" };

const HIDDEN = ["wire", "comment"];

/** Pixels of the narrowest column. */
const LEAST = 24;

/** Most columns that are added. */
const MOST = 20;

export class Columns {
  /** @param {HTMLElement} menu @param {HTMLElement} button opens it */
  constructor(menu, button) {
    this.menu = menu;
    this.button = button;
    /** @type {Record<string, { shown?: boolean, width?: number }>} */
    const kept = settings.get("columns", {});
    /** @type {string[]} */
    const added = settings.get("added-columns", []);
    const own = OWN.map(([key, title, sort]) => ({ key, title, sort, shown: !HIDDEN.includes(key), ...kept[key] }));
    /** In their order. @type {Column[]} */
    this.all = own;
    for (const name of added.slice(0, MOST)) this.place(name, kept[name]);
    /** @type {Sort | null} */
    this.sort = null;
    /** `true` while times are those of a clock, in a zone. */
    this.clock = true;
    /** The rules for widths that a person has chosen: the page may have no styles in elements. */
    this.sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, this.sheet];
    this.head = make("div", { class: "line head", role: "row" });
    /** Called when other columns are shown. `values` is `true` if rows need other values. @type {(values: boolean) => void} */
    this.onchange = () => {};
    /** Called when the list is to be sorted. */
    this.onsort = () => {};
    /** Asks whether packets have such a value. Returns what is wrong. @type {(name: string) => Promise<string | null>} */
    this.check = async () => null;
    this.draw();
    this.drawMenu();
    button.addEventListener("click", () => this.toggleMenu());
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.toggleMenu(false);
      button.focus();
    });
    document.addEventListener("pointerdown", (event) => {
      const inside = event.target instanceof Node && (menu.contains(event.target) || button.contains(event.target));
      if (!inside && this.isOpen) this.toggleMenu(false);
    }, true);
  }

  /** `true` while the menu is open. */
  get isOpen() {
    return !this.menu.hidden;
  }

  /** Opens the menu, or closes it. @param {boolean} [open] */
  toggleMenu(open = !this.isOpen) {
    this.menu.hidden = !open;
    this.button.setAttribute("aria-expanded", String(open));
  }

  /** Opens the menu where the list is sorted. */
  openSort() {
    this.toggleMenu(true);
    byId("sort-by", HTMLSelectElement).focus();
  }

  get shown() {
    return this.all.filter((it) => it.shown);
  }

  /** The names of the columns that are added and shown. */
  get names() {
    return this.shown.filter((it) => it.added).map((it) => it.key);
  }

  /** The class of the cells of a column. @param {Column} column */
  static cell(column) {
    return column.added ? "c-added" : `c-${column.key}`;
  }

  /** Puts an added column before the summary. @param {string} name @param {{ shown?: boolean, width?: number }} [kept] */
  place(name, kept) {
    this.all.splice(-1, 0, { key: name, title: name, sort: name, shown: true, added: true, ...kept });
  }

  /** Adds a column, or removes it if it is there. Returns what is wrong. @param {string} name */
  async toggle(name) {
    if (this.all.some((it) => it.key === name)) {
      this.remove(name);
      return null;
    }
    if (this.all.length >= OWN.length + MOST) return `at most ${MOST} columns can be added`;
    const wrong = await this.check(name);
    if (wrong === null) {
      this.place(name);
      this.changed(true);
    }
    return wrong;
  }

  /** @param {string} name */
  remove(name) {
    if (this.sort?.by === name) this.setSort(null);
    this.all = this.all.filter((it) => it.key !== name || !it.added);
    this.changed(true);
  }

  /** @param {Column} column @param {boolean} shown */
  show(column, shown) {
    column.shown = shown;
    this.changed(Boolean(column.added));
  }

  /** @param {boolean} values */
  changed(values) {
    settings.set("columns", Object.fromEntries(this.all.map(({ key, shown, width }) => [key, { shown, width }])));
    settings.set("added-columns", this.all.filter((it) => it.added).map((it) => it.key));
    this.draw();
    this.drawMenu();
    this.onchange(values);
  }

  /** Makes all columns as they were at first. */
  reset() {
    this.setSort(null);
    this.all = OWN.map(([key, title, sort]) => ({ key, title, sort, shown: !HIDDEN.includes(key) }));
    this.changed(true);
  }

  /** @param {Sort | null} sort */
  setSort(sort) {
    this.sort = sort;
    this.draw();
    this.drawMenu();
    this.onsort();
  }

  /** Ascending, descending, not at all. @param {string} by */
  nextSort(by) {
    if (this.sort?.by !== by) this.setSort({ by, descending: false });
    else this.setSort(this.sort.descending ? null : { by, descending: true });
  }

  /** @param {boolean} clock whether times are those of a clock */
  setClock(clock) {
    this.clock = clock;
    this.draw();
  }

  /** Draws the titles. */
  draw() {
    this.head.replaceChildren(...this.shown.map((column, index) => {
      const { key, title, sort } = column;
      const order = sort && this.sort?.by === sort ? (this.sort.descending ? "descending" : "ascending") : undefined;
      const name = NAMES[key] ?? title;
      const shown = key === "time" && this.clock ? `${title} ${zone(Date.now())}` : title;
      const button = sort ? make("button", { type: "button", tabindex: -1, title: `Sort by ${name}`, "aria-label": key === "dir" || key === "session" ? name : undefined, onclick: () => this.nextSort(sort) }, shown) : title;
      const grip = key === "summary" ? null : make("i", { class: "grip", "aria-hidden": "true", onpointerdown: (/** @type {PointerEvent} */ event) => this.drag(event, column), ondblclick: () => this.resize(column, undefined) });
      return make("span", { class: `${Columns.cell(column)} col-${index}`, role: "columnheader", "aria-sort": order }, button, grip);
    }));
    this.drawWidths();
  }

  drawWidths() {
    const rules = this.shown.map(({ width }, index) => (width ? `#list .col-${index} { width: ${width}px; flex: none; }` : ""));
    this.sheet.replaceSync(rules.join("\n"));
  }

  /** @param {PointerEvent} event @param {Column} column */
  drag(event, column) {
    const { target, clientX } = event;
    if (!(target instanceof HTMLElement) || !target.parentElement) return;
    event.preventDefault();
    target.setPointerCapture(event.pointerId);
    const before = target.parentElement.getBoundingClientRect().width;
    const move = (/** @type {PointerEvent} */ event) => {
      column.width = Math.max(LEAST, Math.round(before + event.clientX - clientX));
      this.drawWidths();
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("lostpointercapture", () => {
      target.removeEventListener("pointermove", move);
      this.changed(false);
    }, { once: true });
  }

  /** @param {Column} column @param {number | undefined} width */
  resize(column, width) {
    if (width === undefined) delete column.width;
    else column.width = Math.max(LEAST, width);
    this.changed(false);
  }

  /** Draws the menu: the same with the keyboard. */
  drawMenu() {
    const focused = document.activeElement?.id;
    const lines = this.all.map((column) => {
      const { key, title, shown, width, added } = column;
      const name = NAMES[key] ?? title;
      const box = make("input", { type: "checkbox", id: `column-${key}`, onchange: () => this.show(column, box.checked) });
      box.checked = shown;
      const wide = make("input", {
        type: "number", id: `width-${key}`, class: "width", min: LEAST, max: 2000, step: 8, placeholder: "auto", "aria-label": `Width of ${name}`, value: width,
        onchange: () => this.resize(column, wide.value ? Number(wide.value) : undefined),
      });
      return make("div", { class: "column" }, make("label", {}, box, ` ${name}`), key === "summary" ? null : wide,
        added ? make("button", { type: "button", "aria-label": `Remove ${name}`, onclick: () => this.remove(key) }, "Remove") : null);
    });
    const sortable = this.all.filter((it) => it.sort);
    const chosen = this.sort?.by ?? "";
    const by = make("select", { id: "sort-by", onchange: () => this.setSort(by.value ? { by: by.value, descending: down.checked } : null) },
      make("option", { value: "" }, "as recorded"),
      ...sortable.map(({ key, title, sort }) => make("option", { value: sort }, NAMES[key] ?? title)));
    by.value = chosen;
    const down = make("input", { type: "checkbox", id: "sort-down", onchange: () => this.setSort(by.value ? { by: by.value, descending: down.checked } : null) });
    down.checked = this.sort?.descending ?? false;
    const text = make("input", { type: "text", id: "column-field", spellcheck: "false", autocomplete: "off", placeholder: "chat.message" });
    const wrong = make("p", { class: "bad", role: "alert" });
    const add = async () => {
      const why = text.value.trim() ? await this.toggle(text.value.trim()) : null;
      wrong.textContent = why ?? "";
    };
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      add();
    });
    this.menu.replaceChildren(
      make("div", { class: "column-sort" }, make("label", { for: "sort-by" }, "Sorted"), by, make("label", {}, down, " descending")),
      make("div", { class: "column-list" }, ...lines),
      make("div", { class: "column-add" }, make("label", { for: "column-field" }, "Add a field"), text, make("button", { type: "button", onclick: add }, "Add")),
      wrong, make("button", { type: "button", id: "columns-reset", onclick: () => this.reset() }, "Reset"));
    if (focused && this.menu.querySelector(`[id="${CSS.escape(focused)}"]`)) document.getElementById(focused)?.focus();
  }
}
