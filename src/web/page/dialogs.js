// What is shown in dialogs: a comparison of two packets, and the keys.

import { byId, make } from "./dom.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").ComparedValues} ComparedValues */

/** The dialog of the page, of which one is open at a time. */
export class Dialog {
  /** @param {HTMLDialogElement} element */
  constructor(element) {
    this.element = element;
    this.title = byId("dialog-title", HTMLElement);
    this.body = byId("dialog-body", HTMLElement);
  }

  get isOpen() {
    return this.element.open;
  }

  /** @param {string} title @param {HTMLElement} body */
  show(title, body) {
    this.title.textContent = title;
    this.body.replaceChildren(body);
    if (!this.element.open) this.element.showModal();
  }

  close() {
    this.element.close();
  }
}

/** @param {ComparedValues[]} fields */
export function comparison(fields) {
  const rows = fields.map((field) => make("tr", { class: field.same ? undefined : "differs" },
    make("th", { scope: "row" }, field.path), make("td", {}, field.a ?? "—"), make("td", {}, field.b ?? "—")));
  return make("table", {},
    make("thead", {}, make("tr", {}, ...["field", "marked", "selected"].map((it) => make("th", { scope: "col" }, it)))),
    make("tbody", {}, ...rows));
}

/** How a session ended, and why. @param {string[]} lines */
export function explanation(lines) {
  return make("pre", { class: "explanation" }, lines.join("\n"));
}

/** @param {ActionInfo[]} actions */
export function help(actions) {
  const groups = [...new Set(actions.map((it) => it.group))];
  return make("table", {}, ...groups.map((group) => make("tbody", {},
    make("tr", {}, make("th", { scope: "rowgroup", colspan: 2 }, group)),
    ...actions.filter((it) => it.group === group).map((it) => make("tr", {},
      make("th", { scope: "row" }, ...it.names.split(" ").flatMap((key) => [make("kbd", {}, key), " "])),
      make("td", {}, it.help))))));
}
