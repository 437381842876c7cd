// The list of sessions.

import { make, patch, plural, press, size } from "./dom.js";

/** @typedef {import("./protocol.d.ts").SessionInfo} Session */

/** Stands for all sessions that are only pings. */
const PINGS = -1;

/** Most sessions that a list selects. */
const MOST = 500;

/** Returns `true` for a session that has only asked for the server's status. @param {Session} session */
export function isPing({ player, legs }) {
  return player === null && legs?.state === "status";
}

export class Sessions {
  /** @param {HTMLElement} element @param {(sessions: number[]) => void} onSelect */
  constructor(element, onSelect) {
    this.element = element;
    this.onSelect = onSelect;
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
      const played = this.sessions.filter((it) => !isPing(it)).map((it) => it.session);
      const all = [0, ...played, ...(played.length < this.sessions.length ? [PINGS] : [])];
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

  /** The sessions that have ended. */
  ended() {
    return this.sessions.filter((it) => it.closed !== null).map((it) => it.session);
  }

  /** @param {Session[]} all */
  update(all) {
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
    const items = this.sessions.filter((it) => !isPing(it)).map((it) => {
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
    const folded = pings.length ? [item(PINGS, make("strong", {}, plural(pings.length, "ping")), make("small", {}, "of the multiplayer list"))] : [];
    const all = item(0, make("strong", {}, "All sessions"));
    press.draw(this, () => {
      patch(this.element, all, ...items, ...folded);
      this.element.setAttribute("aria-activedescendant", `session-${this.selected}`);
    });
  }
}
