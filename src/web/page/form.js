// The fields of a packet that is edited: a form made from the schema, JSON, or bytes.

import { ConnectionLost, unlessLost } from "./connection.js";
import { make, styled } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Failure} Failure */
/** @typedef {import("./protocol.d.ts").Form} Form */
/** @typedef {import("./protocol.d.ts").FormChange} FormChange */
/** @typedef {import("./protocol.d.ts").FormLine} FormLine */
/** @typedef {import("./protocol.d.ts").FormProblem} FormProblem */
/** @typedef {import("./protocol.d.ts").Arguments<"form">} Arguments */
/** Session, direction, state and name of a packet. @typedef {Pick<Arguments, "session" | "dir" | "state" | "packet">} Place */

/** Names from which a list is chosen by typing. */
const MANY = 40;

export class PacketForm {
  /** @param {Connection} connection @param {string} id begins the ids of its elements @param {string} label */
  constructor(connection, id, label) {
    this.connection = connection;
    this.id = id;
    /** Where the packet belongs. @type {Place | null} */
    this.place = null;
    /** The fields as JSON: numbers would lose digits here. */
    this.text = "{}";
    /** Id and fields in hex; `null` if the packet cannot be encoded. @type {string | null} */
    this.body = null;
    /** The bytes that were typed, while the fields are those of them. @type {string | null} */
    this.exact = null;
    /** What was before each change. @type {{ text: string, exact: string | null }[]} */
    this.undone = [];
    /** The changes that were sent. */
    this.kept = 0;
    /** Shown are the fields as a form, as JSON or as bytes: three views of one packet. */
    this.mode = "form";
    /** The mode that a person has chosen, once what was typed before is taken. */
    this.chosen = "form";
    /** The text that the editor showed when it was filled or read last. */
    this.shown = "";
    /** `true` while the text of the editor is not a valid packet. */
    this.wrong = false;
    /** Ends when everything that was changed has its answer: changes are made one after the other. @type {Promise<any>} */
    this.work = Promise.resolve();
    this.queued = 0;
    this.undoButton = make("button", { type: "button", onclick: () => this.undo(), disabled: "" }, "Undo");
    this.modes = make("span", { role: "radiogroup", "aria-label": `${label}: form, JSON or bytes` },
      ...[["form", "Form"], ["json", "JSON"], ["hex", "Bytes"]].map(([mode, name]) => make("label", {},
        make("input", { type: "radio", name: `${id}-mode`, value: mode, checked: mode === "form" ? "" : undefined, onchange: () => unlessLost(this.setMode(mode ?? "form")) }), ` ${name} `)));
    this.fields = make("div", { class: "fields", role: "group", "aria-label": label });
    this.editor = make("textarea", { id: `${id}-text`, rows: 10, spellcheck: "false", "aria-label": `${label} as text`, hidden: "" });
    this.editor.addEventListener("change", () => this.typed());
    this.message = make("p", { id: `${id}-message`, role: "alert", class: "bad" });
    this.warning = make("p", { id: `${id}-warning`, role: "status", class: "warning" });
    this.element = make("div", { class: "form" }, make("div", { class: "bar" }, this.modes, this.undoButton), this.warning, this.fields, this.editor, this.message);
    this.fields.addEventListener("input", (event) => {
      if (event.target instanceof HTMLElement) event.target.dataset.typed = "yes";
    });
    this.fields.addEventListener("change", (event) => {
      if (!(event.target instanceof HTMLElement)) return;
      delete event.target.dataset.typed;
      // It shows what was asked for until the answer says what it is.
      event.target.closest(".field-row")?.removeAttribute("data-line");
    }, true);
    this.element.addEventListener("keydown", (event) => {
      const typing = event.target instanceof HTMLTextAreaElement;
      if (typing || event.key !== "z" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.undo();
    });
  }

  /** Gives the focus to what is typed first. A text there is selected, so that what is typed takes its place. */
  focus() {
    const first = this.mode === "form" ? this.fields.querySelector("input, select, textarea") : this.editor;
    if (first instanceof HTMLElement) first.focus();
    if (first instanceof HTMLInputElement) first.select();
  }

  /** Opens a packet. Without a text, the form has the simplest fields. @param {Place} place @param {string | null} text */
  async open(place, text) {
    this.begin(place);
    this.text = text ?? "{}";
    await this.ask(text === null ? {} : { text });
  }

  /** Forgets the packet before. @param {Place | null} place */
  begin(place) {
    this.place = place;
    this.undone = [];
    this.kept = 0;
    this.exact = null;
    this.wrong = false;
  }

  /** Shows no packet. */
  clear() {
    this.begin(null);
    [this.text, this.body, this.shown, this.editor.value] = ["{}", null, "", ""];
    this.message.textContent = this.warning.textContent = "";
    this.fields.replaceChildren();
  }

  /** Shows a form that is known already. @param {Place} place @param {Form} form */
  take(place, form) {
    this.begin(place);
    this.show({ form });
  }

  /** Returns `true` if the form is another one now. @param {Pick<Arguments, "text" | "body" | "change">} more */
  async ask(more) {
    if (!this.place) return false;
    try {
      const answer = await this.connection.ask("form", { ...this.place, ...more });
      this.show(answer);
      return !answer.error;
    } catch (error) {
      if (error instanceof ConnectionLost) this.message.textContent = `Not changed: ${error.message}.`;
      throw error;
    }
  }

  /** Shows the fields again as they were before a change that was lost with the connection. */
  async renew() {
    await this.after(async () => {
      if (this.place) await this.ask(this.exact !== null ? { body: `0x${this.exact}` } : this.text === "{}" ? {} : { text: this.text });
    });
  }

  /**
   * Makes a change of the fields, after those before it.
   * @param {FormChange} change
   */
  change(change) {
    return this.after(async () => {
      this.remember();
      this.exact = null;
      await this.ask({ text: this.text, change });
    });
  }

  remember() {
    this.undone.push({ text: this.text, exact: this.exact });
  }

  undo() {
    unlessLost(this.after(async () => {
      if (this.wrong) {
        // What could not be taken is the last change.
        this.wrong = false;
        this.message.textContent = "";
        this.showMode();
        return;
      }
      const before = this.undone.pop();
      if (!before) return;
      this.exact = before.exact;
      await this.ask(before.exact === null ? { text: before.text } : { body: `0x${before.exact}` });
    }));
  }

  /** Does something after everything before it, also if that has failed. @param {() => Promise<any>} next */
  after(next) {
    const run = this.queued ? this.work.then(next, next) : next();
    this.queued++;
    this.work = run.finally(() => this.queued--);
    return this.work;
  }

  /**
   * Waits until what a person has typed is part of the packet. Rejects if the last change was lost with the
   * connection, so that nothing else is sent than what is shown.
   */
  async settled() {
    const at = document.activeElement;
    // What is typed, but not left yet, counts too.
    if (at instanceof HTMLElement && this.fields.contains(at) && at.dataset.typed) at.dispatchEvent(new Event("change"));
    this.typed();
    await this.work;
  }

  /** Returns `true` if a person has changed anything that was not sent. */
  isChanged() {
    return this.undone.length !== this.kept || this.queued > 0 || this.wrong || this.fields.querySelector("[data-typed]") !== null;
  }

  /** Shows the packet in another way, unless what was typed is no packet: that is not lost. @param {string} mode */
  async setMode(mode) {
    this.chosen = mode;
    try {
      await this.settled();
    } catch (error) {
      this.chosen = this.mode;
      this.showMode();
      throw error;
    }
    // Another one was chosen meanwhile, or this one again.
    if (mode !== this.chosen || mode === this.mode) return;
    const why = this.wrong ? `${this.message.textContent} Correct it, or undo it, to see it in another way.`
      : mode === "hex" && this.place && this.body === null && this.exact === null ? `A packet that cannot be sent has no bytes. ${this.message.textContent}` : null;
    if (why === null) this.mode = mode;
    else this.message.textContent = why.trim();
    this.chosen = this.mode;
    this.showMode();
  }

  /** Shows the packet in the way that was chosen. */
  showMode() {
    const { mode } = this;
    for (const it of this.modes.querySelectorAll("input")) it.checked = it.value === this.chosen;
    this.fields.hidden = mode !== "form";
    this.editor.hidden = mode === "form";
    if (mode === "form" || this.wrong) return;
    const hex = (this.exact ?? this.body ?? "").replace(/(..)/g, "$1 ").trim();
    this.shown = this.editor.value = mode === "hex" ? hex : this.text;
  }

  /** Takes what was typed in the editor. */
  typed() {
    const { mode } = this;
    const text = this.editor.value;
    if (mode === "form" || !this.place || text === this.shown) return;
    this.shown = text;
    unlessLost(this.after(async () => {
      const before = { text: this.text, exact: this.exact };
      const bytes = text.replace(/\s/g, "").toLowerCase();
      this.exact = mode === "hex" ? bytes : null;
      // More can be typed meanwhile.
      this.wrong = true;
      const taken = await this.ask(mode === "hex" ? { body: `0x${bytes}` } : { text });
      if (!taken) {
        this.exact = before.exact;
        this.undoButton.disabled = false;
        return;
      }
      this.undone.push(before);
      this.wrong = false;
      if (this.editor.value === text) this.showMode();
    }));
  }

  /** What is to be sent. @returns {{ fields: string } | { body: string }} */
  content() {
    if (this.mode === "hex" && this.wrong) return { body: `0x${this.editor.value.replace(/\s/g, "")}` };
    if (this.mode === "json" && this.wrong) return { fields: this.editor.value };
    return this.exact === null ? { fields: this.text } : { body: `0x${this.exact}` };
  }

  /** @param {{ form?: Form, error?: Failure }} answer */
  show({ form, error }) {
    this.undoButton.disabled = this.undone.length === 0 && !this.wrong;
    this.message.textContent = error?.message ?? "";
    if (!form) return;
    this.warning.textContent = form.warning ? `Note: ${form.warning}.` : "";
    const { problem } = form;
    if (problem && !problem.pointer) this.message.textContent = problem.message;
    this.text = form.text;
    this.body = form.body;
    const at = document.activeElement;
    const focused = at instanceof HTMLElement ? at.dataset.pointer : undefined;
    // What is typed and not left yet is newer than the answer.
    const typed = at instanceof HTMLElement && at.dataset.typed ? at.closest("[data-line]") : null;
    const range = at instanceof HTMLInputElement && at.type === "text" ? [at.selectionStart, at.selectionEnd, at.value.length] : null;
    // A line that is as before stays, with what is being typed there.
    const before = new Map([...this.fields.children].map((it) => [it.getAttribute("data-line"), it]));
    const lines = form.lines.map((line) => {
      const shown = JSON.stringify([line, problem?.pointer === line.pointer ? problem.message : null]);
      const row = (focused === line.pointer ? typed : null) ?? before.get(shown) ?? this.line(line, problem);
      row.setAttribute("data-line", shown);
      return row;
    });
    arrange(this.fields, lines);
    if (form.more) this.fields.append(make("p", {}, "The other fields can be edited as JSON."));
    if (problem?.pointer && !form.lines.some((it) => it.pointer === problem.pointer)) {
      this.message.textContent = `${problem.pointer.slice(1)}: ${problem.message}`;
    }
    const again = [...this.fields.querySelectorAll("[data-pointer]")].find((it) => it instanceof HTMLElement && it.dataset.pointer === focused);
    if (again instanceof HTMLElement && again !== at) {
      again.focus();
      // The next key replaces what was selected.
      if (range && again instanceof HTMLInputElement && again.type === "text") {
        if (range[0] === 0 && range[1] === range[2]) again.select();
        else again.setSelectionRange(range[0], range[1]);
      }
    }
    this.showMode();
  }

  /** Shows why a field was refused. @param {Failure} error */
  refuse(error) {
    const path = error.path ?? "";
    const input = [...this.fields.querySelectorAll("[data-path]")].find((it) => it instanceof HTMLElement && it.dataset.path === path);
    if (input && input.parentElement) {
      input.setAttribute("aria-invalid", "true");
      input.parentElement.append(make("span", { class: "bad", role: "alert" }, ` ${error.message}`));
    } else {
      this.message.textContent = withPath(error);
    }
  }

  /** @param {FormLine} line @param {FormProblem | null} problem */
  line(line, problem) {
    const id = `${this.id}${line.pointer}`;
    const faulty = problem?.pointer === line.pointer;
    const row = make("div", { class: "field-row" });
    row.style.paddingLeft = `${line.depth * 18}px`;
    const name = /^\d+$/.test(line.name) ? `[${line.name}]` : line.name;
    if (line.kind === "object" || line.kind === "list") {
      const count = line.kind === "list" ? ` (${line.count})` : "";
      row.append(make("b", {}, name + count));
      if (line.options) row.append(" ", this.choice(line, id));
      if (line.kind === "list") row.append(" ", this.button("Add", `Add an element to ${line.path}`, { add: line.pointer }));
    } else {
      row.append(make("label", { for: id }, name), " ", line.kind === "null" ? this.button("Add", `Add ${line.path}`, { fill: line.pointer }) : this.input(line, id, faulty));
      if (line.encoding) row.append(make("small", {}, ` bytes in ${hexOf(line) === null ? line.encoding : "hex"}`));
      // What any number of its size can be is no help.
      if (line.low && !WHOLE.includes(line.high ?? "")) row.append(make("small", {}, ` ${line.low} to ${line.high}`));
      if (line.text) row.append(" ", make("span", { class: "preview" }, styled(line.text)));
    }
    if (line.optional) row.append(" ", this.button("Leave out", `Leave out ${line.path}`, { set: { pointer: line.pointer, raw: "null" } }));
    if (name.startsWith("[")) row.append(" ", this.button("Remove", `Remove ${line.path}`, { remove: line.pointer }));
    if (faulty) row.append(make("span", { class: "bad", role: "alert" }, ` ${problem?.message}`));
    return row;
  }

  /** @param {string} name @param {string} label @param {FormChange} change */
  button(name, label, change) {
    return make("button", { type: "button", "aria-label": label, onclick: () => unlessLost(this.change(change)) }, name);
  }

  /** Which of its fields an object has. @param {FormLine} line @param {string} id */
  choice(line, id) {
    const names = line.options ?? [];
    const choice = make("select", { id, "data-pointer": line.pointer, "data-path": line.path, "aria-label": `Kind of ${line.path}`,
      onchange: () => unlessLost(this.change({ choose: { pointer: line.pointer, name: choice.value } })) },
    ...(line.raw ? [] : [make("option", { value: "" }, "—")]), ...names.map((it) => make("option", { value: it }, it)));
    choice.value = line.raw ?? "";
    return choice;
  }

  /** @param {FormLine} line @param {string} id @param {boolean} faulty */
  input(line, id, faulty) {
    const common = { id, "data-pointer": line.pointer, "data-path": line.path, "aria-invalid": String(faulty) };
    const set = (/** @type {string} */ raw) => unlessLost(this.change({ set: { pointer: line.pointer, raw } }));
    if (line.kind === "bool") {
      const box = make("input", { ...common, type: "checkbox", onchange: () => set(String(box.checked)) });
      box.checked = line.raw === "true";
      return box;
    }
    if (line.options) {
      const value = JSON.parse(line.raw ?? "");
      const choice = make("select", { ...common, onchange: () => set(JSON.stringify(choice.value)) },
        ...(line.options.includes(value) ? line.options : [value, ...line.options]).map((it) => make("option", { value: it }, it)));
      choice.value = value;
      return choice;
    }
    const hex = hexOf(line);
    if (hex !== null) {
      const [input, wrong] = [make("input", { ...common, type: "text", value: hex, size: 30, spellcheck: "false" }), make("span", { class: "bad", role: "alert" })];
      input.addEventListener("change", () => {
        const base64 = ofHex(input.value);
        wrong.textContent = base64 === null ? " bytes are pairs of hex digits, such as 0a 1b" : "";
        input.setAttribute("aria-invalid", String(base64 === null));
        if (base64 !== null) set(JSON.stringify(base64));
      });
      return make("span", {}, input, wrong);
    }
    if (line.kind === "text") {
      const text = JSON.parse(line.raw ?? "");
      const area = text.length > 60 || text.includes("\n");
      const input = area ? make("textarea", { ...common, rows: 3, spellcheck: "false" }, text) : make("input", { ...common, type: "text", value: text, size: 30, spellcheck: "false" });
      input.addEventListener("change", () => set(JSON.stringify(input.value)));
      return input;
    }
    const input = make("input", { ...common, type: "text", value: line.raw, size: 14, inputmode: line.kind === "number" ? "decimal" : undefined });
    input.addEventListener("change", () => set(numbered(input.value, line.names) ?? numeral(input.value)));
    if (line.flags && /^-?\d+$/.test(line.raw ?? "")) {
      const number = BigInt(line.raw ?? "0");
      return make("span", {}, input, ...line.flags.map(([bit, name]) => {
        const box = make("input", { type: "checkbox", onchange: () => set(String(box.checked ? number | BigInt(bit) : number & ~BigInt(bit))) });
        box.checked = (number & BigInt(bit)) === BigInt(bit);
        return make("label", { class: "flag" }, box, ` ${name}`);
      }));
    }
    if (!line.names) return input;
    return make("span", {}, input, " ", this.names(line, line.names, input, set));
  }

  /** A number's name: chosen from few, or typed, of many. @param {FormLine} line @param {[number, string][]} names @param {HTMLInputElement} input @param {(raw: string) => void} set */
  names(line, names, input, set) {
    const known = names.find(([number]) => String(number) === line.raw)?.[1];
    if (names.length <= MANY) {
      const choice = make("select", { "aria-label": `Name of ${line.path}`, onchange: () => set(choice.value) },
        ...(known ? [] : [make("option", { value: line.raw }, "—")]),
        ...names.map(([number, name]) => make("option", { value: number }, name)));
      choice.value = line.raw ?? "";
      return choice;
    }
    const id = `${this.id}${line.pointer}-names`;
    input.setAttribute("list", id);
    return make("span", {}, known ?? "", make("datalist", { id }, ...names.map(([, name]) => make("option", { value: name }))));
  }
}

/** Returns the message of an error with the path of its field, which it often begins with. @param {Failure} error */
export function withPath({ message, path }) {
  return path && !message.includes(path) ? `${message} (${path})` : message;
}

/** Gives an element these children, and moves none that stands in its place. @param {HTMLElement} element @param {Element[]} children */
function arrange(element, children) {
  const kept = new Set(children);
  for (const it of [...element.childNodes]) {
    if (!(it instanceof Element) || !kept.has(it)) element.removeChild(it);
  }
  let place = element.firstChild;
  for (const it of children) {
    if (it === place) place = place.nextSibling;
    else element.insertBefore(it, place);
  }
}

/** The upper ends of numbers of 32 and 64 bits. */
const WHOLE = ["2147483647", "9223372036854775807"];

/** Most bytes of a field that are shown in hex. */
const MOST_HEX = 1 << 16;

/** Returns the bytes of a field in hex; `null` if it is no field of bytes, or has too many. @param {FormLine} line */
function hexOf(line) {
  if (line.encoding !== "base64" || line.kind !== "text") return null;
  const text = JSON.parse(line.raw ?? "\"\"");
  // What was typed as JSON can be anything.
  if (!/^[A-Za-z0-9+/]*=*$/.test(text) || text.length % 4) return null;
  const bytes = atob(text);
  return bytes.length > MOST_HEX ? null : Array.from(bytes, (it) => it.charCodeAt(0).toString(16).padStart(2, "0")).join(" ");
}

/** Returns as base64 the bytes that are written in hex; `null` if that is wrong. @param {string} text */
export function ofHex(text) {
  const digits = text.trim().replace(/^0x/i, "").replace(/[\s:]/g, "");
  if (!/^([0-9a-f]{2})*$/i.test(digits)) return null;
  return btoa((digits.match(/../g) ?? []).map((it) => String.fromCharCode(parseInt(it, 16))).join(""));
}

/** Returns a number as JSON has it, also one in hex. @param {string} text */
export function numeral(text) {
  const [, sign = "", digits] = /^([-+]?)(0x[0-9a-f]+)$/i.exec(text.trim()) ?? [];
  return digits ? `${sign === "-" ? "-" : ""}${BigInt(digits)}` : text.trim();
}

/** Returns the number that has a name. @param {string} text @param {[number, string][] | null} names */
function numbered(text, names) {
  const found = names?.find(([, name]) => name === text);
  return found ? String(found[0]) : undefined;
}
