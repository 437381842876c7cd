// The dialog in which a person writes what a rule is to set a field to.

import { unlessLost } from "./connection.js";
import { make } from "./dom.js";

/**
 * @typedef {object} Parts of the page
 * @property {import("./selected_packet.js").SelectedPacket} selectedPacket
 * @property {import("./packet_commands.js").PacketCommands} commands
 * @property {import("./dialogs.js").Dialog} dialog
 * @property {import("./notice.js").Notice} notice
 */

/** Asks for another value of the selected field, and begins a rule that sets it. @param {Parts} parts */
export function askFieldRule({ selectedPacket, commands, dialog, notice }) {
  const { row, details } = selectedPacket;
  const index = details.field;
  const field = details.packet?.fields[index];
  if (row === null || !field) return notice.say("Select a field first: a line of the fields below the list.", true);
  if (!field.value) return notice.say("A rule cannot set this as a whole: select one of the fields in it.", true);
  const input = make("input", { type: "text", id: "field-value", size: 60, spellcheck: "false", autocomplete: "off", "aria-label": `Value of ${field.path}`, value: written(field) });
  const add = () => {
    dialog.close();
    unlessLost(commands.rule({ field: index, text: input.value }, row));
  };
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    add();
  });
  dialog.show(`Set ${field.path} by a rule`, make("div", {},
    make("p", {}, input, " ", make("button", { type: "button", onclick: add }, "Make the rule")),
    make("p", {}, "A text that begins with = is an expression of the filter language, such as =upper(message).")));
  input.focus();
  input.select();
}

/** Returns the value of a field as a person writes it. @param {import("./protocol.d.ts").Field} field */
function written({ value, text }) {
  if (text) return text.map((it) => it.text).join("");
  try {
    const read = JSON.parse(value);
    return typeof read === "string" ? read : value;
  } catch {
    return value;
  }
}
