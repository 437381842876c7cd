// What a person does with a running proxy: hold, edit, send and kick. Shown only while it runs.

import { make, plural } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {Record<string, any>} Json */

export class ControlPanel {
  /** @param {Connection} connection @param {HTMLElement} element @param {HTMLElement} tab */
  constructor(connection, element, tab) {
    this.connection = connection;
    this.tab = tab;
    /** @type {Map<string, Json>} */
    this.held = new Map();
    /** The held packet that is edited. @type {Json | null} */
    this.edited = null;
    this.where = make("input", { type: "text", id: "break", spellcheck: "false", autocomplete: "off", size: 40 });
    this.overtaken = make("input", { type: "checkbox", id: "overtaken" });
    const hold = make("button", { type: "button", onclick: () => this.hold(this.where.value) }, "Hold");
    const off = make("button", { type: "button", onclick: () => this.hold("") }, "Hold no more");
    this.where.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.hold(this.where.value);
    });
    this.state = make("p", { id: "break-state", role: "status" }, "Nothing is held.");
    this.message = make("p", { id: "control-message", role: "alert", class: "bad" });
    this.list = make("tbody", { id: "held" });
    const all = make("button", { type: "button", onclick: () => this.ask({ do: "forward_all" }) }, "Forward all");
    this.editor = make("textarea", { id: "edit-fields", rows: 8, cols: 60, spellcheck: "false", "aria-label": "Fields as JSON" });
    this.editBox = make("div", { hidden: "" },
      make("h2", {}, "Edit"), this.editor, make("br"),
      make("button", { type: "button", onclick: () => this.save() }, "Send edited"), " ",
      make("button", { type: "button", onclick: () => this.edit(null) }, "Cancel"));
    this.session = make("select", { id: "control-session", "aria-label": "Session" });
    this.text = make("input", { type: "text", id: "kick-text", "aria-label": "Reason", value: "kicked" });
    const kick = make("button", { type: "button", onclick: () => this.kick() }, "Kick");
    this.to = make("select", { id: "send-to", "aria-label": "Receiver" },
      make("option", { value: "client" }, "to the client"), make("option", { value: "server" }, "to the server"));
    this.packet = make("input", { type: "text", id: "send-packet", "aria-label": "Packet", placeholder: "packet" });
    this.fields = make("textarea", { id: "send-fields", rows: 4, cols: 60, spellcheck: "false", "aria-label": "Fields of the packet as JSON" }, "{}");
    this.times = make("input", { type: "number", id: "send-times", "aria-label": "Times", min: 1, value: 1 });
    const send = make("button", { type: "button", onclick: () => this.send() }, "Send");
    element.replaceChildren(
      make("h2", {}, "Held packets"),
      make("p", {}, make("label", { for: "break" }, "Hold packets that match "), this.where, " ",
        make("label", {}, this.overtaken, " later packets may overtake"), " ", hold, " ", off),
      this.state, this.message,
      make("table", {}, make("thead", {}, make("tr", {}, ...["packet", "fields", "held for", "decision"].map((it) => make("th", { scope: "col" }, it)))), this.list),
      make("p", {}, all), this.editBox,
      make("h2", {}, "Session"),
      make("p", {}, this.session, " ", this.text, " ", kick),
      make("p", {}, this.to, " ", this.packet, " ", this.times, " times ", send), make("p", {}, this.fields));
    setInterval(() => this.ages(), 1000);
  }

  /** Forgets what was held: the connection is a new one. */
  clear() {
    this.held.clear();
    this.edit(null);
    this.draw();
  }

  /** Sends a command, and shows why it was refused. @param {Json} command */
  async ask(command) {
    const { do: what, ...more } = command;
    const answer = await this.connection.ask(what, more);
    const error = answer.error;
    const path = error?.path ? ` (${error.path})` : "";
    const hint = error?.hint ? ` (${error.hint})` : "";
    this.message.textContent = error ? `${error.message}${path}${hint}` : "";
    return !error;
  }

  /** @param {string} where */
  hold(where) {
    this.ask({ do: "break", where, overtaken: this.overtaken.checked });
  }

  /** Takes a message that came unasked. Returns `false` if it is about something else. @param {Json} push */
  take(push) {
    const key = `${push.session}/${push.held}`;
    if (push.push === "control") {
      const where = push.break?.where;
      const others = push.interfaces > 1 ? ` ${plural(push.interfaces, "interface")} are attached.` : "";
      this.state.textContent = (where ? `Packets that match ${where} are held.` : "Nothing is held.") + others;
      if (where) this.where.value = where;
      return true;
    }
    if (push.push === "held") {
      this.held.set(key, push);
    } else if (push.push === "decided") {
      const held = this.held.get(key);
      if (held) held.decided = push.as;
    } else if (push.push === "released") {
      this.held.delete(key);
      if (this.edited?.key === key) this.edit(null);
    } else if (push.push === "message") {
      this.message.textContent = `Session ${push.session}: ${push.text}`;
    } else {
      return false;
    }
    this.draw();
    return true;
  }

  draw() {
    this.tab.textContent = this.held.size ? `Control (${this.held.size})` : "Control";
    this.list.replaceChildren(...[...this.held].map(([key, held]) => {
      const target = { session: held.session, held: held.held };
      const button = (/** @type {string} */ name, /** @type {() => void} */ action) =>
        make("button", { type: "button", onclick: action, "aria-label": `${name} ${held.packet} of session ${held.session}` }, name);
      const actions = held.decided ? [held.decided] : [
        button("Forward", () => this.ask({ do: "forward", ...target })), " ",
        button("Drop", () => this.ask({ do: "drop", ...target })), " ",
        button("Edit", () => this.edit({ ...target, key })),
      ];
      const arrow = held.dir === "serverbound" ? "→" : "←";
      const order = held.in_order ? ` (others wait: ${held.in_order})` : "";
      return make("tr", {},
        make("td", {}, `#${held.session} ${arrow} ${held.packet ?? "(unknown)"}`),
        make("td", { class: "left" }, held.summary + order),
        make("td", { "data-since": held.since }), make("td", {}, ...actions));
    }));
    this.ages();
  }

  ages() {
    for (const cell of this.list.querySelectorAll("[data-since]")) {
      const since = Number(cell.getAttribute("data-since"));
      cell.textContent = `${Math.max(0, Math.round((Date.now() - since) / 1000))} s`;
    }
  }

  /** Opens the editor of a held packet, or closes it. @param {Json | null} target */
  async edit(target) {
    this.edited = target;
    this.editBox.hidden = target === null;
    if (!target) return;
    const { key, ...held } = target;
    const answer = await this.connection.ask("held", held);
    if (answer.fields) {
      this.editor.value = JSON.stringify(answer.fields, null, 2);
      this.editor.focus();
    } else {
      this.message.textContent = answer.error?.message ?? answer.problem;
      this.edit(null);
    }
  }

  async save() {
    if (!this.edited) return;
    const { key, ...target } = this.edited;
    const fields = this.parse(this.editor.value);
    if (fields && await this.ask({ do: "edit", ...target, fields })) this.edit(null);
  }

  kick() {
    this.ask({ do: "kick", session: Number(this.session.value), text: this.text.value });
  }

  send() {
    const fields = this.parse(this.fields.value);
    if (!fields) return;
    this.ask({
      do: "send", session: Number(this.session.value), to: this.to.value,
      packet: this.packet.value, fields, times: Number(this.times.value),
    });
  }

  /** Sends a packet of the list again. @param {Json} packet its details */
  resend(packet) {
    if (packet.left_out) {
      this.message.textContent = "The packet is too long to be sent from here.";
      return Promise.resolve(false);
    }
    const to = packet.dir === "serverbound" ? "server" : "client";
    return this.ask({ do: "send", session: packet.session, to, body: packet.bytes, resent: packet.seq });
  }

  /** @param {string} text @returns {Json | null} */
  parse(text) {
    try {
      return JSON.parse(text);
    } catch (error) {
      this.message.textContent = `This is no JSON: ${error instanceof Error ? error.message : error}`;
      return null;
    }
  }

  /** Offers the sessions that are open. @param {Json[]} sessions */
  offer(sessions) {
    const open = sessions.filter((it) => it.closed === null);
    const known = [...this.session.options].map((it) => it.value).join();
    if (known === open.map((it) => String(it.session)).join()) return;
    this.session.replaceChildren(...open.map((it) =>
      make("option", { value: it.session }, `#${it.session} ${it.player ?? it.client}`)));
  }
}
