// The list of sessions.

import { make, plural, size } from "./dom.js";

/** @typedef {Record<string, any>} Session */

export class Sessions {
  /** @param {HTMLElement} element @param {(sessions: number[]) => void} onSelect */
  constructor(element, onSelect) {
    this.element = element;
    this.onSelect = onSelect;
    /** @type {Session[]} */
    this.sessions = [];
    /** 0 for all. */
    this.selected = 0;
    element.addEventListener("click", (event) => {
      const item = event.target instanceof Element ? event.target.closest("li") : null;
      if (item) this.select(Number(item.dataset.session));
    });
    element.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const all = [0, ...this.sessions.map((it) => it.session)];
      const index = all.indexOf(this.selected) + step;
      this.select(all[Math.min(Math.max(0, index), all.length - 1)] ?? 0);
    });
  }

  /** @param {number} session */
  select(session) {
    this.selected = session;
    this.draw();
    this.onSelect(session ? [session] : []);
  }

  /** @param {Session[]} sessions */
  update(sessions) {
    this.sessions = sessions;
    this.draw();
  }

  draw() {
    const item = (/** @type {number} */ number, /** @type {(string | Node)[]} */ ...parts) =>
      make("li", {
        id: `session-${number}`, role: "option", "data-session": number,
        "aria-selected": number === this.selected,
      }, ...parts);
    const items = this.sessions.map((it) => {
      const open = it.closed === null;
      const state = open ? (it.legs?.state ?? "open") : "closed";
      const seconds = Math.max(0, (it.last - it.opened) / 1000);
      return item(
        it.session,
        make("strong", {}, `#${it.session} ${it.player ?? it.client}`),
        make("small", {}, `${it.version}, ${state}, ${seconds.toFixed(seconds < 100 ? 1 : 0)} s`),
        make("small", {}, `${plural(it.packets, "packet")}, ${size(it.bytes)}`),
        make("small", {}, `${it.player ? `${it.client} ` : ""}→ ${it.server ?? it.upstream}`),
        ...(it.capture ? [make("small", {}, it.capture)] : []),
        ...(open ? [] : [make("small", {}, it.closed)]),
      );
    });
    this.element.replaceChildren(item(0, make("strong", {}, "All sessions")), ...items);
    this.element.setAttribute("aria-activedescendant", `session-${this.selected}`);
  }
}
