// What a person does with a running proxy: hold, edit, send and kick. Shown only while it runs.

import { unlessLost } from "./connection.js";
import { make, patch, plural, press } from "./dom.js";
import { FilterLine } from "./filter.js";
import { PacketForm, withPath } from "./form.js";
import { HeldList, title } from "./held.js";
import { opening } from "./keys.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./notice.js").Notice} Notice */
/** @typedef {import("./protocol.d.ts").Failure} Failure */
/** @typedef {import("./protocol.d.ts").HeldPacket} HeldPacket */
/** @typedef {import("./protocol.d.ts").ControlPush} ControlPush */
/** @typedef {import("./protocol.d.ts").Holding} Holding */
/** @typedef {import("./protocol.d.ts").PacketDetails} PacketDetails */
/** @typedef {import("./protocol.d.ts").Sending} Sending */
/** @typedef {import("./protocol.d.ts").SessionInfo} SessionInfo */

export class ControlPanel {
  /** @param {Connection} connection @param {HTMLElement} element @param {HTMLElement} tab @param {Notice} notice */
  constructor(connection, element, tab, notice) {
    this.connection = connection;
    this.element = element;
    this.notice = notice;
    this.tab = tab;
    this.held = new HeldList(connection);
    this.held.onselect = () => {
      this.drawTargets();
      this.onselect();
    };
    /** Called when other held packets are selected. */
    this.onselect = () => {};
    /** Called when something else is held. */
    this.onhold = () => {};
    this.held.onopen = () => unlessLost(this.editHeld());
    /** The held packet that is edited. @type {HeldPacket | null} */
    this.edited = null;
    this.where = make("input", {
      type: "text", id: "break", role: "combobox", spellcheck: "false", autocomplete: "off", size: 60, placeholder: "serverbound and chat",
      "aria-expanded": "false", "aria-controls": "break-completions", "aria-autocomplete": "list", "aria-describedby": "break-message",
    });
    const completions = make("ul", { id: "break-completions", class: "completions", role: "listbox", "aria-label": "Completions", hidden: "" });
    const fault = make("div", { id: "break-message", class: "filter-message", role: "status" });
    const field = make("span", { class: "field" }, this.where, completions);
    this.line = new FilterLine(connection, this.where, completions, fault, (text) => this.hold(text), "breaks");
    this.overtaken = make("input", { type: "checkbox", id: "overtaken", onchange: () => this.hold(this.condition) });
    const hold = make("button", { type: "button", class: "primary", onclick: () => this.line.apply(this.where.value) }, "Hold");
    const off = make("button", { type: "button", onclick: () => this.hold("") }, "Hold no more");
    /** What is held, and how many still are: a number that runs is not spoken. */
    this.state = make("span", { role: "status" }, "Nothing is held.");
    this.rest = make("span", {});
    /** The condition that was set when the last page had gone. */
    this.earlier = make("p", { id: "earlier", hidden: "" });
    /** The condition on what is held; empty if nothing is. */
    this.condition = "";
    /** The condition that the page has put into its line last. */
    this.known = "";
    this.interfaces = 1;
    /** `true` after everything was to be forwarded once. */
    this.sure = false;
    const button = (/** @type {string} */ name, /** @type {() => Promise<any>} */ act) => make("button", { type: "button", onclick: () => unlessLost(act()) }, name);
    /** What is sent repeatedly, by its number. @type {Map<number, Sending>} */
    this.repeats = new Map();
    this.sending = make("ul", { id: "sending", "aria-label": "Sent repeatedly" });
    this.sending.addEventListener("click", (event) => {
      const line = event.target instanceof Element ? event.target.closest("button")?.closest("li") : null;
      if (line instanceof HTMLElement) unlessLost(this.report(this.connection.ask("stop", { number: Number(line.dataset.key) })));
    });
    /** What the buttons below the list act on. */
    this.targets = make("span", { id: "held-targets", role: "status" });
    this.bar = make("div", { id: "held-bar" }, this.targets, make("div", { class: "bar" },
      button("Forward", () => this.decide("forward")), button("Drop", () => this.decide("drop")),
      button("Edit", () => this.editHeld()), button("Forward all", () => this.forwardAll())));
    this.editor = new PacketForm(connection, "edit", "Fields of the held packet");
    this.editTitle = make("h2", { id: "edit-title" });
    this.saveButton = make("button", { type: "button", class: "primary", title: "Ctrl-Enter in a field", onclick: () => unlessLost(this.save()) }, "Send edited");
    this.editBox = make("div", { hidden: "" }, this.editTitle, this.editor.element, make("div", { class: "bar" }, this.saveButton,
      make("button", { type: "button", onclick: () => this.close() }, "Cancel")));
    /** The names of the sessions that are offered. */
    this.drawn = "";
    /** `true` once a person has chosen the session: it stays chosen after it has ended. */
    this.byHand = false;
    this.session = make("select", { id: "control-session", "aria-label": "Session", onchange: () => {
      this.byHand = true;
      unlessLost(this.choosePackets());
    } });
    this.text = make("input", { type: "text", id: "kick-text", "aria-label": "Reason", value: "kicked" });
    /** The session about which *Kick* asks. @type {number | null} */
    this.kicked = null;
    /** The session and its state whose packets were asked for last. */
    this.listed = "";
    this.kickButton = make("button", { type: "button", onclick: () => this.kick(), onblur: () => this.askKick(null) }, "Kick");
    this.to = make("select", { id: "send-to", "aria-label": "Receiver", onchange: () => unlessLost(this.turn()) },
      make("option", { value: "client" }, "to the client"), make("option", { value: "server" }, "to the server"));
    this.packet = make("input", { type: "text", id: "send-packet", "aria-label": "Packet", placeholder: "chat", list: "send-packets", autocomplete: "off", onchange: () => unlessLost(this.choose()) });
    this.packets = make("datalist", { id: "send-packets" });
    this.fields = new PacketForm(connection, "send", "Fields of the packet");
    /** The packet of the list that is sent again, changed. @type {number | undefined} */
    this.resent = undefined;
    this.interval = make("input", { type: "text", id: "send-interval", "aria-label": "Interval", value: "1s", size: 6 });
    this.times = make("input", { type: "number", id: "send-times", "aria-label": "Times", min: 1, value: 1 });
    /** The packet that was being written for the other receiver. @type {{ packet: string, place: import("./form.js").Place, text: string, resent: number | undefined, changed: boolean } | null} */
    this.other = null;
    const send = make("button", { type: "button", class: "primary", title: "Ctrl-Enter in a field", onclick: () => unlessLost(this.send()) }, "Send");
    sendsWith(this.fields, () => this.send());
    sendsWith(this.editor, () => this.save());
    const row = (/** @type {string} */ name, /** @type {string} */ id, /** @type {(Node | string)[]} */ ...parts) =>
      make("div", { class: "form-row" }, make("label", { for: id }, name), make("div", { class: "bar" }, ...parts));
    /** Where what was sent is shown. */
    this.sentPane = make("div", { class: "pane" }, this.sending);
    element.replaceChildren(
      make("section", { class: "pane", "aria-label": "Held" },
        make("h2", {}, "Held packets"),
        make("div", { class: "form-row wide" }, make("label", { for: "break" }, "Packets that match"), make("div", { class: "bar" }, field, hold)), fault,
        make("div", { class: "bar" }, make("label", {}, this.overtaken, " later packets may overtake"), off),
        make("p", { id: "break-state" }, this.state, this.rest), this.earlier, this.held.element, this.bar),
      make("section", { class: "pane", "aria-label": "Editor" },
        this.editBox,
        make("h2", {}, "Send a packet"),
        row("Session", "control-session", this.session, this.to),
        row("Packet", "send-packet", this.packet, this.packets),
        this.fields.element,
        row("Times", "send-times", this.times, make("label", { for: "send-interval" }, "every"), this.interval, send),
        make("h2", {}, "End the session"),
        row("Reason", "kick-text", this.text, this.kickButton)),
      this.sentPane);
    this.drawTargets();
    setInterval(() => this.held.list.redraw(), 1000);
  }

  /** Shows only what was sent, or everything: captures have what was sent, but nothing can be sent there. @param {boolean} only */
  setReadOnly(only) {
    this.tab.hidden = false;
    if (only) this.tab.textContent = "Sent";
    this.element.classList.toggle("only-sent", only);
  }

  /** Asks again for what is shown: the connection is a new one. */
  renew() {
    this.repeats.clear();
    this.drawSending();
    unlessLost(this.held.renew());
    unlessLost(this.checkEdited());
    unlessLost(this.choosePackets());
    unlessLost(this.fields.renew());
  }

  /** Shows why a command was refused. Returns `true` if it was not. @param {Promise<{ error?: Failure }>} asked @param {string} [done] what is said then */
  async report(asked, done = "") {
    const { error } = await asked.catch((lost) => {
      this.notice.say(`Perhaps not done: ${lost.message}.`, true);
      throw lost;
    });
    const hint = error?.hint ? ` (${error.hint})` : "";
    this.notice.say(error ? `${withPath(error)}${hint}` : done, Boolean(error));
    return !error;
  }

  /** Shows at the field of a form why its content was refused. @param {PacketForm} form @param {Promise<{ error?: Failure }>} asked */
  async reportIn(form, asked) {
    const { error } = await asked;
    this.notice.say("");
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

  /** Another receiver gets other packets: what was written for the first one stays with it. */
  async turn() {
    await this.fields.settled();
    const { place, text } = this.fields;
    const other = this.other;
    this.other = place && { packet: this.packet.value, place, text, resent: this.resent, changed: this.fields.isChanged() };
    this.fields.clear();
    this.packet.value = other?.packet ?? "";
    this.resent = other?.resent;
    await Promise.all([this.choosePackets(), other && this.fields.open(other.place, other.text)]);
    // What was not sent then is not sent yet.
    if (other?.changed) this.fields.kept = -1;
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
    const answer = await opening.wait(this.connection.ask("form_of", { row }));
    if (answer.error) {
      this.notice.say(answer.error.message, true);
      return false;
    }
    const { session, dir, state, packet, resent } = answer.place;
    this.chooseSession(session);
    this.other = null;
    this.to.value = dir === "serverbound" ? "server" : "client";
    this.packet.value = packet;
    this.fields.take({ session, dir, state, packet }, answer.form);
    this.resent = resent;
    return true;
  }

  /** @param {string} where */
  hold(where) {
    const asked = this.connection.ask("break", { where, overtaken: this.overtaken.checked });
    unlessLost(asked.then((answer) => {
      if (answer.error) this.line.show(answer);
      return this.report(Promise.resolve(answer));
    }));
  }

  /** Takes a message that came unasked. @param {ControlPush} push */
  take(push) {
    switch (push.push) {
      case "control": {
        this.condition = push.break?.where ?? "";
        this.interfaces = push.interfaces;
        // What is being typed stays.
        if (this.where.value === this.known) this.where.value = this.condition;
        this.known = this.condition;
        this.line.setApplied(this.condition);
        this.overtaken.checked = push.break?.overtaken ?? this.overtaken.checked;
        this.showEarlier(push.earlier);
        this.drawState();
        return;
      }
      case "sending":
        this.takeSending(push);
        return;
      case "message":
        this.notice.say(`Session ${push.session}: ${push.text}`, true);
    }
  }

  /** Offers to hold again what was held when the last page had gone. @param {{ where: string, overtaken: boolean } | null} earlier */
  showEarlier(earlier) {
    const news = earlier && this.earlier.hidden;
    this.earlier.hidden = !earlier;
    if (!earlier) return;
    const again = () => unlessLost(this.report(this.connection.ask("break", earlier)));
    this.earlier.replaceChildren(`Packets that match ${earlier.where} were held until all pages were closed. `,
      make("button", { type: "button", onclick: again }, "Hold them again"), " ",
      make("button", { type: "button", onclick: () => this.hold("") }, "Forget it"));
    if (news) this.notice.say(`Packets that match ${earlier.where} were held earlier. They are not held now: see Control.`);
  }

  /** Takes the news of a packet that is sent repeatedly. @param {Sending} sending */
  takeSending(sending) {
    const { number, times, left, over } = sending;
    if (over) this.repeats.delete(number);
    else this.repeats.set(number, sending);
    if (over) this.notice.say(`Sent ${what(sending)} ${left ? `${(times - left).toLocaleString("en")} of ${plural(times, "time")}, then stopped` : plural(times, "time")}.`);
    this.drawSending();
  }

  drawSending() {
    press.draw(this.sending, () => patch(this.sending, ...[...this.repeats.values()].map((it) => {
      const { number, times, left, interval } = it;
      return make("li", { "data-key": number },
        make("button", { type: "button", "aria-label": `Stop sending ${what(it)}` }, "Stop"), " ",
        `${what(it)}: ${(times - left).toLocaleString("en")} of ${plural(times, "time")}, every ${interval < 1000 ? `${interval} ms` : `${interval / 1000} s`}`);
    })));
  }

  /** Sends no more of what is sent repeatedly. */
  stop() {
    return this.report(this.connection.ask("stop", {}));
  }

  /** Takes the news of how much is held. @param {Holding} holding */
  async takeHolding(holding) {
    const taken = this.held.take(holding);
    press.draw(this, () => {
      this.tab.textContent = holding.total ? `Control (${holding.total.toLocaleString("en")})` : "Control";
      this.drawState();
      this.drawTargets();
    });
    this.onhold();
    await Promise.all([taken, this.checkEdited()]);
  }

  /** Says what the buttons below the list act on. */
  drawTargets() {
    const { one, spans, count } = this.held;
    const none = this.held.holding.total ? "the packet that is held longest" : "";
    const several = count ? plural(count, "selected packet") : "the selected packets";
    this.targets.textContent = one ? title(one) : spans.length ? several : none;
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
    const waits = !this.condition && total > 0;
    const state = (this.condition ? `Packets that match ${this.condition} are held.` : total ? "No more packets are held" : "Nothing is held.") + (waits ? "" : others);
    // A text that is set again is spoken again.
    if (this.state.textContent !== state) this.state.textContent = state;
    this.rest.textContent = waits ? `; ${plural(total, "packet")} still wait${total === 1 ? "s" : ""}.${others}` : "";
  }

  /** Closes the editor. */
  close() {
    this.edited = null;
    this.editBox.hidden = true;
  }

  /** Forwards everything that is held. */
  forwardAll() {
    return this.decideSpans("forward", { spans: [[1, this.held.holding.last]], one: null }, this.held.holding.total);
  }

  /** Forwards everything that is held; several packets once that was asked for twice. */
  async askForwardAll() {
    const { total } = this.held.holding;
    if (total < 2 || this.sure) {
      this.sure = false;
      await this.forwardAll();
      return;
    }
    this.sure = true;
    setTimeout(() => { this.sure = false; }, SURE);
    this.notice.say(`Press the key again to forward all ${plural(total, "held packet")}.`);
  }

  /**
   * Decides on packets; if none are given, on the selected ones, or on the one that is held longest.
   * @param {"forward" | "drop"} decision
   * @param {import("./held.js").Targets} [given]
   * @param {number} [count] how many they are
   */
  async decide(decision, given, count) {
    const targets = given ?? await this.held.targets();
    const wanted = count ?? this.held.count;
    this.held.select([]);
    await this.decideSpans(decision, targets, wanted);
  }

  /**
   * Decides on packets, and says on how many.
   * @param {"forward" | "drop"} decision
   * @param {import("./held.js").Targets} targets
   * @param {number} wanted how many they are, as far as is known
   */
  async decideSpans(decision, { spans, one }, wanted) {
    const done = decision === "forward" ? "Forwarded" : "Dropped";
    const asked = this.connection.ask("decide", { spans, decision });
    if (!await this.report(asked)) return;
    const { decided = 0 } = await asked;
    const gone = "not held any more, or decided on already";
    if (!decided) this.notice.say(one ? `It was too late: ${title(one)} is ${gone}.` : wanted ? `It was too late: the packets are ${gone}.` : "Nothing is held.", true);
    else if (one) this.notice.say(`${done} ${title(one)}.`);
    else this.notice.say(`${done} ${decided < wanted ? `${decided.toLocaleString("en")} of ` : ""}${plural(Math.max(decided, wanted), "packet")}.${decided < wanted ? ` The others are ${gone}.` : ""}`);
  }

  /** Opens the editor of a packet; if none is given, of the selected one, or of the one that is held longest. @param {import("./held.js").Targets} [given] */
  async editHeld(given) {
    const { spans, one } = given ?? await opening.wait(this.held.targets());
    if (one) await opening.wait(this.edit(one));
    else this.notice.say(spans.length ? "Select one packet to edit it." : "Nothing is held.", true);
  }

  /** Returns `true` if a person has changed a held packet and not sent it. */
  isEditing() {
    return this.edited !== null && this.editor.isChanged();
  }

  /** Returns `true` if a person has written something that would be lost with the page. */
  isWriting() {
    return this.isEditing() || this.fields.isChanged() || Boolean(this.other?.changed);
  }

  /** Opens the editor of a held packet. @param {HeldPacket} target */
  async edit(target) {
    const { session, held, dir, state, packet } = target;
    if (this.edited && this.edited.number !== target.number && this.isEditing()) {
      this.notice.say(`The editor has changes of packet ${this.edited.number}: send them, or cancel, before you edit another packet.`, true);
      return;
    }
    const answer = await this.connection.ask("held", { session, held });
    if (!answer.text || packet === null) {
      this.notice.say(answer.error?.message ?? answer.problem ?? "A packet of an unknown type cannot be edited.", true);
      return;
    }
    this.edited = target;
    this.editTitle.textContent = `Edit ${title(target)}`;
    this.saveButton.disabled = false;
    this.editBox.hidden = false;
    await this.editor.open({ session, dir, state, packet }, answer.text);
    this.editor.focus();
  }

  async save() {
    const target = this.edited;
    if (!target) return;
    const { session, held } = target;
    await this.editor.settled();
    if (this.edited?.session !== session || this.edited.held !== held) return;
    const edit = this.connection.ask("edit", { session, held, ...this.editor.content() });
    if (await this.reportIn(this.editor, edit)) {
      this.close();
      this.notice.say(`Edited ${title(target)}.`);
    }
  }

  /** Ends the chosen session, after it was asked once whether to. */
  kick() {
    const session = Number(this.session.value);
    if (!session) return this.notice.say("There is no session to end.", true);
    if (this.kicked !== session) return this.askKick(session);
    this.askKick(null);
    unlessLost(this.report(this.connection.ask("kick", { session, text: this.text.value }), `Session ${session} is kicked.`));
  }

  /** @param {number | null} session */
  askKick(session) {
    this.kicked = session;
    this.drawKick();
  }

  /** Names the session about which is asked as the list of sessions does: its player may not be known at first. */
  drawKick() {
    this.kickButton.textContent = this.kicked === null ? "Kick" : `Really kick ${this.nameOf(this.kicked)}?`;
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
    const changes = this.fields.undone.length;
    const sent = this.connection.ask("send", { ...command, ...this.fields.content() });
    if (!await this.reportIn(this.fields, sent)) return;
    this.fields.kept = changes;
    const verb = times > 1 ? "Sending" : "Sent";
    this.notice.say(`${verb} ${command.packet} to the ${to} of session ${session}${times > 1 ? ` ${plural(times, "time")}` : ""}.`);
  }

  /** Sends a packet of the list again. @param {PacketDetails} packet */
  resend(packet) {
    if (packet.left_out) {
      this.notice.say("The packet is too long to be sent from here.", true);
      return Promise.resolve(false);
    }
    const to = packet.dir === "serverbound" ? "server" : "client";
    const sent = this.connection.ask("send", { session: packet.session, to, body: packet.bytes, resent: packet.seq });
    return this.report(sent, `Sent ${packet.name ?? "packet"} ${packet.seq} again to the ${to} of session ${packet.session}.`);
  }

  /** Chooses a session. It stays chosen after it has ended: no command goes to another one. @param {number} session */
  chooseSession(session) {
    if (![...this.session.options].some((it) => it.value === String(session))) {
      this.session.append(make("option", { value: session, "data-key": session }, `#${session} (ended)`));
      this.drawn = "";
    }
    this.session.value = String(session);
    this.byHand = true;
  }

  /** Asks which sessions are open, and offers them. */
  async offerOpen() {
    const { value } = this.session;
    const answer = await this.connection.ask("sessions", { only: "open", count: OFFERED, anchor: value ? Number(value) : null });
    // Another one was chosen meanwhile.
    if (answer.error || value !== this.session.value) return;
    this.offer(answer.sessions, answer.total, answer.anchored);
  }

  /** Offers sessions that are open. @param {SessionInfo[]} open the newest @param {number} total how many are open @param {SessionInfo | null} one the chosen one */
  offer(open, total, one) {
    press.draw(this.session, () => {
      const playing = open.filter(plays);
      // Nothing was begun for the session that ended.
      const free = playing.length > 0 && one !== null && one.closed !== null && !this.byHand && !this.fields.place && this.kicked === null;
      const chosen = free ? "" : this.session.value;
      const apart = one !== null && chosen && !playing.some((it) => it.session === one.session) ? [one] : [];
      const offered = [...apart, ...playing].sort((a, b) => a.session - b.session);
      const none = make("option", { value: "", "data-key": "none" }, "none open");
      const rest = total - open.length;
      const more = rest > 0 ? `and ${plural(rest, "older one")}: see Sessions` : "";
      const names = offered.map((it) => `#${it.session} ${it.player ?? it.client}${it.closed === null ? "" : " (ended)"}`);
      const drawn = JSON.stringify([names, more]);
      if (drawn !== this.drawn) {
        patch(this.session, ...(offered.length ? [] : [none]), ...offered.map((it, at) => make("option", { value: it.session, "data-key": it.session }, names[at])),
          ...(more ? [make("option", { value: "", "data-key": "more", disabled: "" }, more)] : []));
      }
      this.drawn = drawn;
      if (chosen && this.session.value !== chosen) this.chooseSession(Number(chosen));
      this.drawKick();
      // Each state of a session has packets of its own.
      const listed = `${this.session.value} ${offered.find((it) => String(it.session) === this.session.value)?.legs?.state}`;
      if (listed === this.listed) return;
      this.listed = listed;
      unlessLost(this.choosePackets());
    });
  }
}

/** Lets Ctrl-Enter in a form send it. @param {PacketForm} form @param {() => Promise<any>} send */
function sendsWith(form, send) {
  form.element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    unlessLost(send());
  });
}

/** Returns `true` for a session with a player in it, or that is going to have one. @param {SessionInfo} session */
function plays({ player, legs }) {
  return legs !== null && (player !== null || !["handshaking", "status"].includes(legs.state));
}

/** @param {Sending} sending */
function what({ packet, dir, session }) {
  return `${packet ?? "a packet"} to the ${dir === "serverbound" ? "server" : "client"} of session ${session}`;
}

/** Most open sessions that are offered. */
const OFFERED = 100;

/** Milliseconds for which a key that forwards everything waits to be pressed again. */
const SURE = 5000;
