// What is stored and listed, in the line at the foot of the page.

import { byId, make, plural } from "./dom.js";

/** @typedef {import("./protocol.d.ts").StoreState} StoreState */

export class StateLine {
  constructor() {
    this.element = byId("state", HTMLElement);
    this.progress = byId("progress", HTMLProgressElement);
    this.empty = byId("empty", HTMLElement);
    /** How many packets the search has found. */
    this.found = byId("search-count", HTMLElement);
    /** What is read out: a change of kind, once, and no number that runs. */
    this.spoken = byId("spoken", HTMLElement);
    /** The state that was read out. */
    this.kind = "";
    /** `false` from when a search begins until its matches are read out. */
    this.searched = true;
  }

  /** Has a text read out. @param {string} text */
  speak(text) {
    this.spoken.textContent = text;
  }

  /** Says that there is no connection. @param {string} why */
  fail(why) {
    this.element.textContent = why;
    this.element.className = "bad";
    this.kind = why;
    this.speak(why);
  }

  /**
   * @param {StoreState} message
   * @param {boolean} everything `true` if no filter, session or time leaves packets out
   * @param {boolean} filtered `true` if a filter does
   * @param {boolean} live
   * @param {string | null} listening the address at which the game reaches a running proxy
   */
  show(message, everything, filtered, live, listening) {
    const { total, done, all } = message.list;
    // Only filters and searches list a rewritten packet and what was sent in its place apart.
    const held = message.end - message.first - (filtered || message.search ? 0 : message.replacements);
    // What is left out then is said apart, or is part of a row.
    const parts = [total === held || everything ? plural(held, "packet") : `${total.toLocaleString("en")} of ${plural(held, "packet")}`];
    if (message.first > 0) {
      const why = message.limit ? ` (${message.limit})` : "";
      parts.push(`${plural(message.first, "older packet")} not held${why}`);
    }
    const read = message.complete ? 1 : message.read ?? 1;
    const phase = message.complete ? "complete" : live ? "live" : "reading…";
    parts.push(message.complete || live ? phase : `${phase} ${Math.floor(read * 100)} %`);
    if (message.fault) parts.push(message.fault);
    if (message.hidden) parts.push(`${message.hidden} hidden`);
    if (message.cleared) parts.push(`${message.cleared.toLocaleString("en")} cleared`);
    if (message.sorting === "busy") parts.push("sorting…");
    if (message.sorting === "too_many") parts.push("not sorted: filter the list to at most 1,000,000 packets");
    if (message.saved) parts.push(message.saved);
    this.element.textContent = parts.join(", ");
    this.element.className = "";
    const kind = [phase, message.fault ? "packets are missing" : "", message.sorting === "busy" ? "sorting…" : "", message.saved ?? ""].filter(Boolean).join(", ");
    if (kind !== this.kind) this.speak(kind);
    this.kind = kind;
    const { empty } = this;
    const waiting = live && listening !== null && message.end === 0;
    const nothing = !live && message.complete && message.end === 0;
    const unmatched = held > 0 && total === 0 && done === all && !everything;
    empty.hidden = !waiting && !nothing && !unmatched;
    if (waiting) empty.replaceChildren("No packets yet. In the game, choose Multiplayer, Direct Connection, and connect to ", make("code", {}, listening), ".");
    else if (nothing) empty.textContent = "No packets. Drop a capture here, or open one.";
    else if (unmatched) empty.textContent = `None of ${plural(held, "packet")} is listed: clear the filter, or choose all sessions, to see them.`;
    // Of the filter, or of the files while they are read.
    const found = all ? done / all : 1;
    this.progress.hidden = found === 1 && read === 1;
    this.progress.value = read < 1 ? read : found;
    const search = message.search;
    const searched = !search || search.done === search.all;
    if (search && searched && !this.searched) this.speak(plural(search.total, "match").replace(/matchs$/, "matches"));
    if (searched) this.searched = true;
    this.found.textContent = search ? `${plural(search.total, "match").replace(/matchs$/, "matches")}${search.done < search.all ? "…" : ""}` : "";
  }
}
