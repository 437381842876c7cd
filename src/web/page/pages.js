// Pages of a long list, which are asked for as their lines become visible, or come unasked.

import { unlessLost } from "./connection.js";

/** Items of a page. */
const PAGE = 100;

/** Most pages that are kept. */
const MOST = 60;

/**
 * `fresh`: all items that there were have come. `stale`: those that are known may be others by now. `unasked`: those that
 * came while an answer was on its way.
 * @template T @typedef {{ items: (T | undefined)[], unasked: (T | undefined)[], fresh: boolean, stale: boolean, asked: boolean }} Page
 */

/** @template T */
export class Pages {
  /**
   * @param {(start: number, count: number) => Promise<T[]>} ask
   * @param {() => void} onload called when items have come
   */
  constructor(ask, onload) {
    this.ask = ask;
    this.onload = onload;
    /** @type {Map<number, Page<T>>} */
    this.pages = new Map();
    this.generation = 0;
    /** How often items have become others: an answer from before is shown, but asked for again. */
    this.changes = 0;
    /** How often there were more: a page that was not full is asked for again when one of them is seen. */
    this.growths = 0;
  }

  /** Returns an item, if it is known. @param {number} index @returns {T | undefined} */
  at(index) {
    return this.pages.get(Math.floor(index / PAGE))?.items[index % PAGE];
  }

  /** Returns `true` if all items from one to before another are known. @param {number} first @param {number} end */
  has(first, end) {
    for (let index = first; index < end; index++) if (this.at(index) === undefined) return false;
    return true;
  }

  /** @param {number} number @returns {Page<T>} */
  page(number) {
    const page = this.pages.get(number) ?? { items: [], unasked: [], fresh: false, stale: false, asked: false };
    this.pages.set(number, page);
    return page;
  }

  /** Takes items that came unasked. @param {number} start @param {T[]} items */
  take(start, items) {
    items.forEach((item, at) => {
      const index = start + at;
      const page = this.page(Math.floor(index / PAGE));
      page.items[index % PAGE] = item;
      if (page.asked) page.unasked[index % PAGE] = item;
    });
    this.limit(Math.floor((start + items.length) / PAGE));
  }

  /** Asks for the pages of items that are about to be seen, unless they are right. @param {number} first @param {number} last */
  async load(first, last) {
    const answers = [];
    for (let number = Math.floor(first / PAGE); number * PAGE <= last; number++) {
      const page = this.page(number);
      const known = this.has(Math.max(first, number * PAGE), Math.min(last + 1, (number + 1) * PAGE));
      if (page.stale || !(page.fresh || known)) answers.push(this.fetch(number, page));
    }
    await Promise.all(answers);
  }

  /** Returns an item that is seen, and asks for its page unless that is right. @param {number} index @returns {T | undefined} */
  see(index) {
    const number = Math.floor(index / PAGE);
    const page = this.page(number);
    const item = page.items[index % PAGE];
    if (!page.asked && (page.stale || !(page.fresh || item !== undefined))) unlessLost(this.fetch(number, page));
    this.limit(number);
    return item;
  }

  /** Forgets a page if there are too many. @param {number} number of a page that is needed */
  limit(number) {
    const [oldest] = this.pages.keys();
    // Those asked for first are the farthest away, as a rule.
    if (this.pages.size > MOST && oldest !== undefined && oldest !== number) this.pages.delete(oldest);
  }

  /** @param {number} number @param {Page<T>} page */
  async fetch(number, page) {
    const { generation, changes, growths } = this;
    page.asked = true;
    page.unasked = [];
    const items = await this.ask(number * PAGE, PAGE);
    if (generation !== this.generation) return;
    // The others that were known are gone.
    page.items = [...items, ...page.unasked.slice(items.length)];
    page.stale = changes !== this.changes;
    page.fresh = !page.stale && (growths === this.growths || items.length === PAGE);
    page.asked = false;
    this.onload();
  }

  /** Iterates over all items that are known. */
  *known() {
    for (const page of this.pages.values()) {
      for (const item of page.items) if (item !== undefined) yield item;
    }
  }

  /** Returns the index of a known item, or `null`. @param {(item: T) => boolean} test */
  find(test) {
    for (const [number, page] of this.pages) {
      const place = page.items.findIndex((item) => item !== undefined && test(item));
      if (place >= 0) return number * PAGE + place;
    }
    return null;
  }

  /** There are more items behind those that there were. */
  grow() {
    this.growths++;
    for (const page of this.pages.values()) page.fresh = page.fresh && this.full(page);
  }

  /** @param {Page<T>} page */
  full({ items }) {
    return items.length === PAGE && !items.includes(undefined);
  }

  /** The items may be others: they are asked for again, and shown until then. */
  change() {
    this.changes++;
    for (const page of this.pages.values()) {
      page.fresh = false;
      page.stale = true;
    }
  }

  /** As `change`, and what is on its way does not count. */
  renew() {
    this.generation++;
    this.change();
    for (const page of this.pages.values()) page.asked = false;
  }

  /** The list is another one. */
  clear() {
    this.generation++;
    this.pages.clear();
  }
}
