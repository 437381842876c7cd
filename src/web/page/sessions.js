// The list of sessions: searched and sorted by mitmcraft, of which only what is visible is asked for and drawn.

import { unlessLost } from "./connection.js";
import { make, patch, plural, press, size } from "./dom.js";
import { Pages } from "./pages.js";
import { VirtualList } from "./virtual_list.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").SessionInfo} Session */
/** @typedef {import("./protocol.d.ts").SessionKind} Kind */
/** @typedef {import("./protocol.d.ts").SessionMark} Mark */
/** @typedef {import("./protocol.d.ts").SessionOrder} Order */
/** @typedef {import("./protocol.d.ts").AnswerTo<"sessions">} Answer */
/** Packets and bytes of a session at a time, and what came per second before it. @typedef {{ packets: number, bytes: number, at: number, rate: [number, number] | null }} Count */

/** Stands for all sessions that are only pings. */
const PINGS = -1;

/** Most sessions that a list selects. */
const MOST = 500;

/** Sessions from which on they can be searched. */
const MANY = 10;

/** Height of a session in pixels, as in the style sheet. */
const LINE = 44;

/** Most sessions whose rates are known. */
const MOST_RATES = 2000;

/** Milliseconds over which a rate is taken. */
const RATE = 400;

/** The orders that are offered, by their names. @type {[string, Order, boolean][]} */
const ORDERS = [
  ["Oldest first", "number", false], ["Newest first", "number", true], ["By player", "player", false], ["By address", "client", false],
  ["Most packets", "packets", true], ["Most bytes", "bytes", true], ["Active last", "last", true],
];

export class Sessions {
  /**
   * @param {Connection} connection
   * @param {HTMLElement} element
   * @param {{ onselect: (sessions: number[]) => void, onopen: (last: boolean) => void, onexplain: () => void }} on called when others are selected, when the first or the last packet of the selected one is wanted, and the reason of its end
   */
  constructor(connection, element, { onselect, onopen, onexplain }) {
    this.connection = connection;
    this.onselect = onselect;
    /** What is typed here is searched. */
    this.search = make("input", { id: "session-search", type: "search", spellcheck: "false", autocomplete: "off", placeholder: "player, address, version, end…", "aria-label": "Search sessions" });
    const option = (/** @type {string} */ value, /** @type {string} */ name) => make("option", { value }, name);
    this.only = make("select", { id: "session-only", "aria-label": "Which sessions" }, option("players", "All"), option("open", "Open"), option("ended", "Ended"));
    this.order = make("select", { id: "session-order", "aria-label": "Order of the sessions" }, ...ORDERS.map(([name], at) => option(String(at), name)));
    this.tools = make("div", { id: "session-tools", hidden: "" }, this.search, this.only, this.order);
    this.element = make("div", { id: "session-list", role: "listbox", "aria-labelledby": "sessions-title", tabindex: 0 });
    /** What is known of the selected session. */
    this.facts = make("div", { id: "session-facts", role: "group", "aria-label": "Selected session", hidden: "" });
    /** Says what is not listed. */
    this.more = make("p", { id: "session-more" });
    element.append(this.tools, this.element, this.facts, this.more);
    this.list = new VirtualList(this.element, (index, line) => this.line(index, line), undefined, LINE);
    /** @type {Pages<Session>} */
    this.pages = new Pages((start, count) => this.ask(start, count), () => this.list.redraw());
    const button = (/** @type {string} */ name, /** @type {() => void} */ act) => make("button", { type: "button", onclick: act }, name);
    this.bar = make("div", { class: "bar" }, button("First packet", () => onopen(false)), button("Last packet", () => onopen(true)), button("Explain", onexplain));
    this.dl = make("dl", {});
    this.facts.append(this.bar, this.dl);
    /** The sessions that are searched and listed, and those that are only pings. */
    this.total = 0;
    this.pings = 0;
    /** Sessions that mitmcraft does not list any more. */
    this.forgotten = 0;
    /** The sessions that have ended so far, and those of them that are left out. @type {Mark | null} */
    this.mark = null;
    this.cleared = /** @type {Mark | null} */ (null);
    /** `true` once mitmcraft has told its sessions. */
    this.known = false;
    /** The number of the selected session; 0 for all, `PINGS` for those that are folded. */
    this.selected = 0;
    /** The line of it; where it was if it is none any more. */
    this.index = 0;
    /** What is known of it. @type {Session | null} */
    this.one = null;
    /** Grows with each selection: one that is still on its way comes too late. */
    this.turn = 0;
    /** @type {Map<number, Count>} */
    this.counts = new Map();
    this.updating = false;
    for (const it of [this.only, this.order]) it.addEventListener("change", () => unlessLost(this.searchAgain()));
    this.search.addEventListener("input", () => unlessLost(this.searchAgain()));
    this.element.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line") : null;
      if (!(line instanceof HTMLElement)) return;
      const { session, index } = line.dataset;
      if (session === undefined) this.go(Number(index));
      // What was pressed, also if something else stands in its place by now.
      else this.choose(Number(session), Number(index));
    });
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Asks again for what is shown. */
  async update() {
    if (this.updating) return;
    this.updating = true;
    try {
      this.pages.change();
      const [first, end] = this.list.seenFrom(this.list.top);
      await this.load(first, end);
    } finally {
      this.updating = false;
    }
  }

  /** Asks again: the connection is a new one, or other sessions are to be shown. What is on the screen stays until they come. */
  async renew() {
    this.updating = false;
    this.pages.renew();
    await this.update();
  }

  searchAgain() {
    this.list.moveTo(0);
    return this.renew();
  }

  /** Asks for what some lines show. @param {number} first @param {number} end */
  load(first, end) {
    return this.pages.load(Math.max(0, first - 1), Math.max(0, first - 1, end - 2));
  }

  /** @param {number} start @param {number} count */
  async ask(start, count) {
    const { generation } = this.pages;
    const [, by, descending] = ORDERS[Number(this.order.value)] ?? ORDERS[0] ?? ["", "number", false];
    const only = /** @type {Kind} */ (this.only.value);
    const anchor = this.selected > 0 ? this.selected : null;
    const answer = await this.connection.ask("sessions", { text: this.search.value, only, by, descending, after: this.cleared, start, count, anchor });
    if (answer.error) return [];
    if (generation === this.pages.generation) this.take(answer, anchor);
    return answer.sessions;
  }

  /** @param {Answer} answer @param {number | null} anchor the session that was selected */
  take(answer, anchor) {
    this.known = true;
    this.total = answer.total;
    this.pings = answer.pings;
    this.forgotten = answer.left_out;
    this.mark = answer.mark;
    this.count([...answer.sessions, ...(answer.anchored ? [answer.anchored] : [])]);
    if (anchor !== null && anchor === this.selected) {
      this.one = answer.anchored;
      if (answer.anchor !== null) this.index = answer.anchor + 1;
    } else if (this.selected === PINGS) this.index = this.total + 1;
    this.draw();
  }

  /** Takes the rates of some sessions. @param {Session[]} sessions */
  count(sessions) {
    if (this.counts.size > MOST_RATES) this.counts.clear();
    const at = performance.now();
    for (const { session, packets, bytes } of sessions) {
      const before = this.counts.get(session);
      const seconds = before ? (at - before.at) / 1000 : 0;
      if (before && seconds * 1000 < RATE) continue;
      this.counts.set(session, { packets, bytes, at, rate: before ? [(packets - before.packets) / seconds, (bytes - before.bytes) / seconds] : null });
    }
  }

  /** Leaves out the sessions that have ended so far, or none. @param {Mark | null} [mark] */
  clear(mark = this.mark ?? this.cleared) {
    this.cleared = mark;
    return this.renew();
  }

  /** `true` if a line stands for all pings. */
  get folds() {
    return this.pings > 0 && this.only.value === "players" && !this.search.value;
  }

  /** The number that a line shows; `undefined` if that is still on its way. @param {number} index */
  numberAt(index) {
    if (index === 0) return 0;
    return index > this.total ? PINGS : this.pages.at(index - 1)?.session;
  }

  /** Selects the session of a line. What is on the screen stays until it can be read. @param {number} index */
  go(index) {
    const target = Math.min(Math.max(0, index), this.list.count - 1);
    if (target < 0) return;
    const turn = ++this.turn;
    const window = this.list.seenFrom(this.list.revealing(target));
    this.index = target;
    const select = () => {
      const number = this.numberAt(target);
      if (turn === this.turn && number !== undefined) this.choose(number, target);
    };
    if (this.numberAt(target) !== undefined) select();
    else unlessLost(this.load(...window).then(select));
  }

  /** Selects the session of a line. @param {number} session @param {number} index */
  choose(session, index) {
    this.turn++;
    this.index = index;
    this.list.reveal(index);
    this.selected = session;
    this.one = [...this.pages.known()].find((it) => it.session === session) ?? null;
    this.draw();
    if (session === PINGS) unlessLost(this.selectPings());
    else this.onselect(session ? [session] : []);
  }

  async selectPings() {
    const { turn } = this;
    const { sessions = [] } = await this.connection.ask("sessions", { only: "pings", after: this.cleared, count: MOST });
    if (turn === this.turn) this.onselect(sessions.map((it) => it.session));
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const screen = Math.floor(this.list.visible);
    /** @type {Record<string, number>} */
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: screen, PageUp: -screen, Home: -Infinity, End: Infinity };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.go(this.index + step);
  }

  draw() {
    press.draw(this, () => {
      this.tools.hidden = this.total < MANY && !this.search.value && this.only.value === "players";
      this.list.setCount(this.known ? 1 + this.total + (this.folds ? 1 : 0) : 0);
      const hints = [
        this.known && !this.total && (this.search.value || this.only.value !== "players") ? "No session has this." : "",
        this.forgotten ? `${plural(this.forgotten, "session")} before these ${this.forgotten === 1 ? "is" : "are"} not listed any more; a filter such as session.id == 5 finds their packets.` : "",
      ];
      this.more.textContent = hints.filter(Boolean).join(" ");
      this.drawFacts();
      const seen = this.index >= Math.floor(this.list.top) && this.index < this.list.top + this.list.visible;
      if (!seen) this.element.removeAttribute("aria-activedescendant");
    });
  }

  /** @param {number} index @param {HTMLElement} line */
  line(index, line) {
    const session = index > 0 && index <= this.total ? this.pages.see(index - 1) : undefined;
    const number = session?.session ?? this.numberAt(index);
    const chosen = number !== undefined && number === this.selected;
    line.className = chosen ? "line selected" : "line";
    line.dataset.index = String(index);
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", String(chosen));
    line.setAttribute("aria-posinset", String(index + 1));
    line.setAttribute("aria-setsize", String(this.list.count));
    if (number === undefined) {
      delete line.dataset.session;
      line.removeAttribute("id");
      patch(line, make("strong", {}, "…"));
      return;
    }
    line.id = `session-${number}`;
    line.dataset.session = String(number);
    if (chosen) this.element.setAttribute("aria-activedescendant", line.id);
    if (session) patch(line, make("strong", {}, nameOf(session)), make("small", {}, ` ${session.version}`), make("small", { class: "course", title: courseOf(session, null) }, courseOf(session, this.rateOf(session))));
    else if (number === PINGS) patch(line, make("strong", {}, plural(this.pings, "ping")), make("small", { class: "course" }, "of the multiplayer list"));
    else patch(line, make("strong", {}, "All sessions"));
  }

  /** @param {Session} session */
  rateOf({ session }) {
    return this.counts.get(session)?.rate ?? null;
  }

  /** Shows the rest of the selected session. */
  drawFacts() {
    const { one: it } = this;
    this.facts.hidden = !it || it.session !== this.selected;
    if (!it || this.facts.hidden) return;
    const rate = it.closed === null ? this.rateOf(it) : null;
    /** @type {[string, string | null][]} */
    const facts = [
      ["Session", nameOf(it)], ["Version", it.version], ["State", it.closed === null ? it.legs?.state ?? "open" : `closed after ${timeOf(it)}`], ["Ended", it.closed],
      ["Waits", it.waits], ["Packets", `${it.packets.toLocaleString("en")}, ${size(it.bytes)}`], ["Rate", rate && rateText(rate)],
      ["Client", it.client], ["Server", it.server ?? it.upstream], ["Capture", it.capture],
    ];
    patch(this.dl, ...facts.flatMap(([name, value]) => (value ? [make("div", { class: "fact", "data-key": name }, make("dt", {}, name), make("dd", {}, value))] : [])));
  }
}

/** @param {Session} session */
function nameOf({ session, player, client }) {
  return `#${session} ${player ?? client}`;
}

/** Says how a session goes, or how it ended, as its player reads it. @param {Session} session @param {[number, number] | null} rate */
function courseOf(session, rate) {
  const { closed, waits, legs } = session;
  if (closed !== null) return `closed, ${timeOf(session)}: ${closed.replace(/^(?:disconnected by the server: |closed )/, "")}`;
  const now = waits ?? (rate ? rateText(rate) : "");
  return `${legs?.state ?? "open"}, ${timeOf(session)}${now && `, ${now}`}`;
}

/** @param {Session} session */
function timeOf({ opened, last }) {
  const seconds = Math.max(0, (last - opened) / 1000);
  return `${seconds.toFixed(seconds < 100 ? 1 : 0)} s`;
}

/** @param {[number, number]} rate packets and bytes per second */
function rateText([packets, bytes]) {
  return `${packets.toFixed(0)}/s, ${size(Math.max(0, Math.round(bytes)))}/s`;
}
