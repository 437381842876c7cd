// What is searched, marked where it stands: in texts and in bytes.

import { make } from "./dom.js";

/** Most places of a packet that are marked. */
const MOST = 1000;

/** Returns a text with what is searched in it marked, in any letter case. @param {string} text @param {string[]} terms @returns {(string | HTMLElement)[]} */
export function marked(text, terms) {
  const wanted = terms.filter(Boolean).map((it) => it.toLowerCase());
  const lower = text.toLowerCase();
  // Some letters have more characters in lower case, and nothing stands in its place then.
  if (!wanted.length || lower.length !== text.length) return [text];
  const parts = [];
  let at = 0;
  for (;;) {
    const places = wanted.map((it) => [lower.indexOf(it, at), it.length]).filter(([place = -1]) => place >= 0);
    const [place = -1, length = 0] = places.sort(([one = 0, long = 0], [other = 0, longer = 0]) => one - other || longer - long)[0] ?? [];
    if (place < 0) break;
    if (place > at) parts.push(text.slice(at, place));
    parts.push(make("mark", {}, text.slice(place, place + length)));
    at = place + length;
  }
  return at < text.length ? [...parts, text.slice(at)] : parts;
}

/** Returns `true` if a text has something that is searched. @param {string} text @param {string} term */
export function has(text, term) {
  return text.toLowerCase().includes(term.toLowerCase());
}

/** Returns the places of bytes that a search finds: bytes such as `0a:1b`, or text in UTF-8 or UTF-16. @param {Uint8Array} bytes @param {string} search @returns {Set<number>} */
export function places(bytes, search) {
  /** @type {Set<number>} */
  const found = new Set();
  if (!search) return found;
  const exact = asBytes(search);
  const patterns = exact ? [exact] : [[...new TextEncoder().encode(search)].map(lower), wide(search)];
  const folded = exact ? bytes : bytes.map(lower);
  let count = 0;
  patterns.forEach((pattern, which) => {
    const all = which === 0 ? folded : bytes;
    for (let at = 0; at + pattern.length <= all.length && count < MOST; at++) {
      if (!pattern.every((byte, place) => all[at + place] === byte)) continue;
      count++;
      pattern.forEach((_, place) => found.add(at + place));
    }
  });
  return found;
}

/** Returns the bytes that a search is written as. @param {string} search */
function asBytes(search) {
  const digits = search.startsWith("0x") ? search.slice(2) : /^[0-9a-f]{2}(:[0-9a-f]{2})+$/i.test(search) ? search.replaceAll(":", "") : "";
  if (!/^([0-9a-f]{2})+$/i.test(digits)) return null;
  return (digits.match(/../g) ?? []).map((it) => parseInt(it, 16));
}

/** @param {string} text */
function wide(text) {
  return Array.from({ length: text.length }, (_, at) => text.charCodeAt(at)).flatMap((unit) => [unit >> 8, unit & 0xff]);
}

/** @param {number} byte */
function lower(byte) {
  return byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
}
