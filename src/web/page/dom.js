// Elements that change only where their content does, presses of the mouse, and texts as people read them.

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} kind
 * @returns {T}
 */
export function byId(id, kind) {
  const element = document.getElementById(id);
  if (!(element instanceof kind)) throw new Error(`no element ${id}`);
  return element;
}

/**
 * Makes an element. Texts become text, never markup.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} name
 * @param {Record<string, any>} [properties]
 * @param {...(Node | string | null | undefined)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className = value;
    else element.setAttribute(key, String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/**
 * Gives an element these children, and changes only what is different: a node whose content stays keeps its focus,
 * its selected text and the press of a mouse. Children with a `data-key` keep their node wherever they are; others
 * keep it in their place. Listeners stay those of the node that was first there.
 * @param {Element} element
 * @param {...(Node | string)} children
 */
export function patch(element, ...children) {
  const nodes = children.map((it) => (typeof it === "string" ? document.createTextNode(it) : it));
  const keys = new Set(nodes.map(keyOf));
  /** @type {Map<string, Element>} */
  const keyed = new Map();
  for (const it of [...element.children]) {
    const key = keyOf(it);
    if (key === null) continue;
    if (keys.has(key)) keyed.set(key, it);
    else it.remove();
  }
  /** @type {Node | null} */
  let place = element.firstChild;
  for (const node of nodes) {
    const key = keyOf(node);
    const known = key !== null ? keyed.get(key) ?? null : place && keyOf(place) === null ? place : null;
    if (!known || known.nodeName !== node.nodeName) {
      element.insertBefore(node, place);
      continue;
    }
    if (known === place) place = place.nextSibling;
    else element.insertBefore(known, place);
    patchNode(known, node);
  }
  while (place) {
    const next = place.nextSibling;
    element.removeChild(place);
    place = next;
  }
}

/** Makes a node the same as another one of its kind. @param {Node} node @param {Node} wanted */
function patchNode(node, wanted) {
  if (!(node instanceof Element) || !(wanted instanceof Element)) {
    if (node.textContent !== wanted.textContent) node.textContent = wanted.textContent;
    return;
  }
  for (const name of node.getAttributeNames()) {
    if (!wanted.hasAttribute(name)) node.removeAttribute(name);
  }
  for (const name of wanted.getAttributeNames()) {
    const value = wanted.getAttribute(name) ?? "";
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  patch(node, ...wanted.childNodes);
}

/** @param {Node} node */
function keyOf(node) {
  return node instanceof Element ? node.getAttribute("data-key") : null;
}

/**
 * Nothing moves under a pressed mouse button: browsers send a click only if the element that was pressed is still
 * there when the button is released, which takes a person about 100 ms.
 */
export class Press {
  constructor() {
    this.down = false;
    this.number = 0;
    /** What is to be drawn after the release. @type {Map<any, () => void>} */
    this.waiting = new Map();
  }

  /** Notices the presses in a document. @param {Document} document */
  watch(document) {
    document.addEventListener("pointerdown", () => this.begin(), true);
    for (const name of ["pointerup", "pointercancel", "dragstart"]) document.addEventListener(name, () => this.end(), true);
  }

  begin() {
    this.down = true;
    const number = ++this.number;
    setTimeout(() => {
      if (number === this.number) this.end();
    }, Press.LONGEST);
  }

  end() {
    if (!this.down) return;
    this.down = false;
    // The click comes in the same task as the release.
    setTimeout(() => {
      const waiting = [...this.waiting.values()];
      this.waiting.clear();
      for (const draw of waiting) draw();
    });
  }

  /** Draws now, or after the release. @param {any} owner of what is drawn @param {() => void} draw */
  draw(owner, draw) {
    if (this.down) this.waiting.set(owner, draw);
    else draw();
  }

  /** Milliseconds for which a press delays what is drawn. */
  static LONGEST = 1000;
}

export const press = new Press();

/**
 * Makes the pieces of a text component. Invisible characters, and those that change the order of the
 * text after them, are written as escapes.
 * @param {import("./protocol.d.ts").TextPiece[]} spans
 * @param {number} [most] characters that are shown
 */
export function styled(spans, most = Infinity) {
  const all = spans.reduce((sum, span) => sum + span.text.length, 0);
  let left = most;
  const shown = spans.flatMap((span) => {
    const text = span.text.slice(0, left);
    left -= text.length;
    return text ? [{ ...span, text }] : [];
  });
  const rest = all > most ? make("small", {}, ` … ${(all - most).toLocaleString("en")} more characters`) : null;
  return make("span", { class: "mc" }, ...shown.map((span) => {
    const classes = span.formats.map((format) => `mc-${format}`);
    const rgb = span.color?.startsWith("#");
    if (span.color) classes.push(rgb ? "mc-rgb" : `mc-${span.color}`);
    const piece = make("span", { class: classes.join(" ") }, escaped(span.text));
    if (rgb && span.color) piece.style.borderBottomColor = span.color;
    return piece;
  }), rest);
}

/** @param {string} text */
function escaped(text) {
  return text.replace(UNSEEN, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** What the terminal escapes, too: see `is_unseen` in `crates/protocol/src/wire/text.rs`. */
const UNSEEN = new RegExp("(?![\\n\\t])[\\p{Cc}\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e"
  + "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "gu");

/** @param {number} bytes */
export function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit < 3) {
    value /= 1024;
    unit++;
  }
  return `${value.toFixed(1)} ${units[unit]}`;
}

/** The time of day. @param {number} at milliseconds since 1970 */
export function clock(at) {
  const date = new Date(at);
  const two = (/** @type {number} */ number) => String(number).padStart(2, "0");
  const millis = String(date.getMilliseconds()).padStart(3, "0");
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${millis}`;
}

/** The zone of all times of the day: `UTC+1`. @param {number} at milliseconds since 1970 */
export function zone(at) {
  const minutes = -new Date(at).getTimezoneOffset();
  const rest = Math.abs(minutes) % 60;
  const hours = Math.floor(Math.abs(minutes) / 60);
  return `UTC${minutes < 0 ? "−" : minutes ? "+" : ""}${minutes ? hours : ""}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

/** @param {number} count @param {string} noun */
export function plural(count, noun) {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Begins a text with a capital letter. @param {string} text */
export function sentence(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
