// What can be written in a filter: names, operators and examples, and what other tools call the same.

import { unlessLost } from "./connection.js";
import { make } from "./dom.js";

/** A form or an example, and what it means. @typedef {[string, string]} Form */

/** Prefixes after which mitmcraft has names. */
const PREFIXES = ["role", "state", "pkt", "session"];

/** @type {Form[]} */
const NAMES = [
  ["chat", "packets of a type; map_* and *chat* are several types"],
  ["role.chat", "packets with a role in every version"],
  ["clientbound", "packets to the client; serverbound are those to the server"],
  ["state.login", "packets of a state"],
  ["message.exists", "packets with a field of this name"],
  ["chat.message.exists", "the field of one packet type"],
  ["items[0].itemId == 1", "an element of a list; [-1] is the last one, [*] is any"],
  ["payload.brand == \"vanilla\"", "a field of a plugin message"],
  ["pkt.n == 12", "a property of every packet, here its number in its session"],
  ["session.player == \"Steve\"", "a property of its session"],
];

/** @type {Form[]} */
const OPERATORS = [
  ["entityId == 7", "comparisons: == != < <= > >="],
  ["entityId in {1, 3..5}", "one of several values, or of a range"],
  ["message contains \"hi\"", "a text within another one"],
  ["message matches \"h[ae]llo\"", "a regular expression"],
  ["type is creeper", "a value with this meaning in the version of the packet"],
  ["chat and not clientbound", "logic: and, or, not, also && || !, with ( )"],
  ["lower(text(message)) == \"hi\"", "functions: len lower upper abs text hex replace slice distance block"],
  ["pkt.body contains 0a:1b:2c", "bytes; numbers are 12, 0x0c or 1.5"],
];

/** @type {Form[]} */
const EXAMPLES = [
  ["role.chat or role.command", "what players say"],
  ["pkt.error or pkt.diagnostic.exists", "packets that do not decode, or that break a rule of the game"],
  ["role.disconnect", "why the server ends sessions"],
  ["pkt.verdict == \"drop\"", "packets that were dropped"],
  ["serverbound and not role.position and not role.keep_alive", "what the player does"],
  ["pkt.size > 10000 and clientbound", "large packets from the server"],
];

/** What other tools write, and ours. @type {Form[]} */
export const OTHERS = [
  ["frame.number == 12", "pkt.n == 12"],
  ["frame.len > 100", "pkt.wire > 100"],
  ["frame.time_relative > 5", "pkt.time > 5"],
  ["tcp.stream == 1", "session.id == 1"],
  ["ip.src == 10.0.0.1", "session.client contains \"10.0.0.1\""],
  ["~q", "serverbound"],
  ["~s", "clientbound"],
  ["~b hello", "pkt.body contains \"hello\""],
  ["~marked", "pkt.marked"],
];

/** Makes the list of what can be written. @param {import("./connection.js").Connection} connection @param {(expression: string) => void} onuse called with one that is to be used */
export function filterHelp(connection, onuse) {
  /** Makes a list of the names after a prefix, of which mitmcraft tells. */
  const names = (/** @type {string} */ prefix) => {
    const list = make("span", {});
    unlessLost(connection.ask("complete", { filter: `${prefix}.`, at: prefix.length + 1 }).then(({ names = [] }) => {
      list.textContent = `: ${names.join(", ")}`;
    }));
    return list;
  };
  const use = (/** @type {string} */ text) => make("button", { type: "button", title: "Use this filter", onclick: () => onuse(text) }, make("code", {}, text));
  const group = (/** @type {string} */ title, /** @type {Form[]} */ forms, /** @type {(form: Form) => (Node | string)[]} */ row) => make("tbody", {},
    make("tr", {}, make("th", { scope: "rowgroup", colspan: 2 }, title)),
    ...forms.map((form) => make("tr", {}, ...row(form).map((cell, at) => make(at ? "td" : "th", at ? {} : { scope: "row" }, cell)))));
  const plain = (/** @type {Form} */ [text, meaning]) => [use(text), meaning];
  return make("div", { class: "filter-help" },
    make("p", {}, "Tab completes names. The whole language is described by ", make("code", {}, "mitmcraft help filters"), "."),
    make("table", {},
      group("Packets and fields", NAMES, ([text, meaning]) => {
        const prefix = PREFIXES.find((it) => text.startsWith(`${it}.`));
        return [use(text), make("span", {}, meaning, prefix ? names(prefix) : null)];
      }), group("Operators", OPERATORS, plain), group("Examples", EXAMPLES, plain),
      group("In Wireshark and mitmproxy, and here", OTHERS, ([theirs, ours]) => [make("code", {}, theirs), use(ours)])));
}
