// The colours of packets: that of the first expression that a packet matches.

import { copy } from "./clipboard.js";
import { make } from "./dom.js";
import { settings } from "./memory.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Highlight} Highlight */
/** @typedef {import("./protocol.d.ts").HighlightColor} HighlightColor */

/** @type {HighlightColor[]} */
const COLORS = ["red", "orange", "yellow", "green", "blue", "purple", "gray"];

/** The colours that were chosen in this browser; `undefined` for those that mitmcraft has. @returns {Highlight[] | undefined} */
export function chosenColors() {
  return settings.get("colors", undefined);
}

/**
 * The dialog that changes them.
 * @param {Connection} connection @param {Highlight[]} present @param {() => void} onChange
 */
export function colorDialog(connection, present, onChange) {
  let colors = present.map((it) => ({ ...it }));
  const list = make("ol", { id: "color-list", "aria-label": "Colours" });
  const message = make("p", { id: "color-message", role: "alert", class: "bad" });
  const draw = () => {
    list.replaceChildren(...colors.map((it, index) => {
      const color = make("select", { "aria-label": `Colour ${index + 1}`, class: `h-${it.color}`, onchange: () => {
        it.color = /** @type {HighlightColor} */ (color.value);
        color.className = `h-${it.color}`;
      } }, ...COLORS.map((name) => make("option", { value: name }, name)));
      color.value = it.color;
      const where = make("input", { type: "text", value: it.where, spellcheck: "false", autocomplete: "off", "aria-label": `Packets of colour ${index + 1}`, oninput: () => { it.where = where.value; } });
      const swap = () => {
        const above = colors[index - 1];
        if (!above) return;
        [colors[index - 1], colors[index]] = [it, above];
        draw();
      };
      return make("li", {}, color, where,
        make("button", { type: "button", "aria-label": `Colour ${index + 1} up`, disabled: index ? undefined : "", onclick: swap }, "Up"),
        make("button", { type: "button", "aria-label": `Remove colour ${index + 1}`, onclick: () => {
          colors = colors.filter((other) => other !== it);
          draw();
        } }, "Remove"));
    }));
  };
  /** What keeps the colours for every browser and the terminal. */
  const lines = make("textarea", { id: "color-settings", readonly: "", rows: 8, wrap: "off", "aria-label": "Lines for the configuration", spellcheck: "false" });
  const save = async (/** @type {Highlight[]} */ wanted) => {
    const { error, colors: accepted } = await connection.ask("highlight", { colors: wanted });
    const hint = error?.hint ? ` (${error.hint})` : "";
    message.textContent = error ? `${error.message}${hint}` : "";
    if (!accepted) return;
    settings.set("colors", accepted);
    lines.value = asSettings(accepted);
    onChange();
    message.textContent = "Saved in this browser.";
  };
  lines.value = asSettings(present);
  draw();
  return make("div", {},
    make("p", {}, "A packet has the colour of the first line whose expression it matches."), list,
    make("div", { class: "bar" },
      make("button", { type: "button", onclick: () => {
        colors = [...colors, { color: "blue", where: "" }];
        draw();
        list.lastElementChild?.querySelector("input")?.focus();
      } }, "Add a colour"),
      make("button", { type: "button", class: "primary", id: "colors-save", onclick: () => save(colors) }, "Save")), message,
    make("details", {}, make("summary", {}, "For the terminal, and every browser"),
      make("p", {}, "Put these lines into the configuration of mitmcraft, below ", make("code", {}, "[proxy]"), " and below ", make("code", {}, "[view]"), ":"), lines,
      make("div", { class: "bar" }, make("button", { type: "button", onclick: async () => {
        message.textContent = await copy(lines.value) ? "Copied." : "The browser does not allow to copy: select the lines.";
      } }, "Copy"))));
}

/** Writes colours as the configuration has them. @param {Highlight[]} colors */
export function asSettings(colors) {
  const texts = colors.length ? colors.map((it) => `${it.color}: ${it.where}`) : ["none"];
  return `highlight = [\n${texts.map((it) => `    ${quoted(it)},\n`).join("")}]\n`;
}

/** Writes a string of TOML: with escapes only if it needs them. @param {string} text */
function quoted(text) {
  // JSON escapes more than TOML asks for, and all of it as TOML does.
  return /['\u0000-\u001f\u007f]/.test(text) ? JSON.stringify(text).replace("\u007f", "\\u007f") : `'${text}'`;
}
