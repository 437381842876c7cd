// Puts the parts of the page together.

import { chosenColors, colorDialog } from "./colors.js";
import { Columns } from "./columns.js";
import { Connection, unlessLost } from "./connection.js";
import { ContextMenus } from "./context_menus.js";
import { ControlPanel } from "./control.js";
import { Conversation } from "./conversation.js";
import { Details } from "./details.js";
import { comparison, explanation } from "./dialogs.js";
import { byId, make, plural, press } from "./dom.js";
import { exportDialog } from "./export.js";
import { FilterLine } from "./filter.js";
import { isTyping, keysDialog, opening, singleKeys } from "./keys.js";
import { MapPanel } from "./map.js";
import { Memory, settings } from "./memory.js";
import { Notice } from "./notice.js";
import { Packets } from "./packets.js";
import { PairView } from "./pair.js";
import { Palette } from "./palette.js";
import { RulesPanel } from "./rules.js";
import { SelectedPacket } from "./selected_packet.js";
import { SentList } from "./sent.js";
import { Sessions } from "./sessions.js";
import { Splitter } from "./splitter.js";
import { StateLine } from "./state_line.js";
import { StatisticsPanel } from "./statistics.js";
import { TimelinePanel } from "./timeline.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").Hello} Hello */
/** @typedef {import("./protocol.d.ts").Push} Push */
/** @typedef {import("./protocol.d.ts").StoreState} StoreState */

/** Most packets that are sent again at once. */
const MOST_SENT = 100;

/** Milliseconds between two counts of what is shown live. */
const COUNT_AGAIN = 1000;

const TABS = ["packets", "conversation", "statistics", "timeline", "map", "control", "rules"];

const stateLine = new StateLine();
const filterInput = byId("filter", HTMLInputElement);
const searchInput = byId("search", HTMLInputElement);
const dialog = byId("dialog", HTMLDialogElement);
const list = byId("list", HTMLElement);

/** @typedef {{ filter: string, sessions: number[], times: { from: number, to: number } | null }} View */

/** What the list is to show: its filter, sessions and times. @type {View} */
let view = { filter: "", sessions: [], times: null };
/** The packets that were hidden one by one. @type {number[]} */
let hidden = [];
/** The row before which packets were cleared, and the sessions that had ended then. @type {{ before: number, sessions: import("./protocol.d.ts").SessionMark | null } | null} */
let cleared = null;
let tab = "packets";
/** @type {StoreState | null} */
let state = null;
let live = false;
/** `true` if what is sent can be changed. */
let controls = false;
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
const columnMenu = byId("column-menu", HTMLElement);
const columns = new Columns(columnMenu);
const packets = new Packets(connection, list, (row) => unlessLost(selectedPacket.show(row)), columns);
const pair = new PairView(byId("pair", HTMLElement));
const memory = new Memory(connection.token);
const filter = new FilterLine(connection, filterInput, byId("completions", HTMLElement), byId("filter-message", HTMLElement), (text) => unlessLost(applyView({ filter: text })));
const sessions = new Sessions(connection, byId("sessions", HTMLElement), {
  onselect: (selected) => unlessLost(applyView({ sessions: selected })),
  onopen: (last) => {
    showTab("packets");
    unlessLost(packets.goToEnd(last));
  },
  onexplain: () => run("explain"),
});
const conversation = new Conversation(connection, byId("panel-conversation", HTMLElement), (row) => unlessLost(openRow(row)));
const statistics = new StatisticsPanel(byId("panel-statistics", HTMLElement), (condition) => {
  showTab("packets");
  unlessLost(filter.combine(() => view.filter, condition, "only"));
});
const notice = new Notice(byId("notice", HTMLElement));
const control = new ControlPanel(connection, byId("panel-control", HTMLElement), byId("tab-control", HTMLElement), notice);
const sent = new SentList(connection, {
  again: (row) => resend([row.row]),
  change: (row) => change(row.row),
  open: (row) => openRow(row),
});
control.sentPane.prepend(sent.element);
const rules = new RulesPanel(connection, byId("panel-rules", HTMLElement));
filter.keepIn(byId("save-filter", HTMLButtonElement), byId("saved-filters", HTMLSelectElement));
const timeline = new TimelinePanel(connection, byId("panel-timeline", HTMLElement), (times) => unlessLost(applyView({ times })), (series) => settings.set("series", series));
timeline.expressions = settings.get("series", null);
const map = new MapPanel(connection, byId("panel-map", HTMLElement));
const selectedPacket = new SelectedPacket({ connection, packets, details, pair, timeline, columns, notice }, (condition, how) => filter.combine(() => view.filter, { expression: condition }, how));

/** @param {"open" | "refused" | "closed"} status @param {Hello} [hello] */
function onStatus(status, hello) {
  stateLine.element.classList.toggle("bad", status !== "open");
  if (status === "open") {
    live = hello?.live ?? false;
    listening = hello?.listening ?? null;
    actions = menus.actions = hello?.actions ?? [];
    controls = hello?.control ?? false;
    // Captures have what was sent, but nothing can be sent there.
    const tab = byId("tab-control", HTMLElement);
    tab.hidden = false;
    if (!controls) tab.textContent = "Sent";
    byId("panel-control", HTMLElement).classList.toggle("only-sent", !controls);
    sent.setReadOnly(!controls);
    byId("tab-rules", HTMLElement).hidden = !live;
    if (controls) control.renew();
    unlessLost(sent.begin());
    if (!live && !connected) packets.setFollow(false);
    unlessLost(connected ? askAgain() : begin());
    connected = true;
  } else if (status === "refused") {
    stateLine.fail("mitmcraft does not know this page: open the URL that it has printed");
  } else {
    stateLine.fail("disconnected: mitmcraft has ended, or cannot be reached");
  }
}

/** `true` once the page shows what it has shown before. */
let begun = false;

/** Shows what this tab has shown before it was loaded again, if it is still the same mitmcraft. */
async function begin() {
  ({ hidden, cleared } = memory.get("hidden", { hidden, cleared }));
  columns.sort = memory.get("sort", columns.sort);
  columns.draw();
  columns.drawMenu();
  sessions.cleared = cleared?.sessions ?? null;
  sessions.selected = memory.get("session", 0);
  const kept = memory.get("view", view);
  filterInput.value = kept.filter;
  const selected = memory.get("selected", null);
  if (selected !== null) packets.setFollow(false);
  const asked = [...askScope(), applyView(kept, selected ?? undefined)];
  const before = memory.get("tab", "packets");
  if (TABS.includes(before) && !byId(`tab-${before}`, HTMLElement).hidden) showTab(before);
  begun = true;
  await Promise.all(asked);
}

/** Keeps what is shown, should the page be loaded again. */
function remember() {
  // What was kept before counts until all of it is shown again.
  if (!begun) return;
  memory.keep({ view, tab, hidden: { hidden, cleared }, sort: columns.sort, session: sessions.selected, selected: packets.follow ? null : packets.selected });
}

/** Asks for everything of the list that a new connection does not have, apart from its filter. */
function askScope() {
  return [
    ...(hidden.length ? [connection.ask("hide_all", { rows: hidden })] : []),
    ...(cleared ? [connection.ask("clear", { before: cleared.before })] : []),
    ...(columns.sort ? [connection.ask("sort", columns.sort)] : []),
    ...(chosenColors() ? [connection.ask("highlight", { colors: chosenColors() })] : []),
  ];
}

/** Asks again for everything that is shown: mitmcraft knows nothing of a connection that was lost. */
async function askAgain() {
  const asked = [...askScope(), packets.showAgain(asRequest(view)), sessions.renew(), askSessions()];
  if (searchInput.value) asked.push(search());
  map.forget();
  refresh();
  rules.show(tab === "rules");
  await Promise.all(asked);
}

/** @param {Push} message */
function onPush(message) {
  if (message.push === "statistics") {
    statistics.show(message.report);
  } else if (message.push === "explanation") {
    showDialog(`Session ${message.session}`, explanation(message.lines));
  } else if (message.push === "chart") {
    timeline.show(message);
  } else if (message.push === "map") {
    map.take(message);
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

/** Counts what has come since: the statistics are live while they are shown. */
function countAgain() {
  if (tab !== "statistics" || !state || document.hidden) return;
  const now = JSON.stringify([state.end, state.list.total]);
  if (now === counted) return;
  counted = now;
  unlessLost(connection.ask("statistics", {}));
}

/** @param {StoreState} message */
function onState(message) {
  const moved = state?.order !== message.order || (message.sorting === "sorted" && state.list.total !== message.list.total);
  const shifted = state !== null && (state.first !== message.first || state.noted !== message.noted || moved);
  if (state?.noted !== message.noted) unlessLost(selectedPacket.askAgain());
  state = message;
  unlessLost(packets.update(message.list, shifted, message.newest));
  const everything = !view.filter.trim() && !view.sessions.length && !view.times;
  stateLine.show(message, everything, live, listening);
  const now = Date.now();
  if (now - sessionsAsked > 500) {
    sessionsAsked = now;
    unlessLost(askSessions());
    setTimeout(() => unlessLost(askSessions()), 600);
  }
  if (tab === "conversation") unlessLost(conversation.update(message.conversation));
  if (tab === "timeline" && !message.complete && !document.hidden) timeline.refresh();
  if (tab === "map" && !message.complete && !document.hidden) map.refresh();
  sent.take(message.sent?.total ?? 0);
}

async function askSessions() {
  await Promise.all([sessions.update(), ...(controls ? [control.offerOpen()] : [])]);
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
  remember();
}

/** @param {View} view */
function asRequest({ filter, sessions, times }) {
  return { filter, sessions, ...times, fold: true };
}

/** Fetches what the tab shows. */
function refresh() {
  if (tab === "conversation") unlessLost(conversation.show());
  if (tab === "timeline") unlessLost(timeline.ask());
  if (tab === "map") unlessLost(map.ask({ row: packets.follow ? null : packets.selected, session: sessions.selected > 0 ? sessions.selected : null }));
  if (tab === "statistics") {
    statistics.waiting();
    unlessLost(connection.ask("statistics", {}));
  }
}

/** Shows a packet of the conversation in the list. @param {number} row */
async function openRow(row) {
  showTab("packets");
  list.focus();
  const { index, found } = await connection.ask("index", { row });
  if (found) return packets.jump(index, () => row);
  // One row stands for a rewritten packet and what was sent in its place.
  const counterpart = view.filter ? null : (await connection.ask("details", { row })).packet?.counterpart ?? null;
  const other = counterpart === null ? null : await connection.ask("index", { row: counterpart });
  if (counterpart !== null && other?.found) return packets.jump(other.index, () => counterpart);
  filterInput.value = "";
  await applyView({ filter: "" }, row);
}

/** The number of the last search, or press that asked for a match. */
let findings = 0;

/** @param {boolean} back */
async function find(back) {
  if (!searchInput.value) return;
  const row = packets.selected ?? (back ? Number.MAX_SAFE_INTEGER : 0);
  const turn = (findings += 1);
  let answer = await connection.ask("find", { row, back });
  // What is asked for is shown as soon as it is found, unless something else is asked for meanwhile.
  while (answer.searching && turn === findings) {
    stateLine.found.textContent = "searching…";
    await new Promise((resolve) => setTimeout(resolve, 100));
    answer = await connection.ask("find", { row, back });
  }
  if (answer.found) {
    showTab("packets");
    const { index, row } = answer.found;
    await packets.jump(index, () => row);
  } else if (state && !answer.searching) {
    stateLine.found.textContent = "no more matches";
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
  remember();
}

/** Asks for a comment on the selected packet. */
function comment() {
  const row = packets.current;
  if (!row) return;
  const input = make("input", { type: "text", id: "comment", "aria-label": "Comment", size: 60, value: row.note ?? "", maxlength: 2000 });
  const keep = async () => {
    await packets.annotate(row, input.value.trim());
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
  showDialog("Export", exportDialog(connection, packets.targets));
}

/** Adds a rule for packets like the selected one to the filter file. */
async function rule() {
  if (packets.selected === null || byId("tab-rules", HTMLElement).hidden) return;
  const row = packets.selected;
  showTab("rules");
  let matched = "";
  const added = await opening.wait(rules.add(async (text) => {
    const { expression = null, rule = null } = await connection.ask("expression", { row, rules: text });
    matched = expression ?? "";
    return rule;
  }, () => {
    showTab("packets");
    filterInput.value = matched;
    unlessLost(applyView({ filter: matched }));
  }));
  if (!added) notice.say("There can be no rule for a packet of an unknown type.", true);
}

/** Changes a packet, to send it. @param {number | null} [row] the selected packet if absent */
async function change(row = packets.selected) {
  if (row === null || !controls || !await control.change(row)) return;
  showTab("control");
  control.fields.focus();
}

/** Adds a condition on the selected packet's type to the filter. @param {boolean} only */
function byType(only) {
  const row = packets.current;
  if (!row?.name) return;
  unlessLost(filter.combine(() => view.filter, { type_of: row.row }, only ? "only" : "not"));
}

/** Hides the selected packets, and selects the next. */
async function hide() {
  const rows = packets.targets;
  if (!rows.length) return;
  await connection.ask("hide_all", { rows });
  hidden.push(...rows);
  packets.pages.clear();
  remember();
  await packets.go(packets.index);
}

/** Leaves out all packets so far, and the sessions that have ended. */
async function clear() {
  const before = state?.end ?? 0;
  const renewed = sessions.clear();
  cleared = { before, sessions: sessions.cleared };
  await connection.ask("clear", { before });
  await applyView({});
  await renewed;
}

/** Shows again the packets that were hidden or cleared. */
async function showHidden() {
  await connection.ask("show_hidden", {});
  hidden = [];
  cleared = null;
  await applyView({});
  await sessions.clear(null);
}

/** Goes to the next marked packet, or to the previous one. @param {boolean} back */
async function nextMark(back) {
  const row = packets.selected ?? (back ? Number.MAX_SAFE_INTEGER : 0);
  const { found } = await connection.ask("next_mark", { row, back });
  if (found) {
    showTab("packets");
    await packets.jump(found.index, () => found.row);
  } else {
    notice.say("There is no other marked packet in the list.");
  }
}

/** Sends packets again, in their order. @param {number[]} [targets] the selected packets if absent */
async function resend(targets = packets.targets) {
  const rows = targets.slice(0, MOST_SENT);
  if (!controls) return;
  if (!rows.length) notice.say("Select the packet that is to be sent again.", true);
  for (const row of rows) {
    const { packet, error } = await connection.ask("details", { row });
    if (error) return notice.say(error.message, true);
    if (!await control.resend(packet)) return;
  }
  if (rows.length > 1) notice.say(`Sent ${plural(rows.length, "packet")} again.`);
}

/** Looks for the text that was typed. */
async function search() {
  findings += 1;
  const answer = await connection.ask("search", { text: searchInput.value });
  stateLine.found.textContent = answer.error?.message ?? "";
  stateLine.searched = !searchInput.value;
}

/** @param {string} title @param {HTMLElement} body */
function showDialog(title, body) {
  byId("dialog-title", HTMLElement).textContent = title;
  byId("dialog-body", HTMLElement).replaceChildren(body);
  if (!dialog.open) dialog.showModal();
}

async function compare() {
  if (lastMark === null || packets.selected === null) return notice.say("Mark one packet (m), and select another to compare it with.", true);
  const answer = await connection.ask("compare", { a: lastMark, b: packets.selected });
  if (answer.fields) showDialog("Comparison", comparison(answer.fields));
}

/** Asks why the selected session ended, or that of the selected packet. */
async function explain() {
  const session = sessions.selected > 0 ? sessions.selected : packets.current?.session;
  if (session === undefined) return notice.say("Select a session, or a packet of one.", true);
  await connection.ask("explain", { session });
}

const timeButton = byId("time-mode", HTMLButtonElement);
const followButton = byId("follow", HTMLButtonElement);
const columnButton = byId("columns", HTMLButtonElement);
packets.onfollow = () => {
  followButton.setAttribute("aria-pressed", String(packets.follow));
  remember();
};

function nextTime() {
  timeButton.textContent = `Time: ${packets.nextTime()}`;
}

/** @param {boolean} [open] */
function toggleColumns(open = Boolean(columnMenu.hidden)) {
  columnMenu.hidden = !open;
  columnButton.setAttribute("aria-expanded", String(open));
}

/** Opens the menu of the columns where the list is sorted. */
function openSort() {
  toggleColumns(true);
  byId("sort-by", HTMLSelectElement).focus();
}

/** Shows what a running proxy holds, and does something there. @param {(panel: ControlPanel) => any} action */
function withControl(action) {
  if (!controls) return;
  showTab("control");
  return action(control);
}

/** The list in which the keys move. */
function lines() {
  return tab === "conversation" ? conversation : packets;
}

/** Does something with the packets that are held, where they are seen. @param {(panel: ControlPanel) => any} action */
function withHeld(action) {
  if (tab === "control" && controls) return action(control);
  notice.say(controls ? "Held packets are decided on in Control." : "Nothing is held here: this is a capture.", true);
}

const palette = new Palette(run);

/** Runs an action; one on selected packets once the selection is that of the last key or press. @param {string} name */
function run(name) {
  const act = async () => ACTIONS[name]?.();
  const waits = packets.moving !== null && ON_SELECTED.includes(name);
  const acted = waits ? packets.moving?.then(act) ?? act() : act();
  unlessLost(waits && FORMS.includes(name) ? opening.wait(acted) : acted);
}

/** The actions on selected packets, and those of them that open a form. */
const FORMS = ["comment", "edit", "export", "rule"];
const ON_SELECTED = [...FORMS, "compare", "explain", "hide", "hide_type", "mark", "next_mark", "only_type", "open", "previous_mark", "resend", "select"];

/** What each action does, by its name in the program's table. @type {Record<string, () => any>} */
const ACTIONS = {
  packets: () => showTab("packets"),
  sessions: () => sessions.element.focus(),
  conversation: () => showTab("conversation"),
  statistics: () => showTab("statistics"),
  timeline: () => showTab("timeline"),
  map: () => {
    showTab("map");
    map.frame.focus();
  },
  held: () => withControl(() => {}),
  rules: () => {
    if (!byId("tab-rules", HTMLElement).hidden) showTab("rules");
  },
  sent: () => {
    showTab("control");
    sent.grid.focus();
  },
  keys: () => showDialog("Keys", keysDialog(actions)),
  palette: () => palette.open(actions.filter((it) => ACTIONS[it.name])),
  menu: () => menus.openSelected(),
  back: () => {
    notice.say("");
    if (!columnMenu.hidden) return toggleColumns(false);
    const at = document.activeElement;
    if (tab !== "packets" && isTyping(at)) return at.blur();
    showTab("packets");
    list.focus();
  },
  next: () => (tab === "control" ? control.held.step(1, false) : lines().step(1)),
  previous: () => (tab === "control" ? control.held.step(-1, false) : lines().step(-1)),
  page_down: () => lines().step(Math.floor(lines().list.visible)),
  page_up: () => lines().step(-Math.floor(lines().list.visible)),
  first: () => lines().go(0),
  last: () => lines().go(Infinity),
  follow: () => (tab === "conversation" ? conversation.goToEnd() : packets.setFollow(!packets.follow)),
  open: () => (tab === "conversation" ? conversation.open() : (byId("pair", HTMLElement).hidden ? byId("tree", HTMLElement) : pair.grid).focus()),
  filter: () => filterInput.focus(),
  search: () => searchInput.focus(),
  next_match: () => find(false),
  previous_match: () => find(true),
  hide_type: () => byType(false),
  only_type: () => byType(true),
  hide,
  show_hidden: showHidden,
  times: nextTime,
  columns: () => toggleColumns(),
  colors: chooseColors,
  series: () => {
    showTab("timeline");
    byId("chart-series", HTMLInputElement).focus();
  },
  sort: openSort,
  clear,
  select: () => {
    if (packets.selected !== null) packets.choose(packets.index, packets.selected);
  },
  mark: () => {
    lastMark = packets.selected;
    return packets.mark();
  },
  next_mark: () => nextMark(false),
  previous_mark: () => nextMark(true),
  comment,
  explain,
  save: () => connection.ask("save", {}),
  compare,
  export: exportPackets,
  rule,
  field_filter: () => selectedPacket.filterBy("only"),
  field_and: () => selectedPacket.filterBy("and"),
  field_or: () => selectedPacket.filterBy("or"),
  field_not: () => selectedPacket.filterBy("not"),
  field_column: () => selectedPacket.asColumn(),
  copy_value: () => selectedPacket.copy("text"),
  copy_path: () => selectedPacket.copy("column"),
  copy_bytes: () => selectedPacket.copy("hex"),
  copy_json: () => selectedPacket.copy("json"),
  resend: () => resend(),
  edit: () => (tab === "control" ? control.editHeld() : change()),
  send: () => withControl((it) => it.packet.focus()),
  stop: () => control.stop(),
  hold: () => withControl((it) => it.where.focus()),
  overtake: () => withControl((it) => it.overtaken.click()),
  forward: () => withHeld((it) => it.decide("forward")),
  drop: () => withHeld((it) => it.decide("drop")),
  forward_all: () => withHeld((it) => it.askForwardAll()),
  kick: () => withControl((it) => it.text.focus()),
};

const menus = new ContextMenus(ACTIONS, run, list);

/** Offers to choose the colours of packets. */
async function chooseColors() {
  const { colors, file = null } = await opening.wait(connection.ask("highlight", {}));
  if (colors) showDialog("Colours", colorDialog(connection, colors, file, () => packets.forget()));
}

document.addEventListener("keydown", (event) => {
  if (event.altKey || dialog.open || palette.element.open) return;
  const control = event.ctrlKey || event.metaKey;
  if (isTyping(event.target) && event.key !== "Escape" && !control) return;
  // Buttons and lists of their own have these keys.
  const own = event.target instanceof HTMLButtonElement && ["Enter", " "].includes(event.key);
  if (event.key.length === 1 && !control && !singleKeys()) return;
  if (control && event.key === "a" && event.target === list) {
    event.preventDefault();
    unlessLost(packets.chooseAll());
    return;
  }
  if (event.shiftKey && event.target === list && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    event.preventDefault();
    unlessLost(packets.step(event.key === "ArrowDown" ? 1 : -1, true));
    return;
  }
  const key = control ? `Control+${event.key}` : event.key;
  const name = actions.find((it) => it.keys.includes(key))?.name;
  if (own || !name || !ACTIONS[name]) return;
  event.preventDefault();
  run(name);
});

searchInput.addEventListener("keydown", (event) => {
  if (event.key === "Enter") unlessLost(find(event.shiftKey));
});
searchInput.addEventListener("input", () => unlessLost(search()));
byId("search-next", HTMLElement).addEventListener("click", () => unlessLost(find(false)));
byId("search-back", HTMLElement).addEventListener("click", () => unlessLost(find(true)));
followButton.addEventListener("click", () => packets.setFollow(!packets.follow));
timeButton.addEventListener("click", nextTime);
columnButton.addEventListener("click", () => toggleColumns());
byId("export", HTMLElement).addEventListener("click", exportPackets);
byId("actions", HTMLElement).addEventListener("click", () => run("palette"));
byId("help", HTMLElement).addEventListener("click", () => run("keys"));
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
columns.check = async (name) => (await connection.ask("rows", { start: 0, count: 0, columns: [name] })).error?.message ?? null;
columns.onsort = () => {
  packets.setFollow(false);
  unlessLost(connection.ask("sort", columns.sort ?? {}));
  remember();
};
columnMenu.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  toggleColumns(false);
  columnButton.focus();
});
document.addEventListener("pointerdown", (event) => {
  const inside = event.target instanceof Node && (columnMenu.contains(event.target) || columnButton.contains(event.target));
  if (!inside && !columnMenu.hidden) toggleColumns(false);
}, true);
packets.onchoose = () => {
  remember();
  const { size } = packets.chosen;
  if (size > 1) notice.say(`${size.toLocaleString("en")} packets are selected.`);
};
pair.onselect = (path) => details.selectField(details.packet?.fields.findIndex((it) => it.path === path) ?? -1);
menus.offer(pair.grid, "field", (line) => {
  pair.select(Number(line.dataset.index));
  return pair.fields[pair.field]?.path ?? "Field";
});
new Splitter(byId("split-sessions", HTMLElement), byId("sessions", HTMLElement), "before", 120);
new Splitter(byId("split-details", HTMLElement), byId("details", HTMLElement), "after", 90);
new Splitter(byId("split-hex", HTMLElement), byId("hex", HTMLElement), "after", 120);
menus.offer(list, "packet", (line) => {
  if (line.dataset.row === undefined) return null;
  const row = Number(line.dataset.row);
  if (!packets.chosen.has(row)) packets.select(Number(line.id.slice("row-".length)), row);
  const { size } = packets.chosen;
  return size > 1 ? plural(size, "packet") : packets.current?.name ?? "Packet";
});
menus.offer(byId("tree", HTMLElement), "field", (line) => {
  details.selectLine(Number(line.dataset.line));
  return details.packet?.fields[details.field]?.path || "Field";
});
menus.offer(control.held.element, "held", (line) => control.held.selectLine(line));
control.onselect = () => menus.follow("held", control.held.title);
menus.offer(sessions.element, "session", (line) => {
  const session = Number(line.dataset.session);
  if (session <= 0) return null;
  control.chooseSession(session);
  return `Session #${session}`;
});
press.watch(document);
opening.watch(document);
setInterval(countAgain, COUNT_AGAIN);
addEventListener("beforeunload", (event) => {
  if (rules.changed.size || control.isWriting()) event.preventDefault();
});
const dark = matchMedia("(prefers-color-scheme: dark)");
document.documentElement.classList.toggle("dark", (localStorage.getItem("theme") ?? (dark.matches ? "dark" : "light")) === "dark");
details.clear();
