// The end of a long list to which items are added.

/** @typedef {import("./virtual_list.js").VirtualList} VirtualList */
/** @template T @typedef {import("./pages.js").Pages<T>} Pages */

/** Moves a list to its newest items once they are known: what is on the screen stays until then. */
export class Tail {
  /**
   * @param {VirtualList} list
   * @param {Pages<any>} pages what its lines show
   * @param {() => boolean} follows whether the newest items are to be seen
   */
  constructor(list, pages, follows) {
    this.list = list;
    this.pages = pages;
    this.follows = follows;
    /** The number of items that there are. */
    this.total = 0;
    /** `true` while items are on their way. */
    this.loading = false;
    /** How often the list was moved. */
    this.moves = 0;
  }

  /** Takes the number of items that there are. @param {number} total */
  async take(total) {
    this.total = total;
    if (!this.follows() || this.move(total) || this.loading) return;
    this.loading = true;
    try {
      for (let done = false; !done && this.follows();) {
        const { moves, total, pages: { generation } } = this;
        await this.pages.load(this.first(total), total - 1);
        // A person has gone elsewhere meanwhile.
        if (!this.follows()) return;
        const same = generation === this.pages.generation;
        // Also if some of them are gone by now.
        if (same && moves === this.moves) this.moveTo(total);
        // More can have come meanwhile, or another list.
        done = (same && total === this.total) || this.move(this.total);
      }
    } finally {
      this.loading = false;
    }
  }

  /** Moves to the end of that many items. Returns `false` if the last ones are not known. @param {number} total */
  move(total) {
    const known = this.pages.has(this.first(total), total);
    if (known) this.moveTo(total);
    return known;
  }

  /** The first item that is seen if that many have come. @param {number} total */
  first(total) {
    return Math.max(0, Math.floor(total - this.list.visible));
  }

  /** @param {number} total */
  moveTo(total) {
    this.moves++;
    this.list.setCount(total);
    this.list.moveTo(this.list.last);
  }
}
