// The lines between panes, which the mouse and arrow keys move.

import { settings } from "./memory.js";

export class Splitter {
  /**
   * @param {HTMLElement} element the line
   * @param {HTMLElement} pane the pane whose size it changes
   * @param {"before" | "after"} side where that pane is
   * @param {number} least pixels of it
   */
  constructor(element, pane, side, least) {
    this.element = element;
    this.pane = pane;
    this.least = least;
    this.upright = element.getAttribute("aria-orientation") === "vertical";
    this.sign = side === "before" ? 1 : -1;
    this.variable = `--${element.id}`;
    const size = settings.get("sizes", /** @type {Record<string, number>} */ ({}))[element.id];
    if (size) this.set(size);
    element.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      element.focus();
      element.setPointerCapture(event.pointerId);
      const from = this.place(event);
      const before = this.size;
      const move = (/** @type {PointerEvent} */ event) => this.set(before + this.sign * (this.place(event) - from));
      element.addEventListener("pointermove", move);
      element.addEventListener("lostpointercapture", () => {
        element.removeEventListener("pointermove", move);
        this.keep();
      }, { once: true });
    });
    element.addEventListener("dblclick", () => this.reset());
    element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.tell()).observe(pane);
  }

  /** Pixels of the pane. */
  get size() {
    const box = this.pane.getBoundingClientRect();
    return this.upright ? box.width : box.height;
  }

  /** Most pixels of the pane: its neighbours stay visible. */
  get most() {
    const room = this.pane.parentElement?.getBoundingClientRect();
    return Math.max(this.least, ((this.upright ? room?.width : room?.height) ?? 0) - 120);
  }

  /** @param {PointerEvent} event */
  place(event) {
    return this.upright ? event.clientX : event.clientY;
  }

  /** @param {number} size */
  set(size) {
    const most = this.most;
    const pixels = Math.round(Math.max(this.least, most > this.least ? Math.min(size, most) : size));
    document.documentElement.style.setProperty(this.variable, `${pixels}px`);
  }

  keep() {
    settings.set("sizes", { ...settings.get("sizes", {}), [this.element.id]: this.size });
  }

  reset() {
    document.documentElement.style.removeProperty(this.variable);
    const { [this.element.id]: _, ...sizes } = settings.get("sizes", /** @type {Record<string, number>} */ ({}));
    settings.set("sizes", sizes);
  }

  /** Tells readers of the screen where the line is. */
  tell() {
    this.element.setAttribute("aria-valuemin", String(this.least));
    this.element.setAttribute("aria-valuemax", String(Math.round(this.most)));
    this.element.setAttribute("aria-valuenow", String(Math.round(this.size)));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    /** @type {Record<string, number>} */
    const steps = this.upright ? { ArrowLeft: -1, ArrowRight: 1 } : { ArrowUp: -1, ArrowDown: 1 };
    const step = steps[event.key];
    if (step) this.set(this.size + this.sign * step * STEP);
    else if (event.key === "Home") this.set(this.least);
    else if (event.key === "End") this.set(this.most);
    else if (event.key === "Enter") this.reset();
    else return;
    this.keep();
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Pixels by which an arrow key moves a line. */
const STEP = 16;
