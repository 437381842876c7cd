// What a person does with a running proxy: hold, edit, send and kick. Shown only while it runs.

import { unlessLost } from "./connection.js";
import { make, plural } from "./dom.js";
import { PacketForm } from "./form.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Failure} Failure */
/** @typedef {import("./protocol.d.ts").HeldPacket} HeldPacket */
/** @typedef {import("./protocol.d.ts").ControlPush} ControlPush */
/** @typedef {import("./protocol.d.ts").PacketDetails} PacketDetails */
/** @typedef {import("./protocol.d.ts").SessionInfo} SessionInfo */

export class ControlPanel {
  /** @param {Connection} connection @param {HTMLElement} element @param {HTMLElement} tab */
  constructor(connection, element, tab) {
    this.connection = connection;
    this.tab = tab;
    /** @type {Map<string, HeldPacket>} */
    this.held = new Map();
    /** The held packet that is edited. @type {HeldPacket | null} */
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
    const all = make("button", { type: "button", onclick: () => unlessLost(this.forwardAll()) }, "Forward all");
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

  /** Shows why a command was refused. Returns `true` if it was not. @param {Promise<{ error?: Failure }>} asked */
  async report(asked) {
    const { error } = await asked;
    const path = error?.path ? ` (${error.path})` : "";
    const hint = error?.hint ? ` (${error.hint})` : "";
    this.message.textContent = error ? `${error.message}${path}${hint}` : "";
    return !error;
  }

  /** Shows at the field of a form why its content was refused. @param {PacketForm} form @param {Promise<{ error?: Failure }>} asked */
  async reportIn(form, asked) {
    const { error } = await asked;
    this.message.textContent = "";
    if (error) form.refuse(error);
    return !error;
  }

  /** Offers the packets that the session can have now. */
  async choosePackets() {
    if (!this.session.value) return;
    const { dir } = this;
    const { names } = await this.connection.ask("packets", { session: Number(this.session.value), dir });
    this.packets.replaceChildren(...(names ?? []).map((name) => make("option", { value: name })));
  }

  /** The direction of the packet that is sent. @returns {"clientbound" | "serverbound"} */
  get dir() {
    return this.to.value === "server" ? "serverbound" : "clientbound";
  }

  /** Begins a new packet. */
  choose() {
    this.resent = undefined;
    return this.fields.open({ session: Number(this.session.value), dir: this.dir, packet: this.packet.value }, null);
  }

  /** Begins with a packet of the list. Returns `false` if it cannot be changed. @param {number} row */
  async change(row) {
    const answer = await this.connection.ask("form_of", { row });
    if (answer.error) {
      this.message.textContent = answer.error.message;
      return false;
    }
    const { session, dir, state, packet, resent } = answer.place;
    this.session.value = String(session);
    this.to.value = dir === "serverbound" ? "server" : "client";
    this.packet.value = packet;
    this.fields.take({ session, dir, state, packet }, answer.form);
    this.resent = resent;
    return true;
  }

  /** @param {string} where */
  hold(where) {
    unlessLost(this.report(this.connection.ask("break", { where, overtaken: this.overtaken.checked })));
  }

  /** Takes a message that came unasked. @param {ControlPush} push */
  take(push) {
    switch (push.push) {
      case "control": {
        const where = push.break?.where;
        const others = push.interfaces > 1 ? ` ${plural(push.interfaces, "interface")} are attached.` : "";
        this.state.textContent = (where ? `Packets that match ${where} are held.` : "Nothing is held.") + others;
        if (where) this.where.value = where;
        return;
      }
      case "held":
        this.held.set(keyOf(push), push);
        break;
      case "decided": {
        const held = this.held.get(keyOf(push));
        if (held) held.decided = push.decision;
        break;
      }
      case "released":
        this.held.delete(keyOf(push));
        if (this.edited && keyOf(this.edited) === keyOf(push)) this.close();
        break;
      case "message":
        this.message.textContent = `Session ${push.session}: ${push.text}`;
    }
    this.draw();
  }

  draw() {
    this.tab.textContent = this.held.size ? `Control (${this.held.size})` : "Control";
    this.list.replaceChildren(...[...this.held.values()].map((held) => {
      const target = { session: held.session, held: held.held };
      const button = (/** @type {string} */ name, /** @type {() => Promise<any>} */ action) =>
        make("button", { type: "button", onclick: () => unlessLost(action()), "aria-label": `${name} ${held.packet} of session ${held.session}` }, name);
      const actions = held.decided ? [held.decided] : [
        button("Forward", () => this.report(this.connection.ask("forward", target))), " ",
        button("Drop", () => this.report(this.connection.ask("drop", target))), " ",
        button("Edit", () => this.edit(held)),
      ];
      const arrow = held.dir === "serverbound" ? "→" : "←";
      const order = held.in_order ? ` (others wait: ${held.in_order})` : "";
      return make("tr", { "data-key": keyOf(held) },
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

  /** Forwards everything that is held. */
  forwardAll() {
    return this.report(this.connection.ask("forward_all", {}));
  }

  /** The held packet that has the focus, or the one that is held longest. @returns {HeldPacket | undefined} */
  target() {
    const key = document.activeElement?.closest("[data-key]")?.getAttribute("data-key");
    return this.held.get(key ?? "") ?? this.held.values().next().value;
  }

  /** Decides on the held packet. @param {"forward" | "drop"} what */
  async decide(what) {
    const target = this.target();
    if (target) return this.report(this.connection.ask(what, { session: target.session, held: target.held }));
  }

  /** Opens the editor of the held packet. */
  async editHeld() {
    const held = this.target();
    if (held && !held.decided) return this.edit(held);
  }

  /** Opens the editor of a held packet. @param {HeldPacket} target */
  async edit(target) {
    this.edited = target;
    this.editBox.hidden = false;
    const { session, held, dir, state, packet } = target;
    const answer = await this.connection.ask("held", { session, held });
    if (answer.text && packet !== null) {
      await this.editor.open({ session, dir, state, packet }, answer.text);
      this.editBox.querySelector("input")?.focus();
    } else {
      this.message.textContent = answer.error?.message ?? answer.problem ?? "";
      this.close();
    }
  }

  async save() {
    if (!this.edited) return;
    const { session, held } = this.edited;
    const edit = this.connection.ask("edit", { session, held, ...this.editor.content() });
    if (await this.reportIn(this.editor, edit)) this.close();
  }

  kick() {
    unlessLost(this.report(this.connection.ask("kick", { session: Number(this.session.value), text: this.text.value })));
  }

  send() {
    const times = Number(this.times.value);
    return this.reportIn(this.fields, this.connection.ask("send", {
      session: Number(this.session.value), to: this.to.value === "server" ? "server" : "client", packet: this.packet.value,
      times, interval: times > 1 ? this.interval.value : undefined, resent: this.resent, ...this.fields.content(),
    }));
  }

  /** Sends a packet of the list again. @param {PacketDetails} packet */
  resend(packet) {
    if (packet.left_out) {
      this.message.textContent = "The packet is too long to be sent from here.";
      return Promise.resolve(false);
    }
    const to = packet.dir === "serverbound" ? "server" : "client";
    return this.report(this.connection.ask("send", { session: packet.session, to, body: packet.bytes, resent: packet.seq }));
  }

  /** Offers the sessions that are open. @param {SessionInfo[]} sessions */
  offer(sessions) {
    const open = sessions.filter((it) => it.closed === null);
    const known = [...this.session.options].map((it) => it.value).join();
    if (known === open.map((it) => String(it.session)).join()) return;
    this.session.replaceChildren(...open.map((it) =>
      make("option", { value: it.session }, `#${it.session} ${it.player ?? it.client}`)));
    unlessLost(this.choosePackets());
  }
}

/** Returns what is different for every held packet. @param {{ session: number, held: number }} packet */
function keyOf({ session, held }) {
  return `${session}/${held}`;
}
