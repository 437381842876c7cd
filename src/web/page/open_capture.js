// Opens a capture on the page: a file that a person drops or chooses is sent to mitmcraft, piece by piece.

import { ConnectionLost, unlessLost } from "./connection.js";
import { make, plural, sentence, size } from "./dom.js";

/** Bytes that are sent at a time. */
const PIECE = 1 << 20;

export class CaptureOpener {
  /**
   * @param {import("./connection.js").Connection} connection
   * @param {import("./dialogs.js").Dialog} dialog
   * @param {import("./notice.js").Notice} notice
   */
  constructor(connection, dialog, notice) {
    this.connection = connection;
    this.dialog = dialog;
    this.notice = notice;
    /** The most bytes of a capture; `null` if none can be opened. @type {number | null} */
    this.limit = null;
    /** Grows with each file: a piece of an earlier one is not sent any more. */
    this.turn = 0;
    /** `true` while a file is being sent. */
    this.sending = false;
    this.input = make("input", { type: "file", id: "open-file", "aria-label": "Capture", onchange: () => this.take(this.input.files) });
    this.progress = make("progress", { id: "open-progress", max: 1, value: 0, "aria-label": "Progress", hidden: "" });
    this.problem = make("p", { id: "open-problem", role: "alert", class: "bad" });
    this.body = make("div", {}, make("p", {}, "Drop a file anywhere on the page, or choose one: a capture in any format, or a recording of tcpdump or Wireshark. It takes the place of what all pages show."), this.input, this.progress, this.problem);
    dialog.element.addEventListener("close", () => this.cancel());
  }

  /** Takes the files that are dropped on the page. @param {HTMLElement} page */
  watch(page) {
    page.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
    });
    page.addEventListener("drop", (event) => {
      const { files = null } = event.dataTransfer ?? {};
      if (!files?.length) return;
      // Otherwise, the browser would show the file in place of the page.
      event.preventDefault();
      this.show();
      this.take(files);
    });
  }

  /** Shows where a file is chosen. */
  show() {
    if (this.limit === null) return this.notice.say("This page shows a running proxy: captures are opened where captures are viewed (mitmcraft view).", true);
    this.turn++;
    this.progress.hidden = true;
    this.problem.textContent = this.input.value = "";
    this.dialog.show("Open a capture", this.body);
  }

  /** @param {FileList | null} files */
  take(files) {
    const [file] = files ?? [];
    if (!file || this.limit === null) return;
    if (files && files.length > 1) this.problem.textContent = `Open one of the ${plural(files.length, "file")} at a time.`;
    else unlessLost(this.send(file, this.limit));
  }

  /** Sends a file. Once mitmcraft has all of it, the page is loaded again with its packets. @param {File} file @param {number} limit */
  async send(file, limit) {
    const turn = ++this.turn;
    this.problem.textContent = "";
    if (file.size > limit) {
      this.problem.textContent = `${file.name} is too large: ${size(file.size)}, of at most ${size(limit)}. Name it on the command line to view it.`;
      return;
    }
    this.progress.hidden = false;
    this.progress.value = 0;
    this.sending = true;
    try {
      let { error } = await this.connection.ask("open", { name: file.name, size: file.size });
      for (let at = 0; !error && at < file.size && turn === this.turn; at += PIECE) {
        const bytes = base64(await file.slice(at, at + PIECE).arrayBuffer());
        if (turn !== this.turn) return;
        ({ error } = await this.connection.ask("open_more", { bytes }));
        this.progress.value = Math.min(1, (at + PIECE) / file.size);
      }
      if (turn !== this.turn) return;
      this.sending = false;
      if (error) this.fail(`${sentence(error.message)}.`);
    } catch (error) {
      // After the last piece, mitmcraft ends the connection.
      if (error instanceof ConnectionLost) throw error;
      if (turn === this.turn) this.cancel();
      this.fail(`${file.name} cannot be read: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Sends no more of a file. Nothing instead of its next piece makes mitmcraft forget it, so that other pages can open one. */
  cancel() {
    this.turn++;
    if (this.sending) unlessLost(this.connection.ask("open_more", { bytes: "" }));
    this.sending = false;
  }

  /** @param {string} why */
  fail(why) {
    this.progress.hidden = true;
    this.problem.textContent = why;
  }
}

/** @param {ArrayBuffer} buffer */
function base64(buffer) {
  const bytes = new Uint8Array(buffer);
  let text = "";
  // A call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
