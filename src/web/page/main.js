// Puts the parts of the page together.

import { colorDialog } from "./colors.js";
import { Columns } from "./columns.js";
import { Connection, unlessLost } from "./connection.js";
import { ContextMenus } from "./context_menus.js";
import { ControlPanel } from "./control.js";
import { Conversation } from "./conversation.js";
import { Details } from "./details.js";
import { Dialog, explanation } from "./dialogs.js";
import { byId, plural, press } from "./dom.js";
import { askFieldRule } from "./field_rule.js";
import { FilterLine } from "./filter.js";
import { filterHelp } from "./filter_help.js";
import { Finder } from "./finder.js";
import { GoTo } from "./go_to.js";
import { HeldStrip } from "./held_strip.js";
import { isTyping, Keyboard, keysDialog, opening } from "./keys.js";
import { Listing } from "./listing.js";
import { MapPanel } from "./map.js";
import { Memory, settings } from "./memory.js";
import { Notice } from "./notice.js";
import { CaptureOpener } from "./open_capture.js";
import { PacketCommands } from "./packet_commands.js";
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
import { Tabs } from "./tabs.js";
import { Theme } from "./theme.js";
import { TimelinePanel } from "./timeline.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").Hello} Hello */
/** @typedef {import("./protocol.d.ts").Push} Push */
/** @typedef {import("./protocol.d.ts").StoreState} StoreState */

/** Milliseconds between two counts of what is shown live. */
const COUNT_AGAIN = 1000;

/** Milliseconds between two requests for the sessions. */
const SESSIONS_AGAIN = 500;

const list = byId("list", HTMLElement);
const followButton = byId("follow", HTMLButtonElement);
const timeButton = byId("time-mode", HTMLButtonElement);

/** @type {StoreState | null} */
let state = null;
let live = false;
/** The address at which the game reaches a running proxy. @type {string | null} */
let listening = null;
let sessionsAsked = 0;
/** `true` once there was a connection. */
let connected = false;
/** The actions that the program has told, with their keys. @type {ActionInfo[]} */
let actions = [];

const stateLine = new StateLine();
const connection = new Connection(onPush, onStatus);
const notice = new Notice(byId("notice", HTMLElement));
const dialog = new Dialog(byId("dialog", HTMLDialogElement));
const opener = new CaptureOpener(connection, dialog, notice);
const details = new Details(byId("facts", HTMLElement), byId("tree", HTMLElement), byId("hex", HTMLElement), byId("field-tools", HTMLElement));
const columns = new Columns(byId("column-menu", HTMLElement), byId("columns", HTMLButtonElement));
const packets = new Packets(connection, list, (row) => {
  unlessLost(selectedPacket.show(row));
  if (tabs.current === "map") unlessLost(map.askFor(packets, sessions.selected));
}, columns);
const pair = new PairView(byId("pair", HTMLElement));
const memory = new Memory();
const filter = new FilterLine(connection, byId("filter", HTMLInputElement), byId("completions", HTMLElement), byId("filter-message", HTMLElement), (text) => unlessLost(listing.apply({ filter: text })));
const sessions = new Sessions(connection, byId("sessions", HTMLElement), {
  onselect: (selected) => unlessLost(listing.apply({ sessions: selected })),
  onopen: (last) => {
    tabs.show("packets");
    unlessLost(packets.goToEnd(last));
  },
  onexplain: () => run("explain"),
});
const listing = new Listing({ connection, packets, filter, sessions, columns, memory }, refresh);
const tabs = new Tabs(["packets", "conversation", "statistics", "timeline", "map", "control", "rules"], (name) => {
  rules.show(name === "rules");
  refresh();
  listing.remember({ tab: name });
});
const finder = new Finder({ connection, packets, stateLine, details }, () => tabs.show("packets"));
const conversation = new Conversation(connection, byId("panel-conversation", HTMLElement), (row) => unlessLost(openRow(row)));
const statistics = new StatisticsPanel(connection, byId("panel-statistics", HTMLElement), (condition) => {
  tabs.show("packets");
  unlessLost(listing.combine(condition, "only"));
});
const control = new ControlPanel(connection, byId("panel-control", HTMLElement), byId("tab-control", HTMLElement), notice);
const sent = new SentList(connection, {
  again: (row) => commands.resend([row.row]),
  change: (row) => commands.change(row.row),
  open: (row) => openRow(row),
});
const rules = new RulesPanel(connection, byId("panel-rules", HTMLElement));
const timeline = new TimelinePanel(connection, byId("panel-timeline", HTMLElement), (times) => unlessLost(listing.apply({ times })), (series) => settings.set("series", series));
const map = new MapPanel(connection, byId("panel-map", HTMLElement));
const selectedPacket = new SelectedPacket({ connection, packets, details, pair, timeline, columns, notice }, (expression, how) => listing.combine({ expression }, how));
const commands = new PacketCommands({ connection, packets, sessions, listing, control, rules, dialog, tabs, notice });
const strip = new HeldStrip(byId("held-strip", HTMLElement), control, () => tabs.show("control"));
const palette = new Palette(run);
const goTo = new GoTo({ connection, packets, dialog }, openRow);

/** @param {"open" | "refused" | "closed"} status @param {Hello} [hello] */
function onStatus(status, hello) {
  if (status === "refused") stateLine.fail("mitmcraft does not know this page: open the URL that it has printed");
  else if (!hello) stateLine.fail("disconnected: mitmcraft has ended, or cannot be reached");
  else greet(hello);
}

/** @param {Hello} hello */
function greet(hello) {
  if (!memory.open(hello.run)) {
    // Rows and sessions are those of a run: of another one, nothing that is shown is true. A person whose text would be
    // lost can refuse to load the page again.
    connection.end();
    stateLine.fail("disconnected: mitmcraft shows other packets now; load the page again to see them");
    location.reload();
    return;
  }
  ({ live, listening } = hello);
  opener.limit = hello.opens;
  byId("open", HTMLElement).hidden = hello.opens === null;
  actions = menus.actions = keyboard.actions = hello.actions;
  commands.controls = hello.control;
  control.setReadOnly(!hello.control);
  sent.setReadOnly(!hello.control);
  tabs.button("rules").hidden = !live;
  if (hello.control) control.renew();
  unlessLost(sent.begin());
  if (!live && !connected) packets.setFollow(false);
  unlessLost(connected ? renew() : begin());
  connected = true;
}

/** Shows what this tab has shown before it was loaded again. */
async function begin() {
  const asked = listing.begin();
  const before = memory.get("tab", "packets");
  if (tabs.has(before)) tabs.show(before);
  listing.begun = true;
  await asked;
}

/** Asks again for everything that is shown. */
async function renew() {
  const asked = [listing.renew(), finder.renew(), askSessions()];
  map.forget();
  refresh();
  rules.show(tabs.current === "rules");
  await Promise.all(asked);
}

/** @param {Push} message */
function onPush(message) {
  if (message.push === "statistics") {
    statistics.show(message.report);
  } else if (message.push === "explanation") {
    dialog.show(`Session ${message.session}`, explanation(message.lines));
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

/** @param {StoreState} message */
function onState(message) {
  const moved = state?.order !== message.order || (message.sorting === "sorted" && state.list.total !== message.list.total);
  const shifted = state !== null && (state.first !== message.first || state.noted !== message.noted || moved);
  if (state?.noted !== message.noted) unlessLost(selectedPacket.askAgain());
  state = message;
  unlessLost(packets.update(message.list, shifted, message.newest));
  stateLine.show(message, listing.everything, Boolean(listing.view.filter.trim()), live, listening);
  const now = Date.now();
  if (now - sessionsAsked > SESSIONS_AGAIN) {
    sessionsAsked = now;
    unlessLost(askSessions());
    setTimeout(() => unlessLost(askSessions()), SESSIONS_AGAIN + 100);
  }
  if (tabs.current === "conversation") unlessLost(conversation.update(message.conversation));
  if (tabs.current === "timeline" && !message.complete && !document.hidden) timeline.refresh();
  if (tabs.current === "map" && !message.complete && !document.hidden) map.refresh();
  sent.take(message.sent?.total ?? 0);
}

async function askSessions() {
  await Promise.all([sessions.update(), ...(commands.controls ? [control.offerOpen()] : [])]);
}

/** Fetches what the view shows. */
function refresh() {
  if (tabs.current === "conversation") unlessLost(conversation.show());
  if (tabs.current === "timeline") unlessLost(timeline.ask());
  if (tabs.current === "map") unlessLost(map.askFor(packets, sessions.selected));
  if (tabs.current === "statistics") unlessLost(statistics.ask());
}

/** Shows a packet in the list. @param {number} row */
function openRow(row) {
  tabs.show("packets");
  list.focus();
  return listing.open(row);
}

function nextTime() {
  timeButton.textContent = `Time: ${packets.nextTime()}`;
}

/** Shows what a running proxy holds, and does something there. @param {(panel: ControlPanel) => any} action */
function withControl(action) {
  if (!commands.controls) return;
  tabs.show("control");
  return action(control);
}

/** Does something with the packets that are held, where they are seen. @param {(panel: ControlPanel) => any} action */
function withHeld(action) {
  if (["control", "packets"].includes(tabs.current) && commands.controls) return action(control);
  notice.say(commands.controls ? "Held packets are decided on in Packets and Control." : "Nothing is held here: this is a capture.", true);
}

/** The list in which the keys move. */
function lines() {
  return tabs.current === "conversation" ? conversation : packets;
}

/** Offers to choose the colours of packets. */
async function chooseColors() {
  const { colors, file = null } = await opening.wait(connection.ask("highlight", {}));
  if (colors) dialog.show("Colours", colorDialog(connection, colors, file, () => packets.forget()));
}

/** Leaves what is open, and then goes back to the list. */
function back() {
  notice.say("");
  if (columns.isOpen) return columns.toggleMenu(false);
  const at = document.activeElement;
  if (tabs.current !== "packets" && isTyping(at)) return at.blur();
  tabs.show("packets");
  list.focus();
}

/** Runs an action; one on selected packets once the selection is that of the last key or press. @param {string} name @param {number} [session] the one that it is about, if not the selected one */
function run(name, session) {
  const act = async () => ACTIONS[name]?.(session);
  const waits = packets.moving !== null && ON_SELECTED.includes(name);
  const acted = waits ? packets.moving?.then(act) ?? act() : act();
  unlessLost(waits && FORMS.includes(name) ? opening.wait(acted) : acted);
}

/** The actions on selected packets, and those of them that open a form. */
const FORMS = ["comment", "edit", "export", "rule"];
const ON_SELECTED = [...FORMS, "answer", "compare", "explain", "hide", "hide_type", "mark", "next_mark", "only_type", "open", "previous_mark", "resend", "select"];

/** What each action does, by its name in the program's table. @type {Record<string, (session?: number) => any>} */
const ACTIONS = {
  packets: () => tabs.show("packets"),
  sessions: () => sessions.element.focus(),
  conversation: () => tabs.show("conversation"),
  statistics: () => tabs.show("statistics"),
  timeline: () => tabs.show("timeline"),
  map: () => {
    tabs.show("map");
    map.frame.focus();
  },
  held: () => withControl(() => {}),
  rules: () => {
    if (tabs.has("rules")) tabs.show("rules");
  },
  sent: () => {
    tabs.show("control");
    sent.grid.focus();
  },
  keys: () => dialog.show("Keys", keysDialog(actions)),
  palette: () => palette.open(actions.filter((it) => ACTIONS[it.name])),
  menu: () => menus.openSelected(),
  back,
  next: () => (tabs.current === "control" ? control.held.step(1, false) : lines().step(1)),
  previous: () => (tabs.current === "control" ? control.held.step(-1, false) : lines().step(-1)),
  page_down: () => lines().step(Math.floor(lines().list.visible)),
  page_up: () => lines().step(-Math.floor(lines().list.visible)),
  first: () => lines().go(0),
  last: () => lines().go(Infinity),
  go_to: () => goTo.show(),
  follow: () => (tabs.current === "conversation" ? conversation.goToEnd() : packets.setFollow(!packets.follow)),
  open: () => (tabs.current === "conversation" ? conversation.open() : (byId("pair", HTMLElement).hidden ? byId("tree", HTMLElement) : pair.grid).focus()),
  filter: () => filter.input.focus(),
  search: () => finder.input.focus(),
  next_match: () => finder.find(false),
  previous_match: () => finder.find(true),
  hide_type: () => listing.byType(false),
  only_type: () => listing.byType(true),
  hide: () => listing.hide(),
  show_hidden: () => listing.showHidden(),
  times: nextTime,
  columns: () => columns.toggleMenu(),
  colors: chooseColors,
  series: () => {
    tabs.show("timeline");
    timeline.text.focus();
  },
  sort: () => columns.openSort(),
  clear: () => listing.clear(state?.end ?? 0),
  select: () => {
    if (packets.selected !== null) packets.choose(packets.index, packets.selected);
  },
  mark: () => commands.mark(),
  next_mark: () => commands.nextMark(false),
  previous_mark: () => commands.nextMark(true),
  answer: () => commands.answer(),
  comment: () => commands.comment(),
  explain: (session) => commands.explain(session),
  save: () => connection.ask("save", {}),
  compare: () => commands.compare(),
  export: () => commands.export(),
  rule: () => commands.rule(),
  field_filter: () => selectedPacket.filterBy("only"),
  field_and: () => selectedPacket.filterBy("and"),
  field_or: () => selectedPacket.filterBy("or"),
  field_not: () => selectedPacket.filterBy("not"),
  field_column: () => selectedPacket.asColumn(),
  field_rule: () => askFieldRule({ selectedPacket, commands, dialog, notice }),
  copy_value: () => selectedPacket.copy("text"),
  copy_path: () => selectedPacket.copy("column"),
  copy_bytes: () => selectedPacket.copy("hex"),
  copy_json: () => selectedPacket.copy("json"),
  resend: () => commands.resend(),
  edit: () => (tabs.current === "control" ? control.editHeld() : commands.change()),
  send: () => withControl((it) => it.packet.focus()),
  stop: () => control.stop(),
  hold: () => withControl((it) => it.where.focus()),
  overtake: () => withControl((it) => it.overtaken.click()),
  forward: () => withHeld((it) => it.decide("forward")),
  drop: () => withHeld((it) => it.decide("drop")),
  forward_all: () => withHeld((it) => it.askForwardAll()),
  kick: () => withControl((it) => it.text.focus()),
};

const menus = new ContextMenus(ACTIONS, run, list, (name) => name !== "compare" || commands.comparable);
const keyboard = new Keyboard(run, (name) => Boolean(ACTIONS[name]), () => dialog.isOpen || palette.element.open);
keyboard.own(list, (event, isControl) => {
  if (isControl && event.key === "a") return packets.chooseAll();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  return event.shiftKey && step ? packets.step(step, true) : null;
});

control.sentPane.prepend(sent.element);
filter.keepIn(byId("save-filter", HTMLButtonElement), byId("saved-filters", HTMLSelectElement));
timeline.expressions = settings.get("series", null);
packets.onfollow = () => {
  followButton.setAttribute("aria-pressed", String(packets.follow));
  if (tabs.current === "map") unlessLost(map.askFor(packets, sessions.selected));
  listing.remember();
};
packets.onchoose = () => {
  listing.remember();
  const { size } = packets.chosen;
  if (size > 1) notice.say(`${size.toLocaleString("en")} packets are selected.`);
};
columns.check = async (name) => (await connection.ask("rows", { start: 0, count: 0, columns: [name] })).error?.message ?? null;
columns.onsort = () => {
  packets.setFollow(false);
  unlessLost(connection.ask("sort", columns.sort ?? {}));
  listing.remember();
};
details.onrow = (row) => unlessLost(openRow(row));
pair.onselect = (path) => details.selectField(details.packet?.fields.findIndex((it) => it.path === path) ?? -1);
followButton.addEventListener("click", () => packets.setFollow(!packets.follow));
timeButton.addEventListener("click", nextTime);
for (const [id, name] of [["export", "export"], ["actions", "palette"], ["help", "keys"]]) byId(id ?? "", HTMLElement).addEventListener("click", () => run(name ?? ""));
byId("filter-help", HTMLElement).addEventListener("click", () => dialog.show("Filters", filterHelp(connection, (text) => {
  dialog.close();
  tabs.show("packets");
  filter.apply(text);
})));
new Theme(byId("theme", HTMLElement), () => timeline.draw());
new Splitter(byId("split-sessions", HTMLElement), byId("sessions", HTMLElement), "before", 120);
new Splitter(byId("split-details", HTMLElement), byId("details", HTMLElement), "after", 90);
new Splitter(byId("split-hex", HTMLElement), byId("hex", HTMLElement), "after", 120);
menus.offer(list, "packet", (line) => {
  if (line.dataset.row === undefined) return null;
  const row = Number(line.dataset.row);
  if (!packets.chosen.has(row)) packets.select(Number(line.id.slice("row-".length)), row);
  const { size } = packets.chosen;
  return size > 1 ? plural(size, "packet") : packets.current?.name ?? "Packet";
}, () => packets.current?.session);
menus.offer(byId("tree", HTMLElement), "field", (line) => {
  details.selectLine(Number(line.dataset.line));
  return details.packet?.fields[details.field]?.path || "Field";
});
menus.offer(pair.grid, "field", (line) => {
  pair.select(Number(line.dataset.index));
  return pair.fields[pair.field]?.path ?? "Field";
});
menus.offer(control.held.element, "held", (line) => control.held.selectLine(line));
control.onselect = () => {
  menus.follow("held", control.held.title);
  unlessLost(strip.take());
};
control.onhold = () => unlessLost(strip.take());
menus.offer(sessions.element, "session", (line) => {
  const session = Number(line.dataset.session);
  if (!(session > 0)) return null;
  control.chooseSession(session);
  return `Session #${session}`;
}, (line) => Number(line.dataset.session));
byId("open", HTMLElement).addEventListener("click", () => opener.show());
opener.watch(document.body);
press.watch(document);
opening.watch(document);
setInterval(() => {
  if (tabs.current === "statistics" && state && !document.hidden) unlessLost(statistics.askAgain(state));
}, COUNT_AGAIN);
addEventListener("beforeunload", (event) => {
  if (rules.changed.size || control.isWriting()) event.preventDefault();
});
details.clear();
