// What a person does with a running proxy: hold, edit, send and kick. Shown only while it runs.

import { unlessLost } from "./connection.js";
import { make, patch, plural, press } from "./dom.js";
import { PacketForm } from "./form.js";
import { HeldList, title } from "./held.js";
import { isPing } from "./sessions.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").Failure} Failure */
/** @typedef {import("./protocol.d.ts").HeldPacket} HeldPacket */
/** @typedef {import("./protocol.d.ts").ControlPush} ControlPush */
/** @typedef {import("./protocol.d.ts").Holding} Holding */
/** @typedef {import("./protocol.d.ts").PacketDetails} PacketDetails */
/** @typedef {import("./protocol.d.ts").SessionInfo} SessionInfo */

export class ControlPanel {
  /** @param {Connection} connection @param {HTMLElement} element @param {HTMLElement} tab */
  constructor(connection, element, tab) {
    this.connection = connection;
    this.tab = tab;
    this.held = new HeldList(connection);
    this.held.onselect = () => this.drawTargets();
    this.held.onopen = () => unlessLost(this.editHeld());
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
    /** The condition on what is held; empty if nothing is. */
    this.condition = "";
    this.interfaces = 1;
    const button = (/** @type {string} */ name, /** @type {() => Promise<any>} */ act) => make("button", { type: "button", onclick: () => unlessLost(act()) }, name);
    /** What the buttons below the list act on. */
    this.targets = make("span", { id: "held-targets", role: "status" });
    const bar = make("p", { id: "held-bar" },
      button("Forward", () => this.decide("forward")), " ", button("Drop", () => this.decide("drop")), " ",
      button("Edit", () => this.editHeld()), " ", this.targets, " ", button("Forward all", () => this.forwardAll()));
    this.editor = new PacketForm(connection, "edit", "Fields of the held packet");
    this.editTitle = make("h2", { id: "edit-title" });
    this.saveButton = make("button", { type: "button", onclick: () => unlessLost(this.save()) }, "Send edited");
    this.editBox = make("div", { hidden: "" }, this.editTitle, this.editor.element, this.saveButton, " ",
      make("button", { type: "button", onclick: () => this.close() }, "Cancel"));
    this.session = make("select", { id: "control-session", "aria-label": "Session", onchange: () => unlessLost(this.choosePackets()) });
    this.text = make("input", { type: "text", id: "kick-text", "aria-label": "Reason", value: "kicked" });
    /** The session about which *Kick* asks. @type {number | null} */
    this.kicked = null;
    this.kickButton = make("button", { type: "button", onclick: () => this.kick(), onblur: () => this.askKick(null) }, "Kick");
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
      this.held.element, bar, this.editBox,
      make("h2", {}, "Session"),
      make("p", {}, this.session, " ", this.text, " ", this.kickButton),
      make("h2", {}, "Send a packet"),
      make("p", {}, this.to, " ", this.packet, this.packets, " ", this.times, " times, every ", this.interval, " ", send),
      this.fields.element);
    this.drawTargets();
    setInterval(() => this.held.list.redraw(), 1000);
  }

  /** Asks again for what is shown: the connection is a new one. */
  renew() {
    unlessLost(this.held.renew());
    unlessLost(this.checkEdited());
    unlessLost(this.choosePackets());
    unlessLost(this.fields.renew());
  }

  /** Shows why a command was refused. Returns `true` if it was not. @param {Promise<{ error?: Failure }>} asked @param {string} [done] what is said then */
  async report(asked, done = "") {
    const { error } = await asked;
    const path = error?.path ? ` (${error.path})` : "";
    const hint = error?.hint ? ` (${error.hint})` : "";
    this.message.textContent = error ? `${error.message}${path}${hint}` : done;
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
        this.condition = push.break?.where ?? "";
        this.interfaces = push.interfaces;
        if (this.condition && document.activeElement !== this.where) this.where.value = this.condition;
        this.drawState();
        return;
      }
      case "message":
        this.message.textContent = `Session ${push.session}: ${push.text}`;
    }
  }

  /** Takes the news of how much is held. @param {Holding} holding */
  async takeHolding(holding) {
    const taken = this.held.take(holding);
    press.draw(this, () => {
      this.tab.textContent = holding.total ? `Control (${holding.total.toLocaleString("en")})` : "Control";
      this.drawState();
      this.drawTargets();
    });
    await Promise.all([taken, this.checkEdited()]);
  }

  /** Says what the buttons below the list act on. */
  drawTargets() {
    const [one] = this.held.selected.values();
    const count = this.held.selected.size;
    const none = this.held.holding.total ? "the packet that is held longest" : "";
    this.targets.textContent = count > 1 ? plural(count, "selected packet") : one ? title(one) : none;
  }

  /** Closes the editor if its packet is no longer held, unless something was changed there, which is kept. */
  async checkEdited() {
    const edited = this.edited;
    if (!edited) return;
    const { numbers } = await this.connection.ask("still_held", { numbers: [edited.number] });
    if (this.edited !== edited || !numbers || numbers.length) return;
    if (!this.editor.isChanged()) return this.close();
    this.editTitle.textContent = `Edit ${title(edited)} (no longer held)`;
    this.saveButton.disabled = true;
  }

  /** Says what is held, and what still is. */
  drawState() {
    const others = this.interfaces > 1 ? ` ${plural(this.interfaces, "interface")} are attached.` : "";
    const { total } = this.held.holding;
    const still = total ? `No more packets are held; ${plural(total, "packet")} still wait${total === 1 ? "s" : ""}.` : "Nothing is held.";
    this.state.textContent = (this.condition ? `Packets that match ${this.condition} are held.` : still) + others;
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

  /** Decides on the selected packets, or on the one that is held longest. @param {"forward" | "drop"} decision */
  async decide(decision) {
    const targets = await this.held.targets();
    /** @type {Map<number, number[]>} */
    const sessions = new Map();
    for (const { session, held } of targets) sessions.set(session, [...sessions.get(session) ?? [], held]);
    this.held.select([]);
    const done = `${decision === "forward" ? "Forwarded" : "Dropped"} ${targets.length === 1 && targets[0] ? title(targets[0]) : plural(targets.length, "packet")}.`;
    for (const [session, held] of sessions) {
      for (let at = 0; at < held.length; at += MOST) {
        const decided = this.connection.ask("decide", { session, held: held.slice(at, at + MOST), decision });
        if (!await this.report(decided, done)) return;
      }
    }
  }

  /** Opens the editor of the selected packet, or of the one that is held longest. */
  async editHeld() {
    const [held, ...others] = await this.held.targets();
    if (held && !others.length) await this.edit(held);
    else if (held) this.message.textContent = "Select one packet to edit it.";
  }

  /** Opens the editor of a held packet. @param {HeldPacket} target */
  async edit(target) {
    const { session, held, dir, state, packet } = target;
    const answer = await this.connection.ask("held", { session, held });
    if (!answer.text || packet === null) {
      this.message.textContent = answer.error?.message ?? answer.problem ?? "";
      return;
    }
    this.edited = target;
    this.editTitle.textContent = `Edit ${title(target)}`;
    this.saveButton.disabled = false;
    this.editBox.hidden = false;
    await this.editor.open({ session, dir, state, packet }, answer.text);
    const first = this.editBox.querySelector(".fields input, .fields select, .fields textarea");
    if (first instanceof HTMLElement) first.focus();
  }

  async save() {
    if (!this.edited) return;
    const { session, held } = this.edited;
    await this.editor.settled();
    if (this.edited?.session !== session || this.edited.held !== held) return;
    const edit = this.connection.ask("edit", { session, held, ...this.editor.content() });
    if (await this.reportIn(this.editor, edit)) {
      this.close();
      this.message.textContent = "";
    }
  }

  /** Ends the chosen session, after it was asked once whether to. */
  kick() {
    const session = Number(this.session.value);
    if (!session) return;
    if (this.kicked !== session) return this.askKick(session);
    this.askKick(null);
    unlessLost(this.report(this.connection.ask("kick", { session, text: this.text.value }), `Session ${session} is kicked.`));
  }

  /** @param {number | null} session */
  askKick(session) {
    this.kicked = session;
    this.kickButton.textContent = session === null ? "Kick" : `Really kick ${this.nameOf(session)}?`;
  }

  /** @param {number} session */
  nameOf(session) {
    return [...this.session.options].find((it) => it.value === String(session))?.textContent ?? `#${session}`;
  }

  /** Sends what the form shows: also a change that mitmcraft has not answered yet. */
  async send() {
    const times = Number(this.times.value);
    const session = Number(this.session.value);
    /** @type {"server" | "client"} */
    const to = this.to.value === "server" ? "server" : "client";
    const command = { session, to, packet: this.packet.value, times, interval: times > 1 ? this.interval.value : undefined, resent: this.resent };
    await this.fields.settled();
    const sent = this.connection.ask("send", { ...command, ...this.fields.content() });
    if (await this.reportIn(this.fields, sent)) this.message.textContent = `${times > 1 ? `Sending ${command.packet} ${times} times` : `Sent ${command.packet}`} to the ${to} of session ${session}.`;
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
    const chosen = this.session.value;
    const offered = sessions.filter((it) => !isPing(it) && it.legs !== null && (it.closed === null || String(it.session) === chosen));
    press.draw(this.session, () => {
      patch(this.session, ...offered.map((it) => make("option", { value: it.session, "data-key": it.session },
        `#${it.session} ${it.player ?? it.client}${it.closed === null ? "" : " (ended)"}`)));
      // A session that has ended stays chosen: no command goes to another one.
      if (!chosen) unlessLost(this.choosePackets());
      else if (this.session.value !== chosen) this.session.value = chosen;
    });
  }
}

/** Most packets of one decision. */
const MOST = 500;
