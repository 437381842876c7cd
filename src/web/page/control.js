// What a person does with a running proxy: hold, edit, send and kick. Shown only while it runs.

import { unlessLost } from "./connection.js";
import { make, plural } from "./dom.js";
import { PacketForm } from "./form.js";

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
    this.overtaken = make("input", { type: "checkbox", id: "overtaken", onchange: () => this.hold(this.where.value) });
    const hold = make("button", { type: "button", onclick: () => this.hold(this.where.value) }, "Hold");
    const off = make("button", { type: "button", onclick: () => this.hold("") }, "Hold no more");
    this.where.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.hold(this.where.value);
    });
    this.state = make("p", { id: "break-state", role: "status" }, "Nothing is held.");
    this.message = make("p", { id: "control-message", role: "alert", class: "bad" });
    this.list = make("tbody", { id: "held" });
    const all = make("button", { type: "button", onclick: () => unlessLost(this.ask({ do: "forward_all" })) }, "Forward all");
    this.editor = new PacketForm(connection, "edit", "Fields of the held packet");
    this.editBox = make("div", { hidden: "" },
      make("h2", {}, "Edit"), this.editor.element,
      make("button", { type: "button", onclick: () => unlessLost(this.save()) }, "Send edited"), " ",
      make("button", { type: "button", onclick: () => this.close() }, "Cancel"));
    this.session = make("select", { id: "control-session", "aria-label": "Session", onchange: () => unlessLost(this.choosePackets()) });
    this.text = make("input", { type: "text", id: "kick-text", "aria-label": "Reason", value: "kicked" });
    const kick = make("button", { type: "button", onclick: () => this.kick() }, "Kick");
    this.to = make("select", { id: "send-to", "aria-label": "Receiver", onchange: () => unlessLost(this.choosePackets()) },
      make("option", { value: "client" }, "to the client"), make("option", { value: "server" }, "to the server"));
    this.packet = make("input", { type: "text", id: "send-packet", "aria-label": "Packet", placeholder: "packet", list: "send-packets", autocomplete: "off", onchange: () => unlessLost(this.choose()) });
    this.packets = make("datalist", { id: "send-packets" });
    this.fields = new PacketForm(connection, "send", "Fields of the packet");
    /** The packet of the list that is sent again, changed. @type {number | undefined} */
    this.resent = undefined;
    this.interval = make("input", { type: "text", id: "send-interval", "aria-label": "Interval", value: "1s", size: 6 });
    this.times = make("input", { type: "number", id: "send-times", "aria-label": "Times", min: 1, value: 1 });
    const send = make("button", { type: "button", onclick: () => unlessLost(this.send()) }, "Send");
    element.replaceChildren(
      make("h2", {}, "Held packets"),
      make("p", {}, make("label", { for: "break" }, "Hold packets that match "), this.where, " ",
        make("label", {}, this.overtaken, " later packets may overtake"), " ", hold, " ", off),
      this.state, this.message,
      make("table", {}, make("thead", {}, make("tr", {}, ...["packet", "fields", "held for", "decision"].map((it) => make("th", { scope: "col" }, it)))), this.list),
      make("p", {}, all), this.editBox,
      make("h2", {}, "Session"),
      make("p", {}, this.session, " ", this.text, " ", kick),
      make("h2", {}, "Send a packet"),
      make("p", {}, this.to, " ", this.packet, this.packets, " ", this.times, " times, every ", this.interval, " ", send),
      this.fields.element);
    setInterval(() => this.ages(), 1000);
  }

  /** Forgets what was held, and asks again: the connection is a new one. */
  renew() {
    this.held.clear();
    this.close();
    this.draw();
    unlessLost(this.choosePackets());
    unlessLost(this.fields.renew());
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

  /** Sends a command with the content of a form, and shows at the field why it was refused. @param {PacketForm} form @param {Json} command */
  async askWith(form, command) {
    const { do: what, ...more } = command;
    const answer = await this.connection.ask(what, { ...more, ...form.content() });
    this.message.textContent = "";
    if (answer.error) form.refuse(answer.error);
    return !answer.error;
  }

  /** Offers the packets that the session can have now. */
  async choosePackets() {
    if (!this.session.value) return;
    const dir = this.to.value === "server" ? "serverbound" : "clientbound";
    const { names } = await this.connection.ask("packets", { session: Number(this.session.value), dir });
    this.packets.replaceChildren(...(names ?? []).map((/** @type {string} */ name) => make("option", { value: name })));
  }

  /** Begins a new packet. */
  choose() {
    const dir = this.to.value === "server" ? "serverbound" : "clientbound";
    this.resent = undefined;
    return this.fields.open({ session: Number(this.session.value), dir, packet: this.packet.value }, null);
  }

  /** Begins with a packet of the list. Returns `false` if it cannot be changed. @param {number} row */
  async change(row) {
    const form = await this.connection.ask("form", { row });
    if (!form.place) {
      this.message.textContent = form.error.message;
      return false;
    }
    this.session.value = String(form.place.session);
    this.to.value = form.place.dir === "serverbound" ? "server" : "client";
    this.packet.value = form.place.packet;
    this.fields.take(form);
    this.resent = form.place.resent;
    return true;
  }

  /** @param {string} where */
  hold(where) {
    unlessLost(this.ask({ do: "break", where, overtaken: this.overtaken.checked }));
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
      if (this.edited && key === `${this.edited.session}/${this.edited.held}`) this.close();
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
      const button = (/** @type {string} */ name, /** @type {() => Promise<any>} */ action) =>
        make("button", { type: "button", onclick: () => unlessLost(action()), "aria-label": `${name} ${held.packet} of session ${held.session}` }, name);
      const actions = held.decided ? [held.decided] : [
        button("Forward", () => this.ask({ do: "forward", ...target })), " ",
        button("Drop", () => this.ask({ do: "drop", ...target })), " ",
        button("Edit", () => this.edit(held)),
      ];
      const arrow = held.dir === "serverbound" ? "→" : "←";
      const order = held.in_order ? ` (others wait: ${held.in_order})` : "";
      return make("tr", { "data-key": key },
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

  /** Closes the editor. */
  close() {
    this.edited = null;
    this.editBox.hidden = true;
  }

  /** The held packet that has the focus, or the one that is held longest. @returns {Json | undefined} */
  target() {
    const key = document.activeElement?.closest("[data-key]")?.getAttribute("data-key");
    return this.held.get(key ?? "") ?? this.held.values().next().value;
  }

  /** Decides on the held packet. @param {"forward" | "drop"} what */
  async decide(what) {
    const { session, held } = this.target() ?? {};
    if (held !== undefined) return this.ask({ do: what, session, held });
  }

  /** Opens the editor of the held packet. */
  async editHeld() {
    const held = this.target();
    if (held && !held.decided) return this.edit(held);
  }

  /** Opens the editor of a held packet. @param {Json} target */
  async edit(target) {
    this.edited = target;
    this.editBox.hidden = false;
    const { session, held, dir, state, packet } = target;
    const answer = await this.connection.ask("held", { session, held });
    if (answer.text) {
      await this.editor.open({ session, dir, state, packet }, answer.text);
      this.editBox.querySelector("input")?.focus();
    } else {
      this.message.textContent = answer.error?.message ?? answer.problem;
      this.close();
    }
  }

  async save() {
    if (!this.edited) return;
    const { session, held } = this.edited;
    if (await this.askWith(this.editor, { do: "edit", session, held })) this.close();
  }

  kick() {
    unlessLost(this.ask({ do: "kick", session: Number(this.session.value), text: this.text.value }));
  }

  send() {
    const times = Number(this.times.value);
    return this.askWith(this.fields, {
      do: "send", session: Number(this.session.value), to: this.to.value, packet: this.packet.value,
      times, interval: times > 1 ? this.interval.value : undefined, resent: this.resent,
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

  /** Offers the sessions that are open. @param {Json[]} sessions */
  offer(sessions) {
    const open = sessions.filter((it) => it.closed === null);
    const known = [...this.session.options].map((it) => it.value).join();
    if (known === open.map((it) => String(it.session)).join()) return;
    this.session.replaceChildren(...open.map((it) =>
      make("option", { value: it.session }, `#${it.session} ${it.player ?? it.client}`)));
    unlessLost(this.choosePackets());
  }
}
