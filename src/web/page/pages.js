// Pages of a long list, which are asked for as their lines become visible.

import { unlessLost } from "./connection.js";

/** Items of a page. */
const PAGE = 100;

/** Most pages that are kept. */
const MOST = 60;

/** @template T @typedef {{ items: T[], fresh: boolean, asked: boolean }} Page items, whether they are still right, and whether they were asked for */

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
  }

  /** Returns an item, if it is known. @param {number} index @returns {T | undefined} */
  at(index) {
    return this.pages.get(Math.floor(index / PAGE))?.items[index % PAGE];
  }

  /** @param {number} number @returns {Page<T>} */
  page(number) {
    const page = this.pages.get(number) ?? { items: [], fresh: false, asked: false };
    this.pages.set(number, page);
    return page;
  }

  /** Asks for the pages of items that are about to be seen, unless they are right. @param {number} first @param {number} last */
  async load(first, last) {
    const answers = [];
    for (let number = Math.floor(first / PAGE); number * PAGE <= last; number++) {
      const page = this.page(number);
      if (!page.fresh) answers.push(this.fetch(number, page));
    }
    await Promise.all(answers);
  }

  /** Returns an item that is seen, and asks for its page unless that is right. @param {number} index @returns {T | undefined} */
  see(index) {
    const number = Math.floor(index / PAGE);
    const page = this.page(number);
    if (!page.fresh && !page.asked) unlessLost(this.fetch(number, page));
    const [oldest] = this.pages.keys();
    // Those asked for first are the farthest away, as a rule.
    if (this.pages.size > MOST && oldest !== undefined && oldest !== number) this.pages.delete(oldest);
    return page.items[index % PAGE];
  }

  /** @param {number} number @param {Page<T>} page */
  async fetch(number, page) {
    const { generation } = this;
    page.asked = true;
    const items = await this.ask(number * PAGE, PAGE);
    if (generation !== this.generation) return;
    page.items = items;
    page.fresh = true;
    page.asked = false;
    this.onload();
  }

  /** Iterates over all items that are known. */
  *known() {
    for (const page of this.pages.values()) yield* page.items;
  }

  /** Returns the index of a known item, or `null`. @param {(item: T) => boolean} test */
  find(test) {
    for (const [number, page] of this.pages) {
      const place = page.items.findIndex(test);
      if (place >= 0) return number * PAGE + place;
    }
    return null;
  }

  /** There are more items behind those that there were. */
  grow() {
    for (const page of this.pages.values()) page.fresh = page.fresh && page.items.length === PAGE;
  }

  /** The items may be others: they are asked for again, and shown until then. */
  change() {
    for (const page of this.pages.values()) page.fresh = false;
  }

  /** As `change`, and what is on its way does not count. */
  renew() {
    this.generation++;
    for (const page of this.pages.values()) page.fresh = page.asked = false;
  }

  /** The list is another one. */
  clear() {
    this.generation++;
    this.pages.clear();
  }
}
