// A line for an expression: errors under the character, completion, history, and whether what it shows is applied.

import { unlessLost } from "./connection.js";
import { make } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Failure} Failure */
/** @typedef {import("./protocol.d.ts").Warning} Warning */

/** @typedef {import("./protocol.d.ts").Combination} Combination */
/** @typedef {import("./protocol.d.ts").ConditionSource} ConditionSource */

export class FilterLine {
  /**
   * @param {Connection} connection
   * @param {HTMLInputElement} input
   * @param {HTMLElement} list
   * @param {HTMLElement} message
   * @param {(filter: string) => void} onApply
   * @param {string} [storage] names its history
   */
  constructor(connection, input, list, message, onApply, storage = "filters") {
    this.storage = storage;
    /** What is applied now. */
    this.applied = "";
    /** The conditions that are being added. @type {Promise<void>} */
    this.combining = Promise.resolve();
    this.pending = make("small", { class: "pending", role: "status", hidden: "" }, "not applied");
    input.after(this.pending);
    this.connection = connection;
    this.input = input;
    this.list = list;
    this.message = message;
    this.onApply = onApply;
    /** What stands before the names that are offered. */
    this.front = "";
    /** @type {string[]} */
    this.names = [];
    this.chosen = -1;
    /** @type {string[]} */
    this.history = JSON.parse(localStorage.getItem(storage) ?? "[]");
    this.back = -1;
    this.onKept = () => {};
    input.addEventListener("input", () => unlessLost(this.changed()));
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("blur", () => setTimeout(() => this.close(), 150));
    list.addEventListener("mousedown", (event) => {
      event.preventDefault();
      const item = event.target instanceof HTMLElement ? event.target.dataset.index : undefined;
      if (item !== undefined) this.take(Number(item));
    });
  }

  /** Says what is applied now: what is typed may be something else. @param {string} filter */
  setApplied(filter) {
    this.applied = filter;
    this.drawPending();
  }

  /** Tells an expression that is only typed from one that is applied. */
  drawPending() {
    const pending = this.input.value.trim() !== this.applied.trim();
    this.pending.hidden = !pending;
    this.input.classList.toggle("pending", pending);
  }

  /** Checks and completes what was typed. */
  async changed() {
    this.drawPending();
    const { value, selectionStart } = this.input;
    this.keepFitting();
    const [checked, completion] = await Promise.all([
      this.connection.ask("check", { filter: value }),
      this.connection.ask("complete", { filter: value, at: selectionStart ?? value.length }),
    ]);
    if (value !== this.input.value) return;
    this.show(checked);
    if (completion.error) return;
    this.front = value.slice(0, completion.start);
    const word = value.slice(completion.start, selectionStart ?? value.length);
    this.names = word ? completion.names : [];
    this.chosen = -1;
    this.drawNames();
  }

  /** Shows an error or warning below its place. @param {{ error?: Failure, warnings?: Warning[] }} checked */
  show(checked) {
    const fault = checked.error ?? checked.warnings?.[0];
    this.input.classList.toggle("invalid", Boolean(checked.error));
    this.input.setAttribute("aria-invalid", String(Boolean(checked.error)));
    this.message.classList.toggle("error", Boolean(checked.error));
    this.drawPending();
    if (!fault || !this.input.value) {
      this.message.replaceChildren();
      return;
    }
    const start = fault.start ?? 0;
    const carets = "^".repeat(Math.max(1, (fault.end ?? start) - start));
    const hint = fault.hint ? ` (${fault.hint})` : "";
    // The input's text begins after its label, border and padding.
    const caret = make("span", { class: "caret", "aria-hidden": "true" }, " ".repeat(start) + carets);
    this.message.replaceChildren(caret, make("div", {}, `${fault.message}${hint}`));
    const left = this.input.getBoundingClientRect().left - this.message.getBoundingClientRect().left;
    this.message.style.paddingLeft = `${left + 9 - (this.message.clientLeft || 0)}px`;
    this.message.style.fontSize = getComputedStyle(this.input).fontSize;
  }

  drawNames() {
    const open = this.names.length > 0;
    this.list.hidden = !open;
    this.input.setAttribute("aria-expanded", String(open));
    this.list.replaceChildren(...this.names.map((name, index) => make("li", {
      id: `${this.list.id}-${index}`, role: "option", "data-index": index,
      "aria-selected": index === this.chosen,
    }, name)));
    if (open && this.chosen >= 0) {
      this.input.setAttribute("aria-activedescendant", `${this.list.id}-${this.chosen}`);
      this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
    } else {
      this.input.removeAttribute("aria-activedescendant");
    }
  }

  /** Offers no more what does not complete what is typed now, until the answer to that comes. */
  keepFitting() {
    const before = this.input.value.slice(0, this.input.selectionStart ?? undefined);
    const word = before.slice(this.front.length);
    const fitting = before.startsWith(this.front) && word ? this.names.filter((it) => it.startsWith(word)) : [];
    if (fitting.length === this.names.length) return;
    this.chosen = fitting.indexOf(this.names[this.chosen] ?? "");
    this.names = fitting;
    this.drawNames();
  }

  close() {
    this.names = [];
    this.drawNames();
  }

  /** Takes a name of the list. @param {number} index */
  take(index) {
    const name = this.names[index];
    if (name === undefined) return;
    const end = this.input.selectionStart ?? this.input.value.length;
    this.input.setRangeText(name, Math.min(this.front.length, end), end, "end");
    this.close();
    unlessLost(this.changed());
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const open = this.names.length > 0;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const step = event.key === "ArrowDown" ? 1 : -1;
      this.chosen = (this.chosen + step + this.names.length) % this.names.length;
      this.drawNames();
    } else if (open && (event.key === "Tab" || (event.key === "Enter" && this.chosen >= 0))) {
      this.take(Math.max(0, this.chosen));
    } else if (event.key === "Enter") {
      this.apply(this.input.value);
    } else if (event.key === "Escape" && open) {
      this.close();
    } else if (event.key === "Escape") {
      document.getElementById("list")?.focus();
    } else if (!open && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
      const step = event.key === "ArrowUp" ? 1 : -1;
      this.back = Math.min(Math.max(-1, this.back + step), this.history.length - 1);
      this.input.value = this.history[this.back] ?? "";
      this.drawPending();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** Gives it the elements with which filters are saved. @param {HTMLButtonElement} star @param {HTMLSelectElement} choice */
  keepIn(star, choice) {
    /** @type {string[]} */
    let kept = JSON.parse(localStorage.getItem("kept-filters") ?? "[]");
    const draw = () => {
      const on = kept.includes(this.input.value.trim());
      star.textContent = on ? "★ Saved" : "☆ Save";
      star.setAttribute("aria-pressed", String(on));
      choice.hidden = kept.length === 0;
      choice.replaceChildren(make("option", { value: "" }, "Saved filters"), ...kept.map((it) => make("option", { value: it }, it)));
    };
    star.addEventListener("click", () => {
      const text = this.input.value.trim();
      if (!text) return;
      kept = kept.includes(text) ? kept.filter((it) => it !== text) : [...kept, text];
      localStorage.setItem("kept-filters", JSON.stringify(kept));
      draw();
    });
    choice.addEventListener("change", () => {
      if (choice.value) this.apply(choice.value);
      draw();
    });
    this.input.addEventListener("input", draw);
    this.onKept = draw;
    draw();
  }

  /**
   * Adds a condition to the filter that is applied, after those that were added before.
   * @param {() => string} applied @param {ConditionSource} condition @param {Combination} how
   */
  combine(applied, condition, how) {
    const combined = this.combining.then(async () => {
      const answer = await this.connection.insist("combine", () => ({ filter: applied(), condition, how }));
      if (!answer.error) return this.apply(answer.filter);
      this.message.classList.add("error");
      this.message.replaceChildren(make("div", {}, answer.error.message));
    });
    // A failure is no reason not to add the next one.
    this.combining = combined.catch(() => {});
    return combined;
  }

  /** @param {string} filter */
  apply(filter) {
    this.input.value = filter;
    this.close();
    this.back = -1;
    if (filter.trim()) {
      this.history = [filter, ...this.history.filter((it) => it !== filter)].slice(0, 50);
      localStorage.setItem(this.storage, JSON.stringify(this.history));
    }
    this.onKept();
    this.drawPending();
    this.onApply(filter);
  }
}
