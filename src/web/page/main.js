// Puts the parts of the page together.

import { Connection, unlessLost } from "./connection.js";
import { ControlPanel } from "./control.js";
import { Details, facts } from "./details.js";
import { byId, make, plural, press } from "./dom.js";
import { exportDialog } from "./export.js";
import { FilterLine } from "./filter.js";
import { Notice } from "./notice.js";
import { COLUMNS, Packets } from "./packets.js";
import { Conversation, StatisticsPanel, comparison, help } from "./panels.js";
import { RulesPanel } from "./rules.js";
import { Sessions } from "./sessions.js";
import { TimelinePanel } from "./timeline.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").Hello} Hello */
/** @typedef {import("./protocol.d.ts").Push} Push */
/** @typedef {import("./protocol.d.ts").StoreState} StoreState */

/** Milliseconds between two counts of what is shown live. */
const COUNT_AGAIN = 1000;

const TABS = ["packets", "conversation", "statistics", "timeline", "control", "rules"];

const stateLine = byId("state", HTMLElement);
const progress = byId("progress", HTMLProgressElement);
const filterInput = byId("filter", HTMLInputElement);
const searchInput = byId("search", HTMLInputElement);
const searchCount = byId("search-count", HTMLElement);
const dialog = byId("dialog", HTMLDialogElement);
const list = byId("list", HTMLElement);

/** @typedef {{ filter: string, sessions: number[], times: { from: number, to: number } | null }} View */

/** What the list is to show: its filter, sessions and times. @type {View} */
let view = { filter: "", sessions: [], times: null };
/** The packets that were hidden one by one. @type {number[]} */
let hidden = [];
let tab = "packets";
/** @type {StoreState | null} */
let state = null;
let live = false;
/** The address at which the game reaches a running proxy. @type {string | null} */
let listening = null;
/** @type {number | null} */
let lastMark = null;
let sessionsAsked = 0;
/** `true` once there was a connection. */
let connected = false;
/** The actions that the program has told, with their keys. @type {ActionInfo[]} */
let actions = [];

const connection = new Connection(onPush, onStatus);
const details = new Details(byId("facts", HTMLElement), byId("tree", HTMLElement), byId("hex", HTMLElement));
const packets = new Packets(connection, list, (row) => unlessLost(showDetails(row)));
const filter = new FilterLine(connection, filterInput, byId("completions", HTMLElement), byId("filter-message", HTMLElement), (text) => unlessLost(applyView({ filter: text })));
const sessions = new Sessions(byId("session-list", HTMLElement), (selected) => unlessLost(applyView({ sessions: selected })));
const conversation = new Conversation(connection, byId("panel-conversation", HTMLElement), (row) => unlessLost(openRow(row)));
const statistics = new StatisticsPanel(byId("panel-statistics", HTMLElement), (text) => {
  showTab("packets");
  filter.apply(text);
});
const notice = new Notice(byId("notice", HTMLElement));
const control = new ControlPanel(connection, byId("panel-control", HTMLElement), byId("tab-control", HTMLElement), notice);
const rules = new RulesPanel(connection, byId("panel-rules", HTMLElement));
filter.keepIn(byId("save-filter", HTMLButtonElement), byId("saved-filters", HTMLSelectElement));
const timeline = new TimelinePanel(byId("panel-timeline", HTMLElement), (times) => unlessLost(applyView({ times })));

/** @param {"open" | "refused" | "closed"} status @param {Hello} [hello] */
function onStatus(status, hello) {
  stateLine.classList.toggle("bad", status !== "open");
  if (status === "open") {
    live = hello?.live ?? false;
    listening = hello?.listening ?? null;
    actions = hello?.actions ?? [];
    byId("tab-control", HTMLElement).hidden = !hello?.control;
    byId("tab-rules", HTMLElement).hidden = !live;
    control.renew();
    if (!live && !connected) packets.setFollow(false);
    unlessLost(connected ? askAgain() : applyView({}));
    connected = true;
  } else if (status === "refused") {
    stateLine.textContent = "mitmcraft does not know this page: open the URL that it has printed";
  } else {
    stateLine.textContent = "disconnected: mitmcraft has ended, or cannot be reached";
  }
}

/** Asks again for everything that is shown: mitmcraft knows nothing of a connection that was lost. */
async function askAgain() {
  const asked = [...hidden.map((row) => connection.ask("hide", { row })), packets.showAgain(asRequest(view)), askSessions()];
  if (searchInput.value) asked.push(search());
  refresh();
  rules.show(tab === "rules");
  await Promise.all(asked);
}

/** @param {Push} message */
function onPush(message) {
  if (message.push === "statistics") {
    statistics.show(message.report);
    timeline.show(message.report.timeline);
  } else if (message.push === "state") {
    onState(message);
  } else if (message.push === "holding") {
    unlessLost(control.takeHolding(message));
  } else if (message.push !== "packets" && message.push !== "sessions") {
    // Those are for programs, which subscribe to them.
    control.take(message);
  }
}

/** What the statistics that were asked for last are of. */
let counted = "";

/** Counts what has come since: the statistics and the timeline are live while they are shown. */
function countAgain() {
  if (tab !== "timeline" && tab !== "statistics" || !state || document.hidden) return;
  const now = JSON.stringify([state.end, state.list.total]);
  if (now === counted) return;
  counted = now;
  unlessLost(connection.ask("statistics", {}));
}

/** @param {StoreState} message */
function onState(message) {
  const shifted = state !== null && (state.first !== message.first || state.noted !== message.noted);
  if (state?.noted !== message.noted) unlessLost(askDetails());
  state = message;
  unlessLost(packets.update(message.list, shifted));
  drawState(message);
  const now = Date.now();
  if (now - sessionsAsked > 500) {
    sessionsAsked = now;
    unlessLost(askSessions());
    setTimeout(() => unlessLost(askSessions()), 600);
  }
  if (tab === "conversation") unlessLost(conversation.update());
}

/** Shows the details of a packet. @param {number} row */
async function showDetails(row) {
  const answer = await connection.ask("details", { row });
  if (packets.selected !== row) return;
  if (answer.packet) details.show(answer.packet);
  else details.fail(answer.error?.message ?? "");
}

/** Shows the details of the selected packet again: its comment is another one. */
async function askDetails() {
  const row = packets.selected;
  if (row === null) return;
  const answer = await connection.ask("details", { row });
  if (packets.selected === row && answer.packet) details.facts.replaceChildren(...facts(answer.packet));
}

async function askSessions() {
  const answer = await connection.ask("sessions", {});
  if (answer.error) return;
  sessions.update(answer.sessions);
  control.offer(answer.sessions);
}

/** @param {StoreState} message */
function drawState(message) {
  const { total, done, all } = message.list;
  const held = message.end - message.first;
  const parts = [total === held ? plural(held, "packet") : `${total.toLocaleString("en")} of ${plural(held, "packet")}`];
  if (message.first > 0) {
    const why = message.limit ? ` (${message.limit})` : "";
    parts.push(`${plural(message.first, "older packet")} not held${why}`);
  }
  const read = message.complete ? 1 : message.read ?? 1;
  parts.push(message.complete ? "complete" : live ? "live" : `reading… ${Math.floor(read * 100)} %`);
  if (message.fault) parts.push(message.fault);
  if (message.hidden) parts.push(`${message.hidden} hidden`);
  if (message.saved) parts.push(message.saved);
  stateLine.textContent = parts.join(", ");
  const empty = byId("empty", HTMLElement);
  empty.hidden = !live || listening === null || message.end > 0;
  if (!empty.hidden) empty.replaceChildren("No packets yet. In the game, choose Multiplayer, Direct Connection, and connect to ", make("code", {}, listening ?? ""), ".");
  // Of the filter, or of the files while they are read.
  const found = all ? done / all : 1;
  progress.hidden = found === 1 && read === 1;
  progress.value = read < 1 ? read : found;
  const search = message.search;
  searchCount.textContent = search ? `${plural(search.total, "match").replace(/matchs$/, "matches")}${search.done < search.all ? "…" : ""}` : "";
}

/** Shows another list. @param {Partial<View>} change @param {number} [wanted] the number of the row to select, if it is another one than now */
async function applyView(change, wanted) {
  const before = view;
  const next = { ...view, ...change };
  view = next;
  const answer = await packets.show(asRequest(next), wanted);
  if (!answer.error) filter.setApplied(next.filter);
  filter.show(answer);
  if (answer.error) {
    if (view === next) view = before;
    return;
  }
  refresh();
}

/** @param {View} view */
function asRequest({ filter, sessions, times }) {
  return { filter, sessions, ...times };
}

/** Fetches what the tab shows. */
function refresh() {
  if (tab === "conversation") unlessLost(conversation.update());
  if (tab === "timeline" || tab === "statistics") {
    statistics.waiting();
    unlessLost(connection.ask("statistics", {}));
  }
}

/** Shows a packet of the conversation in the list. @param {number} row */
async function openRow(row) {
  showTab("packets");
  list.focus();
  const { index, found } = await connection.ask("index", { row });
  if (found) {
    packets.select(index, row);
    return;
  }
  filterInput.value = "";
  await applyView({ filter: "" }, row);
}

/** @param {boolean} back */
async function find(back) {
  if (!searchInput.value) return;
  const row = packets.selected ?? (back ? Number.MAX_SAFE_INTEGER : 0);
  const answer = await connection.ask("find", { row, back });
  if (answer.found) {
    showTab("packets");
    packets.select(answer.found.index, answer.found.row);
  } else if (state) {
    searchCount.textContent = answer.searching ? "searching…" : "no more matches";
  }
}

/** @param {string} name */
function showTab(name) {
  tab = name;
  for (const it of TABS) {
    const button = byId(`tab-${it}`, HTMLElement);
    button.setAttribute("aria-selected", String(it === name));
    button.tabIndex = it === name ? 0 : -1;
    byId(`panel-${it}`, HTMLElement).hidden = it !== name;
  }
  rules.show(name === "rules");
  refresh();
}

/** Asks for a comment on the selected packet. */
function comment() {
  const row = packets.rowAt(packets.index);
  if (packets.selected === null || row?.row !== packets.selected) return;
  const input = make("input", { type: "text", id: "comment", "aria-label": "Comment", size: 60, value: row.note ?? "", maxlength: 2000 });
  const keep = async () => {
    await packets.annotate({ comment: input.value.trim() });
    dialog.close();
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    unlessLost(keep());
  });
  showDialog("Comment", make("p", {}, input, " ", make("button", { type: "button", onclick: () => unlessLost(keep()) }, "Keep")));
  input.focus();
}

/** Offers to export packets. */
function exportPackets() {
  showDialog("Export", exportDialog(connection, packets.selected));
}

/** Adds a rule for packets like the selected one to the filter file. */
async function rule() {
  if (packets.selected === null || byId("tab-rules", HTMLElement).hidden) return;
  const answer = await connection.ask("expression", { row: packets.selected });
  if (!answer.rule) return notice.say("There can be no rule for a packet of an unknown type.", true);
  showTab("rules");
  await rules.add(answer.rule);
}

/** Changes the selected packet, to send it. */
async function change() {
  if (packets.selected === null || byId("tab-control", HTMLElement).hidden) return;
  if (await control.change(packets.selected)) showTab("control");
}

/** Adds a condition on the selected packet's type to the filter. @param {boolean} only */
function byType(only) {
  const row = packets.rowAt(packets.index);
  if (!row?.name) return;
  const type = `pkt.name == ${JSON.stringify(row.name)}`;
  const text = view.filter.trim();
  if (only) filter.apply(type);
  else filter.apply(text ? `(${text}) and not ${type}` : `not ${type}`);
}

/** Hides the selected packet, and selects the next. */
async function hide() {
  if (packets.selected === null) return;
  const row = packets.selected;
  await connection.ask("hide", { row });
  hidden.push(row);
  packets.pages.clear();
  await packets.go(packets.index);
}

/** Shows again the packets that were hidden one by one. */
async function showHidden() {
  await connection.ask("show_hidden", {});
  hidden = [];
  await applyView({});
}

/** Looks for the text that was typed. */
async function search() {
  const answer = await connection.ask("search", { text: searchInput.value });
  searchCount.textContent = answer.error?.message ?? "";
}

/** @param {string} title @param {HTMLElement} body */
function showDialog(title, body) {
  byId("dialog-title", HTMLElement).textContent = title;
  byId("dialog-body", HTMLElement).replaceChildren(body);
  dialog.showModal();
}

async function compare() {
  if (lastMark === null || packets.selected === null) return notice.say("Mark one packet (m), and select another to compare it with.", true);
  const answer = await connection.ask("compare", { a: lastMark, b: packets.selected });
  if (answer.fields) showDialog("Comparison", comparison(answer.fields));
}

const timeButton = byId("time-mode", HTMLButtonElement);
const followButton = byId("follow", HTMLButtonElement);
const columnButton = byId("columns", HTMLButtonElement);
const columnMenu = byId("column-menu", HTMLElement);
packets.onfollow = () => followButton.setAttribute("aria-pressed", String(packets.follow));

function nextTime() {
  timeButton.textContent = `Time: ${packets.nextTime()}`;
}

/** @param {boolean} open */
function openColumns(open) {
  columnMenu.hidden = !open;
  columnButton.setAttribute("aria-expanded", String(open));
}

function toggleColumns() {
  openColumns(columnMenu.hidden !== false);
}

/** Shows what a running proxy holds, and does something there. @param {(panel: ControlPanel) => any} action */
function withControl(action) {
  if (byId("tab-control", HTMLElement).hidden) return;
  showTab("control");
  return action(control);
}

/** Does something with the packet that is held. @param {(panel: ControlPanel) => any} action */
function withHeld(action) {
  return tab === "control" ? action(control) : undefined;
}

/** What each action does, by its name in the program's table. @type {Record<string, () => any>} */
const ACTIONS = {
  packets: () => showTab("packets"),
  sessions: () => byId("session-list", HTMLElement).focus(),
  conversation: () => showTab("conversation"),
  statistics: () => showTab("statistics"),
  timeline: () => showTab("timeline"),
  held: () => withControl(() => {}),
  rules: () => {
    if (!byId("tab-rules", HTMLElement).hidden) showTab("rules");
  },
  keys: showKeys,
  back: () => {
    notice.say("");
    if (!columnMenu.hidden) return openColumns(false);
    const at = document.activeElement;
    if (tab !== "packets" && isTyping(at)) return at.blur();
    showTab("packets");
    list.focus();
  },
  next: () => (tab === "control" ? control.held.step(1, false) : packets.step(1)),
  previous: () => (tab === "control" ? control.held.step(-1, false) : packets.step(-1)),
  page_down: () => packets.step(Math.floor(packets.list.visible)),
  page_up: () => packets.step(-Math.floor(packets.list.visible)),
  first: () => packets.go(0),
  last: () => packets.go(Infinity),
  follow: () => packets.setFollow(!packets.follow),
  open: () => byId("tree", HTMLElement).focus(),
  filter: () => filterInput.focus(),
  search: () => searchInput.focus(),
  next_match: () => find(false),
  previous_match: () => find(true),
  hide_type: () => byType(false),
  only_type: () => byType(true),
  hide,
  show_hidden: showHidden,
  times: nextTime,
  columns: toggleColumns,
  mark: () => {
    lastMark = packets.selected;
    return packets.annotate({ marked: !packets.rowAt(packets.index)?.marked });
  },
  comment,
  save: () => connection.ask("save", {}),
  compare,
  export: exportPackets,
  rule,
  resend: () => {
    if (byId("tab-control", HTMLElement).hidden) return;
    if (details.packet) return control.resend(details.packet);
    notice.say("Select the packet that is to be sent again.", true);
  },
  edit: () => (tab === "control" ? control.editHeld() : change()),
  send: () => withControl((it) => it.packet.focus()),
  stop: () => control.stop(),
  hold: () => withControl((it) => it.where.focus()),
  overtake: () => withControl((it) => it.overtaken.click()),
  forward: () => withHeld((it) => it.decide("forward")),
  drop: () => withHeld((it) => it.decide("drop")),
  forward_all: () => withControl((it) => it.forwardAll()),
  kick: () => withControl((it) => it.text.focus()),
};

/** Shows all keys. */
function showKeys() {
  const box = make("input", { type: "checkbox", id: "single-keys", onchange: () => localStorage.setItem("single-keys", box.checked ? "on" : "off") });
  box.checked = singleKeys();
  showDialog("Keys", make("div", {}, make("p", {}, make("label", {}, box, " Keys that are single characters act")), help(actions)));
}

/** `false` if keys that are single characters do nothing: programs that type what is said press them by mistake. */
function singleKeys() {
  return localStorage.getItem("single-keys") !== "off";
}

/** @param {EventTarget | null} at @returns {at is HTMLElement} */
function isTyping(at) {
  return at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || dialog.open) return;
  if (isTyping(event.target) && event.key !== "Escape") return;
  // Buttons and lists of their own have these keys.
  const own = event.target instanceof HTMLButtonElement && ["Enter", " "].includes(event.key);
  if (event.key.length === 1 && !singleKeys()) return;
  const name = actions.find((it) => it.keys.includes(event.key))?.name;
  const action = own || !name ? undefined : ACTIONS[name];
  if (!action) return;
  event.preventDefault();
  unlessLost(Promise.resolve(action()));
});

searchInput.addEventListener("keydown", (event) => {
  if (event.key === "Enter") unlessLost(find(event.shiftKey));
});
searchInput.addEventListener("input", () => unlessLost(search()));
byId("search-next", HTMLElement).addEventListener("click", () => unlessLost(find(false)));
byId("search-back", HTMLElement).addEventListener("click", () => unlessLost(find(true)));
followButton.addEventListener("click", () => packets.setFollow(!packets.follow));
timeButton.addEventListener("click", nextTime);
columnButton.addEventListener("click", toggleColumns);
byId("export", HTMLElement).addEventListener("click", exportPackets);
byId("help", HTMLElement).addEventListener("click", showKeys);
byId("theme", HTMLElement).addEventListener("click", () => {
  const dark = document.documentElement.classList.toggle("dark");
  localStorage.setItem("theme", dark ? "dark" : "light");
  timeline.draw();
});
for (const name of TABS) {
  const button = byId(`tab-${name}`, HTMLElement);
  button.addEventListener("click", () => showTab(name));
  button.addEventListener("keydown", (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.stopPropagation();
    const shown = TABS.filter((it) => !byId(`tab-${it}`, HTMLElement).hidden);
    const next = shown[(shown.indexOf(name) + step + shown.length) % shown.length] ?? "packets";
    showTab(next);
    byId(`tab-${next}`, HTMLElement).focus();
  });
}
columnMenu.replaceChildren(...COLUMNS.map(([key, title]) => {
  const box = make("input", { type: "checkbox", onchange: () => packets.setColumn(key, box.checked) });
  box.checked = !packets.hidden.has(key);
  return make("label", {}, box, ` ${key === "dir" ? "Direction" : title}`);
}));
document.addEventListener("pointerdown", (event) => {
  const at = event.target instanceof Element ? event.target : null;
  if (!at?.closest("#column-menu, #columns")) openColumns(false);
});
press.watch(document);
setInterval(countAgain, COUNT_AGAIN);
addEventListener("beforeunload", (event) => {
  if (rules.changed.size || control.isWriting()) event.preventDefault();
});
const dark = matchMedia("(prefers-color-scheme: dark)");
document.documentElement.classList.toggle("dark", (localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light")) === "dark");
details.clear();
