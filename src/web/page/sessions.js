// The list of sessions.

import { make, patch, plural, press, size } from "./dom.js";

/** @typedef {import("./protocol.d.ts").SessionInfo} Session */

/** Stands for all sessions that are only pings. */
const PINGS = -1;

/** Most sessions that a list selects. */
const MOST = 500;

/** Most sessions that are elements: the newest of those that are searched. */
const SHOWN = 100;

/** Sessions from which on they can be searched. */
const MANY = 10;

/** Returns `true` for a session that has only asked for the server's status. @param {Session} session */
export function isPing({ player, legs }) {
  return player === null && legs?.state === "status";
}

export class Sessions {
  /**
   * @param {HTMLElement} element
   * @param {(sessions: number[]) => void} onSelect
   * @param {HTMLInputElement} [search] what is typed there is searched
   * @param {HTMLElement} [more] says what is not shown
   */
  constructor(element, onSelect, search = make("input", {}), more = make("p", {})) {
    this.element = element;
    this.onSelect = onSelect;
    this.search = search;
    this.more = more;
    /** Sessions that mitmcraft does not list any more. */
    this.forgotten = 0;
    search.addEventListener("input", () => this.draw());
    /** @type {Session[]} */
    this.sessions = [];
    /** 0 for all, `PINGS` for those that are folded. */
    this.selected = 0;
    /** The sessions that are left out. @type {Set<number>} */
    this.cleared = new Set();
    /** Packets and bytes of each session when rates were last known, and that time. @type {Map<number, [number, number]>} */
    this.counts = new Map();
    this.at = 0;
    /** Packets and bytes per second. @type {Map<number, number[]>} */
    this.rates = new Map();
    element.addEventListener("click", (event) => {
      const item = event.target instanceof Element ? event.target.closest("li") : null;
      if (item) this.select(Number(item.dataset.session));
    });
    element.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const pings = this.sessions.some(isPing) && !this.search.value ? [PINGS] : [];
      const all = [0, ...this.shown().map((it) => it.session), ...pings];
      const index = all.indexOf(this.selected) + step;
      this.select(all[Math.min(Math.max(0, index), all.length - 1)] ?? 0);
    });
  }

  /** @param {number} session */
  select(session) {
    this.selected = session;
    this.draw();
    const pings = this.sessions.filter(isPing).slice(-MOST).map((it) => it.session);
    this.onSelect(session === PINGS ? pings : session ? [session] : []);
  }

  /** The sessions that are searched, in their order; those with a player, or that may get one. */
  found() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    return this.sessions.filter((it) => !isPing(it) && words.every((word) => textOf(it).includes(word)));
  }

  /** Those that are shown: the newest, and the one that is selected. @param {Session[]} [found] */
  shown(found = this.found()) {
    const newest = found.slice(-SHOWN);
    const chosen = newest.some((it) => it.session === this.selected) ? [] : this.sessions.filter((it) => it.session === this.selected);
    return [...chosen, ...newest];
  }

  /** The sessions that have ended. */
  ended() {
    return this.sessions.filter((it) => it.closed !== null).map((it) => it.session);
  }

  /** @param {Session[]} all @param {number} [forgotten] sessions that are not among them any more */
  update(all, forgotten = 0) {
    this.forgotten = forgotten;
    const sessions = all.filter((it) => !this.cleared.has(it.session));
    const now = performance.now();
    const seconds = (now - this.at) / 1000;
    if (seconds > 0.4) {
      for (const it of sessions) {
        const before = this.counts.get(it.session);
        if (before) this.rates.set(it.session, [(it.packets - before[0]) / seconds, (it.bytes - before[1]) / seconds]);
      }
      this.counts = new Map(sessions.map((it) => [it.session, [it.packets, it.bytes]]));
      this.at = now;
    }
    this.sessions = sessions;
    this.draw();
  }

  draw() {
    const item = (/** @type {number} */ number, /** @type {(string | Node)[]} */ ...parts) =>
      make("li", {
        id: `session-${number}`, "data-key": number, role: "option", "data-session": number,
        "aria-selected": number === this.selected,
      }, ...parts);
    const found = this.found();
    const items = this.shown(found).map((it) => {
      const open = it.closed === null;
      const rate = this.rates.get(it.session);
      const state = open ? (it.legs?.state ?? "open") : "closed";
      const seconds = Math.max(0, (it.last - it.opened) / 1000);
      return item(
        it.session,
        make("strong", {}, `#${it.session} ${it.player ?? it.client}`),
        make("small", {}, `${it.version}, ${state}, ${seconds.toFixed(seconds < 100 ? 1 : 0)} s`),
        make("small", {}, `${plural(it.packets, "packet")}, ${size(it.bytes)}`),
        ...(open && rate ? [make("small", { class: "rate" }, `${(rate[0] ?? 0).toFixed(0)}/s, ${size(Math.round(rate[1] ?? 0))}/s`)] : []),
        make("small", {}, `${it.player ? `${it.client} ` : ""}→ ${it.server ?? it.upstream}`),
        ...(it.waits ? [make("small", {}, it.waits)] : []),
        ...(it.capture ? [make("small", {}, it.capture)] : []),
        ...(open ? [] : [make("small", {}, it.closed)]),
      );
    });
    const pings = this.sessions.filter(isPing);
    const folded = pings.length && !this.search.value ? [item(PINGS, make("strong", {}, plural(pings.length, "ping")), make("small", {}, "of the multiplayer list"))] : [];
    const all = item(0, make("strong", {}, "All sessions"));
    const rest = found.length - SHOWN;
    const hints = [
      rest > 0 ? `${plural(rest, "older session")}: search for them above.` : "",
      this.search.value && !found.length ? "No session has this." : "",
      this.forgotten ? `${plural(this.forgotten, "session")} before these ${this.forgotten === 1 ? "is" : "are"} not listed any more; a filter such as session.id == 5 finds their packets.` : "",
    ];
    press.draw(this, () => {
      this.search.hidden = this.sessions.length < MANY && !this.search.value;
      this.more.textContent = hints.filter(Boolean).join(" ");
      patch(this.element, all, ...items, ...folded);
      this.element.setAttribute("aria-activedescendant", `session-${this.selected}`);
    });
  }
}

/** What is searched of a session. @param {Session} session */
function textOf({ session, player, client, server, upstream, version, closed, waits, capture }) {
  return [`#${session}`, player, client, server ?? upstream, version, closed === null ? "open" : `closed ${closed}`, waits, capture].filter(Boolean).join(" ").toLowerCase();
}
