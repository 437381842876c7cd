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
    /** What each file on disk was like when it was read. @type {string[]} */
    this.versions = [];
    /** Texts that were changed and not saved, by file. @type {Map<number, string>} */
    this.changed = new Map();
    /** What such files are on disk meanwhile. @type {Map<number, RuleFile>} */
    this.conflicts = new Map();
    this.following = false;
    /** The faults that were asked for, and whether the text has changed since. @type {Promise<RulesFault[]> | null} */
    this.checking = null;
    this.unchecked = false;
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
    const save = make("button", { type: "button", class: "primary", onclick: () => unlessLost(this.save()), title: "Ctrl-S" }, "Save and apply");
    const heads = ["rule", "matched", "acted", "failed"].map((it) => make("th", { scope: "col" }, it));
    this.body = [
      make("div", { class: "bar" }, make("label", { for: "rule-file" }, "File"), this.choice, save, this.message, this.actions),
      make("div", { class: "editor" }, this.marks, this.text),
      this.faults,
      make("table", {}, make("caption", {}, "What the active rules of all files did"),
        make("thead", {}, make("tr", {}, ...heads)), this.counts),
    ];
  }

  /** Reads the files for the first time. */
  async read() {
    const { files = [], versions = [], counts = [] } = await this.connection.ask("rules", {});
    this.files = files;
    this.versions = versions;
    this.changed.clear();
    this.conflicts.clear();
    if (!files.length) {
      this.element.replaceChildren(make("p", {}, "No filter file can be created: neither the folder in which the proxy was started nor that of its state can be written. Start it with ",
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

  /** Shows what the rules did until now, and what became of the files on disk. */
  async count() {
    if (!this.files.length || this.following) return;
    this.following = true;
    try {
      const { counts = [], versions = [] } = await this.connection.ask("rule_counts", {});
      this.showCounts(counts);
      if (versions.some((it, index) => it !== this.versions[index])) await this.follow();
    } finally {
      this.following = false;
    }
  }

  /** Reads files that have changed on disk. What was not saved stays. */
  async follow() {
    const { files = [], versions = [] } = await this.connection.ask("rules", {});
    this.versions = versions;
    for (const [index, now] of files.entries()) {
      const known = this.files[index];
      const conflict = this.conflicts.has(index);
      if (!known || (now.text === known.text && now.error === known.error)) this.conflicts.delete(index);
      else if (this.changed.get(index) === now.text) {
        this.files[index] = now;
        this.changed.delete(index);
        this.conflicts.delete(index);
      }
      else if (this.changed.has(index)) this.conflicts.set(index, now);
      else {
        this.files[index] = now;
        // Nothing is lost with a file.
        if (now.text === null && known.text !== null) this.changed.set(index, known.text);
      }
      if (index === this.file && this.files[index] !== known) await this.open(index);
      else if (index === this.file && (conflict || this.conflicts.has(index))) this.edited();
    }
  }

  /** Says that the file is another one than that whose text is being changed. */
  showConflict() {
    const file = this.file;
    const now = this.conflicts.get(file);
    if (!now) return;
    this.say(now.text === null ? "Not saved. The file was deleted on disk." : "Not saved. The file has changed on disk since it was read.", true);
    const take = () => {
      this.files[file] = now;
      this.changed.delete(file);
      this.conflicts.delete(file);
      unlessLost(this.open(file));
    };
    const keep = () => {
      this.files[file] = now;
      this.conflicts.delete(file);
      this.edited();
    };
    this.actions.replaceChildren(
      ...(now.text === null ? [] : [make("button", { type: "button", onclick: take }, "Take the text on disk"), " "]),
      make("button", { type: "button", onclick: keep }, "Keep mine, to save it over that"));
  }

  /** @param {number} file */
  async open(file) {
    this.file = file;
    this.choice.selectedIndex = file;
    const { text = null, error } = this.files[file] ?? {};
    const { scrollTop, selectionStart, selectionEnd } = this.text;
    const shown = this.changed.get(file) ?? text ?? "";
    if (this.text.value !== shown) this.text.value = shown;
    if (document.activeElement === this.text) this.text.setSelectionRange(selectionStart, selectionEnd);
    this.text.scrollTop = scrollTop;
    // It is created when it is saved for the first time.
    const awaited = text === null && !error;
    this.text.disabled = text === null && !awaited && !this.changed.has(file);
    this.text.placeholder = awaited ? FIRST : "";
    if (awaited) this.say(this.changed.has(file) ? `Not saved. Saving creates ${this.files[file]?.path}.` : "");
    else if (text === null && this.changed.has(file)) this.say(`The file cannot be read (${error}); its rules stay active. Save to write it again.`, true);
    else if (error) this.say(error, true);
    else this.say(this.changed.has(file) ? "Not saved." : "");
    this.showConflict();
    const faults = await this.check();
    if (!this.changed.has(file) && file === this.file && faults.some((it) => it.severity === "error")) {
      this.say("The file on disk has errors: the rules from before stay active.", true);
    }
  }

  edited() {
    const text = this.text.value;
    const { path = "", text: known = null, error } = this.files[this.file] ?? {};
    const awaited = known === null && !error;
    if (text === (awaited ? "" : known)) this.changed.delete(this.file);
    else this.changed.set(this.file, text);
    this.say(this.changed.has(this.file) ? awaited ? `Not saved. Saving creates ${path}.` : "Not saved." : "");
    this.showConflict();
    unlessLost(this.check());
  }

  /** Returns the faults of the text. One question is asked at a time, however fast somebody types. */
  check() {
    this.unchecked = true;
    this.checking ??= this.checkAll().finally(() => { this.checking = null; });
    return this.checking;
  }

  /** Asks for the faults of the text until it is the one that was asked about. */
  async checkAll() {
    /** @type {RulesFault[]} */
    let found = [];
    while (this.unchecked) {
      this.unchecked = false;
      ({ faults: found = [] } = await this.connection.ask("check_rules", { text: this.text.value }));
    }
    this.showFaults(found);
    return found;
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
    const answer = await this.connection.ask("save_rules", { file: this.file, base: file.text, text }).catch((error) => {
      if (error instanceof ConnectionLost) this.say(`Perhaps not saved: ${error.message}.`, true);
      throw error;
    });
    if (answer.outcome === "saved") {
      const first = file.text === null && !file.error;
      [file.text, file.error] = [text, null];
      this.changed.delete(this.file);
      this.text.placeholder = "";
      this.say(first ? `Saved: ${file.path}. Start the proxy with -f and this file to have its rules again.` : "Saved.");
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
    this.changed.set(this.file, text);
    this.conflicts.set(this.file, { path: file.path, text: answer.text, error: answer.text === null ? "it was deleted" : null });
    this.showConflict();
  }

  /**
   * Adds a rule at the end of the file, if there is one.
   * @param {(text: string) => Promise<string | null>} rule gives it for a file with this text
   * @param {() => any} show shows the packets that it matches
   */
  async add(rule, show) {
    if (!this.files.length) await this.read();
    const added = await rule(this.text.value);
    if (added === null) return false;
    const text = this.text.value.trimEnd();
    this.text.value = `${text}${text ? "\n\n" : ""}${added}`;
    this.text.scrollTop = this.text.scrollHeight;
    this.edited();
    this.actions.replaceChildren(make("button", { type: "button", onclick: show }, "Show what it matches"));
    this.text.focus();
    return true;
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

/** What a file that has no rules yet shows. */
const FIRST = `# A rule says which packets it is about, and what is done with them:
[[rule]]
name = "greeting"
when = 'serverbound and chat.message == "hi"'
set = { message = "hello" }`;
