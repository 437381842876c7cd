// Elements that change only where their content does, and lists of which only the visible lines exist.

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
 * Makes the pieces of a text component. Characters that are not seen, and those that change the order of the
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

/** What the terminal escapes, too: see `is_unfit` in `crates/engine/src/text/escape.rs`. */
const UNSEEN = new RegExp("(?![\\n\\t])[\\p{Cc}\\u00ad\\u034f\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e"
  + "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]", "gu");

/**
 * A list of lines of equal height. Only the visible lines are elements. Browsers limit the height of an
 * element, so the scrollbar of a long list is scaled; wheel and keys still move by lines.
 */
export class VirtualList {
  /**
   * @param {HTMLElement} element
   * @param {(index: number, line: HTMLElement) => void} render fills a line
   * @param {HTMLElement} [head] stays above the lines
   */
  constructor(element, render, head) {
    this.element = element;
    this.render = render;
    this.count = 0;
    /** The index at the upper edge, with a fraction. */
    this.top = 0;
    this.headHeight = head ? VirtualList.LINE : 0;
    /** @type {Map<number, HTMLElement>} */
    this.lines = new Map();
    this.window = make("div", { class: "window", role: "presentation" });
    this.window.style.top = `${this.headHeight}px`;
    this.spacer = make("div", { role: "presentation" });
    element.classList.add("virtual");
    element.replaceChildren(...(head ? [head] : []), this.window, this.spacer);
    this.set = -1;
    this.scheduled = false;
    /** Called when a person scrolls. */
    this.onmove = () => {};
    element.addEventListener("scroll", () => this.scrolled(), { passive: true });
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.draw()).observe(element);
  }

  /** The lines that fit. */
  get visible() {
    return Math.max(1, (this.element.clientHeight - this.headHeight) / VirtualList.LINE);
  }

  get last() {
    return Math.max(0, this.count - this.visible);
  }

  /** @param {number} count */
  setCount(count) {
    this.count = count;
    const height = Math.min(count * VirtualList.LINE, VirtualList.TALLEST);
    this.spacer.style.height = `${height}px`;
    this.moveTo(this.top);
  }

  /** @param {number} top */
  moveTo(top) {
    this.top = Math.min(Math.max(0, top), this.last);
    const room = this.element.scrollHeight - this.element.clientHeight;
    this.set = this.last ? Math.round((this.top / this.last) * room) : 0;
    if (this.element.scrollTop !== this.set) this.element.scrollTop = this.set;
    this.redraw();
  }

  /** Scrolls as little as possible so that a line is visible. @param {number} index */
  reveal(index) {
    if (index < this.top) this.moveTo(index);
    else if (index + 1 > this.top + this.visible) this.moveTo(index + 1 - this.visible);
  }

  /** Draws all lines anew before the next frame. */
  redraw() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      press.draw(this, () => this.draw());
    });
  }

  draw() {
    const first = Math.floor(this.top);
    const end = Math.min(this.count, Math.ceil(this.top + this.visible) + 1);
    for (const [index, line] of this.lines) {
      if (index < first || index >= end) {
        line.remove();
        this.lines.delete(index);
      }
    }
    for (let index = first; index < end; index++) {
      let line = this.lines.get(index);
      if (!line) {
        line = make("div", { class: "line" });
        this.lines.set(index, line);
        this.window.append(line);
      }
      line.style.top = `${(index - this.top) * VirtualList.LINE}px`;
      this.render(index, line);
    }
  }

  scrolled() {
    if (Math.abs(this.element.scrollTop - this.set) <= 1) return;
    this.set = this.element.scrollTop;
    const room = this.element.scrollHeight - this.element.clientHeight;
    this.top = room > 0 ? (this.set / room) * this.last : 0;
    this.onmove();
    press.end();
    this.redraw();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    if (event.ctrlKey || event.deltaY === 0) return;
    event.preventDefault();
    const lines = event.deltaMode === 0 ? event.deltaY / VirtualList.LINE : event.deltaY;
    this.moveTo(this.top + lines);
    this.onmove();
  }

  /** Height of a line in pixels, as in the style sheet. */
  static LINE = 22;

  /** Greatest height of the scrolled element: browsers allow about 33 million pixels. */
  static TALLEST = 8_000_000;
}

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
