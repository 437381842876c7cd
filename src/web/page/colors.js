// The colours of packets: that of the first expression that a packet matches.

import { make } from "./dom.js";
import { settings } from "./memory.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Highlight} Highlight */
/** @typedef {import("./protocol.d.ts").HighlightColor} HighlightColor */

/** @type {HighlightColor[]} */
const COLORS = ["red", "orange", "yellow", "green", "blue", "purple", "gray"];

/** The colours that were chosen for this browser only; `undefined` for those that mitmcraft has. @returns {Highlight[] | undefined} */
export function chosenColors() {
  return settings.get("colors", undefined);
}

/**
 * The dialog that changes them.
 * @param {Connection} connection @param {Highlight[]} present
 * @param {string | null} file where mitmcraft keeps them @param {() => void} onChange
 */
export function colorDialog(connection, present, file, onChange) {
  let colors = present.map((it) => ({ ...it }));
  const list = make("ol", { id: "color-list", "aria-label": "Colours" });
  const message = make("p", { id: "color-message", role: "alert" });
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
  const save = async () => {
    const { error, colors: accepted } = await connection.ask("highlight", { colors, save: file !== null });
    const hint = error?.hint ? ` (${error.hint})` : "";
    message.textContent = error ? `${error.message}${hint}` : "";
    message.classList.toggle("bad", Boolean(error));
    if (!accepted) return;
    // Those of this browser would count before those of the file.
    settings.set("colors", file === null ? accepted : undefined);
    onChange();
    message.textContent = file === null ? "Saved in this browser: an option or the configuration sets colours for all." : `Saved in ${file}, for every browser and the terminal.`;
  };
  draw();
  return make("div", {},
    make("p", {}, "A packet has the colour of the first line whose expression it matches."), list,
    make("div", { class: "bar" },
      make("button", { type: "button", onclick: () => {
        colors = [...colors, { color: "blue", where: "" }];
        draw();
        list.lastElementChild?.querySelector("input")?.focus();
      } }, "Add a colour"),
      make("button", { type: "button", class: "primary", id: "colors-save", onclick: save }, "Save")), message);
}
