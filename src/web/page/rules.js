// The filter files of a running proxy: their text with the checker's errors in place, and what rules did.

import { ConnectionLost, unlessLost } from "./connection.js";
import { make, plural } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").RuleFile} RuleFile */
/** @typedef {import("./protocol.d.ts").RuleResult} RuleResult */
/** @typedef {import("./protocol.d.ts").RulesFault} RulesFault */

export class RulesPanel {
  /** @param {Connection} connection @param {HTMLElement} element */
  constructor(connection, element) {
    this.connection = connection;
    this.element = element;
    /** The files as they were read. @type {RuleFile[]} */
    this.files = [];
    this.file = 0;
    /** Texts that were changed and not saved, by file. @type {Map<number, string>} */
    this.changed = new Map();
    this.checks = 0;
    this.timer = 0;
    this.choice = make("select", { id: "rule-file", onchange: () => unlessLost(this.open(this.choice.selectedIndex)) });
    this.marks = make("pre", { "aria-hidden": "true", id: "rule-marks" });
    this.text = make("textarea", {
      id: "rule-text", spellcheck: "false", autocomplete: "off", wrap: "off",
      "aria-label": "Rules", "aria-describedby": "rule-faults",
    });
    this.text.addEventListener("input", () => this.edited());
    this.text.addEventListener("scroll", () => this.scrolled());
    this.text.addEventListener("keydown", (event) => {
      if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      unlessLost(this.save());
    });
    this.faults = make("ul", { id: "rule-faults", "aria-label": "Errors and warnings" });
    this.message = make("p", { id: "rule-message", role: "status" });
    this.actions = make("span", {});
    this.counts = make("tbody", { id: "rule-counts" });
    const save = make("button", { type: "button", onclick: () => unlessLost(this.save()), title: "Ctrl-S" }, "Save and apply");
    const read = make("button", { type: "button", onclick: () => unlessLost(this.read()) }, "Read again");
    const heads = ["rule", "matched", "acted", "failed"].map((it) => make("th", { scope: "col" }, it));
    this.body = [
      make("p", {}, make("label", { for: "rule-file" }, "File "), this.choice, " ", save, " ", read),
      make("p", {}, this.message, this.actions),
      make("div", { class: "editor" }, this.marks, this.text),
      this.faults,
      make("table", {}, make("caption", {}, "What the active rules of all files did"),
        make("thead", {}, make("tr", {}, ...heads)), this.counts),
    ];
  }

  /** Reads the files, and drops what was not saved. */
  async read() {
    const { files = [], counts = [] } = await this.connection.ask("rules", {});
    this.files = files;
    this.changed.clear();
    if (!files.length) {
      this.element.replaceChildren(make("p", {}, "There are no filter files. Start the proxy with ",
        make("code", {}, "-f rules.toml"), " to see and change rules here."));
      return;
    }
    this.element.replaceChildren(...this.body);
    this.choice.replaceChildren(...files.map((it) => make("option", {}, it.path)));
    this.say("");
    this.showCounts(counts);
    await this.open(Math.min(this.file, files.length - 1));
  }

  /** The panel is shown, or is no more. @param {boolean} shown */
  show(shown) {
    clearInterval(this.timer);
    if (!shown) return;
    if (!this.files.length) unlessLost(this.read());
    this.timer = setInterval(() => unlessLost(this.count()), 500);
  }

  /** Shows what the rules did until now. */
  async count() {
    if (this.files.length) this.showCounts((await this.connection.ask("rule_counts", {})).counts ?? []);
  }

  /** @param {number} file */
  async open(file) {
    this.file = file;
    this.choice.selectedIndex = file;
    const { text, error } = this.files[file] ?? {};
    this.text.value = this.changed.get(file) ?? text ?? "";
    this.text.disabled = text === undefined || text === null;
    if (error) this.say(error, true);
    await this.check();
  }

  edited() {
    const text = this.text.value;
    if (text === this.files[this.file]?.text) this.changed.delete(this.file);
    else this.changed.set(this.file, text);
    this.say(this.changed.has(this.file) ? "Not saved." : "");
    unlessLost(this.check());
  }

  async check() {
    const text = this.text.value;
    const check = ++this.checks;
    const { faults } = await this.connection.ask("check_rules", { text });
    if (check === this.checks) this.showFaults(faults ?? []);
  }

  /** @param {RulesFault[]} faults */
  showFaults(faults) {
    const text = this.text.value;
    const starts = [0];
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
    const ranges = faults.map((fault) => {
      const start = starts[fault.line - 1] ?? 0;
      // Columns count characters, texts UTF-16 units.
      const before = [...text.slice(start)].slice(0, fault.column - 1).join("").length;
      return { from: start + before, to: Math.min(start + before + fault.width, text.length), fault };
    }).sort((one, other) => one.from - other.from);
    const parts = [];
    let at = 0;
    for (const { from, to, fault } of ranges) {
      if (from < at) continue;
      parts.push(text.slice(at, from), make("mark", { class: fault.severity }, text.slice(from, to) || " "));
      at = to;
    }
    this.marks.replaceChildren(...parts, text.slice(at), "\n");
    this.scrolled();
    this.text.setAttribute("aria-invalid", String(faults.some((it) => it.severity === "error")));
    this.faults.replaceChildren(...ranges.map(({ from, to, fault }) => {
      const hint = fault.hint ? ` (${fault.hint})` : "";
      const go = () => {
        this.text.focus();
        this.text.setSelectionRange(from, to);
      };
      return make("li", { class: fault.severity === "error" ? "bad" : undefined },
        make("button", { type: "button", onclick: go }, `line ${fault.line}`), ` ${fault.severity}: ${fault.message}${hint}`);
    }));
  }

  /** The marks are behind the text, and move with it. */
  scrolled() {
    this.marks.scrollTop = this.text.scrollTop;
    this.marks.scrollLeft = this.text.scrollLeft;
  }

  async save() {
    const file = this.files[this.file];
    if (!file) return;
    const text = this.text.value;
    const answer = await this.connection.ask("save_rules", { file: this.file, base: file.text ?? "", text }).catch((error) => {
      if (error instanceof ConnectionLost) this.say(`Perhaps not saved: ${error.message}.`, true);
      throw error;
    });
    if (answer.outcome === "saved") {
      file.text = text;
      this.changed.delete(this.file);
      this.say("Saved.");
      return;
    }
    if (answer.error) {
      this.say(`Not saved: ${answer.error.message}.`, true);
      return;
    }
    if (answer.outcome === "faulty") {
      this.say("Not saved: the rules have errors.", true);
      this.showFaults(answer.faults);
      return;
    }
    this.say("Not saved: the file has changed on disk since it was read.", true);
    const onDisk = answer.text;
    const take = () => {
      file.text = onDisk;
      this.changed.delete(this.file);
      this.say("");
      unlessLost(this.open(this.file));
    };
    const keep = () => {
      file.text = onDisk;
      this.edited();
    };
    this.actions.replaceChildren(
      make("button", { type: "button", onclick: take }, "Take the text on disk"), " ",
      make("button", { type: "button", onclick: keep }, "Keep mine, to save it over that"));
  }

  /** Adds a rule at the end of the file. @param {string} rule */
  async add(rule) {
    if (!this.files.length) await this.read();
    const text = this.text.value.trimEnd();
    this.text.value = `${text}${text ? "\n\n" : ""}${rule}`;
    this.text.scrollTop = this.text.scrollHeight;
    this.edited();
    this.text.focus();
  }

  /** @param {RuleResult[][]} files */
  showCounts(files) {
    const rows = files.flat().map((it) => make("tr", {}, make("td", {}, it.name),
      ...[it.matched, it.acted, it.failed].map((count) => make("td", {}, count.toLocaleString("en")))));
    this.counts.replaceChildren(...rows);
  }

  /** @param {string} text @param {boolean} [bad] */
  say(text, bad = false) {
    const unsaved = this.changed.size - (this.changed.has(this.file) ? 1 : 0);
    const others = unsaved > 0 ? ` ${plural(unsaved, "other file")} not saved.` : "";
    this.message.textContent = text + others;
    this.message.classList.toggle("bad", bad);
    this.actions.replaceChildren();
  }
}
