// The command palette: finds an action by what it does, and runs it.

import { make, sentence } from "./dom.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */

/**
 * Returns the actions whose name, text, group and other words have all words of a text: as `Interface::find` does it for the terminal.
 * @param {ActionInfo[]} actions @param {string} typed
 */
export function findActions(actions, typed) {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/);
  const spaced = (/** @type {ActionInfo} */ it) => it.name.replace(/_/g, " ");
  const found = actions.filter((it) => {
    const all = `${spaced(it)} ${it.help} ${it.group} ${it.words}`.toLowerCase();
    return it.name !== "palette" && words.every((word) => all.includes(word));
  });
  const begins = (/** @type {ActionInfo} */ it) => spaced(it).startsWith(text);
  return [...found.filter(begins), ...found.filter((it) => !begins(it))];
}

export class Palette {
  /** @param {(name: string) => void} run */
  constructor(run) {
    this.run = run;
    /** @type {ActionInfo[]} */
    this.actions = [];
    /** @type {ActionInfo[]} */
    this.found = [];
    this.chosen = 0;
    this.input = make("input", {
      id: "palette-text", type: "text", role: "combobox", "aria-label": "Action", "aria-expanded": "true", "aria-controls": "palette-list",
      "aria-autocomplete": "list", autocomplete: "off", spellcheck: "false", placeholder: "Type what to do: mark, filter, forward…",
    });
    this.list = make("ul", { id: "palette-list", role: "listbox", "aria-label": "Actions" });
    this.none = make("p", { role: "status" });
    this.element = make("dialog", { id: "palette", "aria-label": "Actions" }, this.input, this.list, this.none);
    document.body.append(this.element);
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("click", (event) => {
      const item = event.target instanceof Element ? event.target.closest("li") : null;
      if (item) this.take(Number(item.dataset.index));
    });
    // A click beside it.
    this.element.addEventListener("click", (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  /** @param {ActionInfo[]} actions */
  open(actions) {
    this.actions = actions;
    this.input.value = "";
    this.find();
    this.element.showModal();
    this.input.focus();
  }

  find() {
    this.found = findActions(this.actions, this.input.value);
    this.chosen = 0;
    this.draw();
  }

  draw() {
    this.list.replaceChildren(...this.found.map(({ help, names, group }, index) => make("li", {
      id: `palette-${index}`, role: "option", "data-index": index, "aria-selected": index === this.chosen,
    }, make("span", {}, sentence(help)), make("small", {}, group), make("kbd", {}, names.split(" ")[0]))));
    this.none.textContent = this.found.length ? "" : "No action has all these words.";
    if (this.found.length) this.input.setAttribute("aria-activedescendant", `palette-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  /** @param {number} index */
  take(index) {
    const action = this.found[index];
    if (!action) return;
    // What had the focus has it again before the action is run.
    this.element.close();
    this.run(action.name);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const { length } = this.found;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[/** @type {keyof typeof steps} */ (event.key)];
    if (step && length) {
      this.chosen = (this.chosen + step + length) % length;
      this.draw();
    } else if (event.key === "Enter") {
      this.take(this.chosen);
    } else {
      return;
    }
    event.preventDefault();
  }
}
