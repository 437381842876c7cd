// A list of lines of any height, of which only those around the visible ones exist.

import { make } from "./dom.js";
import { VirtualList } from "./virtual_list.js";

/** Lines above and below the visible ones that are elements, too: where the wheel gets to is known exactly. */
const MORE = 10;

/**
 * A place in the list is a line and a part of it, so that only the heights of lines around the visible ones need to be
 * known. The scrollbar goes by the number of lines.
 */
export class WrappedList extends VirtualList {
  /**
   * @param {HTMLElement} element
   * @param {(index: number, line: HTMLElement) => void} render fills a line
   * @param {(index: number) => number | string} key what keeps its element wherever it is
   */
  constructor(element, render, key) {
    super(element, render);
    this.key = key;
    this.top = 0;
    this.rows = make("div", { role: "presentation" });
    this.window.append(this.rows);
    element.classList.add("wrapped");
    /** The elements by their keys. @type {Map<number | string, HTMLElement>} */
    this.shown = new Map();
    /** The heights of the lines that are elements. @type {Map<number, number>} */
    this.heights = new Map();
    /** The lines that fit, as far as was seen. */
    this.fit = 1;
    /** `true` while the last line stays at the lower edge, also when others come. */
    this.atEnd = true;
    /** Called when lines were drawn. */
    this.ondraw = () => {};
  }

  get visible() {
    return Math.min(this.fit, this.count);
  }

  /** @param {number} count */
  setCount(count) {
    this.count = count;
    // Where the list ends is seen when it is drawn.
    this.top = Math.min(this.top, Math.max(0, count - 1));
    this.redraw();
  }

  resized() {
    this.draw();
  }

  /** @param {number} top */
  moveTo(top) {
    this.atEnd = false;
    this.top = Math.min(Math.max(0, top), Math.max(0, this.count - 1));
    this.redraw();
  }

  moveToEnd() {
    this.atEnd = true;
    this.redraw();
  }

  /** @param {number} index */
  height(index) {
    return this.heights.get(index) ?? VirtualList.LINE;
  }

  /** Moves by a number of pixels. @param {number} pixels */
  moveBy(pixels) {
    let index = Math.floor(this.top);
    let offset = (this.top - index) * this.height(index) + pixels;
    while (offset < 0 && index > 0) offset += this.height(--index);
    while (offset >= this.height(index) && index < this.count - 1) offset -= this.height(index++);
    this.moveTo(index + Math.min(Math.max(0, offset / this.height(index)), 0.999));
  }

  /** @param {number} index */
  reveal(index) {
    if (index < this.top) {
      this.moveTo(index);
      return;
    }
    // The place at which it is the last line that is seen.
    let room = this.element.clientHeight;
    let first = index + 1;
    while (first > 0 && room > 0) room -= this.height(--first);
    const lowest = first + Math.max(0, -room) / this.height(first);
    if (!this.atEnd && lowest > this.top) this.moveTo(lowest);
  }

  draw() {
    const room = this.element.clientHeight;
    // It is not seen.
    if (!room) return;
    this.window.style.height = `${room}px`;
    this.window.style.marginBottom = `${-room}px`;
    // Every line has at least this height.
    const fill = Math.ceil(room / VirtualList.LINE) + 1;
    const least = Math.max(0, this.count - fill);
    let first = this.atEnd ? least : Math.min(Math.floor(this.top), least);
    const start = Math.max(0, first - MORE);
    const offsets = this.layOut(start, Math.min(this.count, Math.max(first, Math.floor(this.top)) + fill + MORE));
    const last = offsets.at(-1) ?? 0;
    const ends = start + offsets.length - 1 === this.count;
    /** What is at the upper edge, in pixels from the first element. */
    let upper = (offsets[Math.floor(this.top) - start] ?? 0) + (this.top % 1) * this.height(Math.floor(this.top));
    if (this.atEnd || (ends && last - upper <= room)) {
      this.atEnd = true;
      upper = Math.max(0, last - room);
      first = placeOf(offsets, upper);
      this.top = this.count ? start + first + (upper - (offsets[first] ?? 0)) / this.height(start + first) : 0;
    }
    this.rows.style.transform = `translateY(${-upper}px)`;
    const lower = placeOf(offsets, upper + room);
    const below = start + lower + (upper + room - (offsets[lower] ?? 0)) / this.height(start + lower);
    this.fit = Math.max(1, Math.min(this.count, below) - this.top);
    // All lines exist if there are few: then their height is known.
    const height = start === 0 && ends ? last : Math.min(Math.max(this.count * VirtualList.LINE, room + 1), VirtualList.TALLEST);
    this.spacer.style.height = `${height}px`;
    const free = this.element.scrollHeight - room;
    this.set = this.atEnd ? free : this.last ? Math.round(Math.min(1, this.top / this.last) * free) : 0;
    if (this.element.scrollTop !== this.set) this.element.scrollTop = this.set;
    this.ondraw();
  }

  /** Makes the lines from one to before another the elements. Returns where each begins, and where the last ends. @param {number} start @param {number} end */
  layOut(start, end) {
    const keys = new Map();
    for (let index = start; index < end; index++) keys.set(this.key(index), index);
    for (const [key, line] of this.shown) {
      if (keys.has(key)) continue;
      line.remove();
      this.shown.delete(key);
    }
    let place = this.rows.firstChild;
    for (const [key, index] of keys) {
      const line = this.shown.get(key) ?? make("div", { class: "line" });
      this.shown.set(key, line);
      if (line === place) place = place.nextSibling;
      else this.rows.insertBefore(line, place);
      this.render(index, line);
    }
    this.heights.clear();
    let bottom = 0;
    const offsets = [0];
    for (const [key, index] of keys) {
      const height = this.shown.get(key)?.offsetHeight ?? VirtualList.LINE;
      this.heights.set(index, height);
      offsets.push(bottom += height);
    }
    return offsets;
  }

  scrolled() {
    const { set } = this;
    super.scrolled();
    if (this.set === set) return;
    this.atEnd = this.set >= this.element.scrollHeight - this.element.clientHeight - 1;
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    this.moveBy(event.deltaMode === 0 ? event.deltaY : event.deltaY * VirtualList.LINE);
    this.onmove();
  }
}

/** Returns the last of some ascending offsets that is not beyond a place. @param {number[]} offsets @param {number} place */
function placeOf(offsets, place) {
  let last = 0;
  while (last + 1 < offsets.length && (offsets[last + 1] ?? Infinity) <= place) last++;
  return last;
}
