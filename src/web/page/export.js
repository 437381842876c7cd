// Exports packets: as a capture, JSON, bytes, rules, or the command line that shows the same.

import { ConnectionLost } from "./connection.js";
import { make, plural } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {import("./protocol.d.ts").ExportFormat} ExportFormat */
/** @typedef {import("./protocol.d.ts").Exported} Exported */

/** @type {[ExportFormat, string, string][]} */
const FORMATS = [
  ["pcapng", "Capture, pcapng (for Wireshark)", "pcapng"], ["jsonl", "Capture, JSON lines", "jsonl"],
  ["json", "Fields as JSON", "json"], ["hex", "Bytes in hex", "txt"], ["rule", "Rules", "toml"],
  ["command", "Command line", "sh"],
];

/** Formats that are shown, to be copied. */
const SHOWN = ["rule", "command", "hex", "json"];

/** Characters that are shown. */
const MOST = 20_000;

/**
 * The dialog of an export.
 * @param {Connection} connection
 * @param {number[]} selected
 */
export function exportDialog(connection, selected) {
  const from = make("select", { id: "export-from" },
    make("option", { value: "list" }, "all packets of the list"),
    make("option", { value: "selected", disabled: selected.length ? undefined : "" }, selected.length > 1 ? `the ${plural(selected.length, "selected packet")}` : "the selected packet"),
    make("option", { value: "marked" }, "the marked packets"));
  const format = make("select", { id: "export-format" }, ...FORMATS.map(([value, name]) => make("option", { value }, name)));
  const message = make("p", { id: "export-message", role: "status" });
  const text = make("textarea", { id: "export-text", rows: 8, cols: 70, readonly: "", hidden: "", "aria-label": "Exported text" });
  const run = async () => {
    message.textContent = "Exporting…";
    const chosen = from.value === "selected" ? selected : from.value === "marked" ? "marked" : undefined;
    const parts = await pieces(connection, /** @type {ExportFormat} */ (format.value), chosen, (bytes) => {
      message.textContent = `Exporting… ${(bytes / 1e6).toFixed(1)} MB`;
    }).catch((error) => {
      if (error instanceof ConnectionLost) return `Not exported: ${error.message}.`;
      throw error;
    });
    if (typeof parts === "string") {
      message.textContent = parts;
      return;
    }
    const blob = new Blob(parts);
    text.hidden = !SHOWN.includes(format.value);
    if (!text.hidden) text.value = (await blob.text()).slice(0, MOST);
    const name = `packets.${FORMATS.find(([value]) => value === format.value)?.[2]}`;
    const url = URL.createObjectURL(blob);
    const link = make("a", { href: url, download: name, id: "export-link" }, `Save ${name}`);
    message.replaceChildren(link, ` (${blob.size.toLocaleString("en")} bytes)`);
    // A command line is to be copied, everything else is a file.
    if (!SHOWN.includes(format.value)) link.click();
    setTimeout(() => URL.revokeObjectURL(url), 600_000);
  };
  return make("div", {},
    make("div", { class: "form-row" }, make("label", { for: "export-from" }, "Packets"), from),
    make("div", { class: "form-row" }, make("label", { for: "export-format" }, "As"), format),
    make("div", { class: "form-row" }, make("span", {}), make("div", {}, make("button", { type: "button", class: "primary", id: "export-run", onclick: run }, "Export"))),
    message, text);
}

/**
 * @param {Connection} connection @param {ExportFormat} format @param {Exported | undefined} rows
 * @param {(bytes: number) => void} progress
 * @returns {Promise<Uint8Array<ArrayBuffer>[] | string>}
 */
async function pieces(connection, format, rows, progress) {
  const parts = [];
  let bytes = 0;
  /** @type {import("./protocol.d.ts").Reply<"export" | "export_more">} */
  let answer = await connection.ask("export", { format, rows });
  for (;;) {
    if (answer.error) return answer.error.message;
    const part = Uint8Array.from(atob(answer.piece), (char) => char.charCodeAt(0));
    parts.push(part);
    bytes += part.length;
    if (answer.last) return parts;
    progress(bytes);
    answer = await connection.ask("export_more", {});
  }
}
