// Lists of which only the visible lines exist.

import { make, press } from "./dom.js";

/**
 * A list of lines of equal height. Only the visible lines are elements. Browsers limit the height of an
 * element, so the scrollbar of a long list is scaled; wheel and keys still move by lines.
 */
export class VirtualList {
  /**
   * @param {HTMLElement} element
   * @param {(index: number, line: HTMLElement) => void} render fills a line
   * @param {HTMLElement} [head] stays above the lines
   * @param {number} [height] of a line in pixels, as in the style sheet
   */
  constructor(element, render, head, height = VirtualList.LINE) {
    this.element = element;
    this.lineHeight = height;
    this.render = render;
    this.count = 0;
    /** The index at the upper edge, with a fraction. */
    this.top = 0;
    this.headHeight = head ? VirtualList.LINE : 0;
    /** @type {Map<number, HTMLElement>} */
    this.lines = new Map();
    this.window = make("div", { class: "window", role: "presentation" });
    this.window.style.top = `${this.headHeight}px`;
    this.spacer = make("div", { role: "presentation" });
    element.classList.add("virtual");
    element.replaceChildren(...(head ? [head] : []), this.window, this.spacer);
    this.set = -1;
    /** The lines that fitted when it had its last height. */
    this.fitted = 0;
    this.scheduled = false;
    /** Called when the element has another height. @type {(fitted: number) => void} */
    this.onresize = () => {};
    /** Called when a person scrolls. */
    this.onmove = () => {};
    element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.resized()).observe(element);
  }

  /** The lines that fit. */
  get visible() {
    return Math.max(1, (this.element.clientHeight - this.headHeight) / this.lineHeight);
  }

  get last() {
    return Math.max(0, this.count - this.visible);
  }

  /** @param {number} count */
  setCount(count) {
    this.count = count;
    const height = Math.min(count * this.lineHeight, VirtualList.TALLEST);
    this.spacer.style.height = `${height}px`;
    this.moveTo(this.top);
  }

  /** @param {number} top */
  moveTo(top) {
    this.top = Math.min(Math.max(0, top), this.last);
    const room = this.element.scrollHeight - this.element.clientHeight;
    this.set = this.last ? Math.round((this.top / this.last) * room) : 0;
    if (this.element.scrollTop !== this.set) this.element.scrollTop = this.set;
    this.redraw();
  }

  /** Scrolls as little as possible so that a line is visible. @param {number} index */
  reveal(index) {
    const top = this.revealing(index);
    if (top !== this.top) this.moveTo(top);
  }

  /** Returns where the upper edge is once a line is visible. @param {number} index */
  revealing(index) {
    if (index < this.top) return index;
    return index + 1 > this.top + this.visible ? index + 1 - this.visible : this.top;
  }

  /** Returns the first line that is visible with that upper edge, and the one after the last. @param {number} top @returns {[number, number]} */
  seenFrom(top) {
    return [Math.max(0, Math.floor(top)), Math.min(this.count, Math.ceil(top + this.visible))];
  }

  /** Draws all lines anew before the next frame. */
  redraw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      press.draw(this, () => this.draw());
    });
  }

  /** The element has another height: a list that moved while it was hidden may have room before its first line now. */
  resized() {
    // A browser then moves what is scrolled: no person has.
    if (this.element.clientHeight) this.moveTo(this.top);
    const { fitted } = this;
    this.fitted = this.visible;
    this.onresize(fitted);
    this.draw();
  }

  draw() {
    const first = Math.floor(this.top);
    const end = Math.min(this.count, Math.ceil(this.top + this.visible) + 1);
    for (const [index, line] of this.lines) {
      if (index < first || index >= end) {
        line.remove();
        this.lines.delete(index);
      }
    }
    /** @type {HTMLElement | undefined} */
    let before;
    for (let index = first; index < end; index++) {
      let line = this.lines.get(index);
      if (!line) {
        line = make("div", { class: "line" });
        this.lines.set(index, line);
        // Screen readers read elements in their order, wherever they are drawn.
        this.window.insertBefore(line, before ? before.nextSibling : this.window.firstChild);
      }
      before = line;
      line.style.top = `${(index - this.top) * this.lineHeight}px`;
      this.render(index, line);
    }
  }

  scrolled() {
    // A list that was hidden meanwhile is at 0, but nobody has scrolled it.
    if (!this.element.clientHeight) return;
    if (Math.abs(this.element.scrollTop - this.set) <= 1) return;
    this.set = this.element.scrollTop;
    const room = this.element.scrollHeight - this.element.clientHeight;
    this.top = room > 0 ? (this.set / room) * this.last : 0;
    this.onmove();
    press.end();
    this.redraw();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    const lines = event.deltaMode === 0 ? event.deltaY / this.lineHeight : event.deltaY;
    this.moveTo(this.top + lines);
    this.onmove();
  }

  /** Height of most lines in pixels, as in the style sheet. */
  static LINE = 22;

  /** Greatest height of the scrolled element: browsers allow about 33 million pixels. */
  static TALLEST = 8_000_000;
}
