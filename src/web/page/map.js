// The world that the server has sent, seen from above: tiles, the player's path, and places.

import { unlessLost } from "./connection.js";
import { make, patch, plural } from "./dom.js";

/** @typedef {import("./connection.js").Connection} Connection */
/** @typedef {Extract<import("./protocol.d.ts").Push, { push: "map" }>} MapState */
/** @typedef {import("./protocol.d.ts").MapDimension} MapDimension */
/** @typedef {import("./protocol.d.ts").MapPlace} MapPlace */
/** @typedef {{ x: number, z: number }} Point in blocks */
/** What is shown of a tile: the picture, and as of which row and version it is. @typedef {{ row: number | null, version: number, image: ImageBitmap | null, used: number }} Tile */
/** The packet as of which the map is; `null` as of now. @typedef {{ row: number | null, session: number | null }} Wanted */

/** Blocks of a tile in each direction. */
export const TILE = 128;

/** Most tiles that are kept, and that are drawn. */
const MOST_TILES = 600;

/** Most requests for tiles that wait for an answer. */
const MOST_ASKED = 4;

/** Pixels of a block. */
const SCALES = [0.25, 0.5, 1, 2, 4, 8, 16];

/** Pixels that a key moves the map, and with Shift. */
const STEP = 48;
const LONG_STEP = 240;

/** Milliseconds after which the map of a live session is asked for again. */
const PAUSE = 1000;

export class MapPanel {
  /** @param {Connection} connection @param {HTMLElement} element */
  constructor(connection, element) {
    this.connection = connection;
    /** @type {MapState | null} */
    this.state = null;
    /** All that has come of a map, which pushes add to. @type {MapState | null} */
    this.received = null;
    /** @type {Wanted} */
    this.wanted = { row: null, session: null };
    /** The number of the dimension that a person has chosen; `null` for that of the player. @type {number | null} */
    this.chosen = null;
    /** The middle of what is shown. @type {Point} */
    this.centre = { x: 0, z: 0 };
    this.zoom = SCALES.indexOf(2);
    /** `true` while the middle stays where the player is. */
    this.follows = true;
    /** @type {Map<string, Tile>} */
    this.tiles = new Map();
    /** The tiles for whose answer the page waits. @type {Set<string>} */
    this.asked = new Set();
    this.turn = 0;
    /** `true` while the push has not come that was asked for. */
    this.busy = false;
    this.stale = false;
    /** @type {Point | null} */
    this.pointed = null;
    this.pointing = false;
    this.dimension = make("select", { id: "map-dimension", onchange: () => this.choose() });
    this.where = make("p", { id: "map-where" });
    this.under = make("p", { id: "map-under", role: "status" });
    this.canvas = make("canvas", { id: "map-canvas", "aria-hidden": "true" });
    this.frame = make("div", { id: "map", role: "group", tabindex: "0", "aria-label": "Map", "aria-describedby": "map-where map-keys" }, this.canvas);
    element.replaceChildren(
      make("div", { class: "bar" },
        make("label", { for: "map-dimension" }, "Dimension"), this.dimension,
        make("button", { type: "button", id: "map-in", onclick: () => this.zoomBy(1) }, "Zoom in"),
        make("button", { type: "button", id: "map-out", onclick: () => this.zoomBy(-1) }, "Zoom out"),
        make("button", { type: "button", id: "map-player", onclick: () => this.goBack() }, "To the player"),
        make("span", { id: "map-keys" }, "Drag or ← ↑ → ↓ to move, wheel or + − to zoom, 0 to the player")),
      this.where, this.frame, this.under);
    this.frame.addEventListener("keydown", (event) => this.press(event));
    this.frame.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    /** Where the button went down, and the middle at that time. @type {{ x: number, y: number, centre: Point } | null} */
    this.dragged = null;
    this.frame.addEventListener("pointerdown", (event) => {
      this.dragged = { x: event.clientX, y: event.clientY, centre: this.centre };
      this.frame.setPointerCapture(event.pointerId);
    });
    this.frame.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel"]) this.frame.addEventListener(name, () => (this.dragged = null));
    this.frame.addEventListener("pointerleave", () => this.point(null));
    new ResizeObserver(() => this.draw()).observe(this.frame);
  }

  get scale() {
    return SCALES[this.zoom] ?? 1;
  }

  /** Asks for the map as of the selected packet; as of now while the list follows, or if another session is selected. @param {import("./packets.js").Packets} packets @param {number} selected the session, if it is positive */
  askFor({ follow, selected: row, current }, selected) {
    const session = selected > 0 ? selected : null;
    const other = session !== null && current !== undefined && current.session !== session;
    return this.ask({ row: follow || other ? null : row, session });
  }

  /** Asks for the map as of a packet, or as of now. @param {Wanted} wanted */
  async ask(wanted) {
    if (wanted.row !== this.wanted.row || wanted.session !== this.wanted.session) {
      this.wanted = wanted;
      [this.follows, this.chosen] = [true, null];
    }
    if (this.busy) {
      this.stale = true;
      return;
    }
    [this.busy, this.stale] = [true, false];
    try {
      const { error } = await this.connection.ask("map", this.wanted);
      if (error) this.where.textContent = error.message;
      if (error) this.busy = false;
    } catch (lost) {
      this.busy = false;
      throw lost;
    }
  }

  /** More has come while the map is live: asks again, but not all the time. */
  refresh() {
    if (this.busy || this.timer || this.wanted.row !== null) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      unlessLost(this.ask(this.wanted));
    }, PAUSE);
  }

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer;

  /** Forgets everything: a new connection has numbers of its own for dimensions. */
  forget() {
    this.busy = false;
    for (const tile of this.tiles.values()) tile.image?.close();
    this.tiles.clear();
    this.asked.clear();
    [this.state, this.received] = [null, null];
  }

  /** @param {MapState} state */
  take(state) {
    const { row, session } = this.wanted;
    // What a push leaves out is in the push before it, wanted or not.
    this.received = state.whole || !this.received ? state : merged(this.received, state);
    // Another packet or session was selected meanwhile.
    const late = state.row !== row || (row === null && session !== null && state.session !== session);
    if (state.complete || late) this.busy = false;
    if (late) {
      if (this.stale) unlessLost(this.ask(this.wanted));
      return;
    }
    const moved = this.state?.row !== state.row;
    this.state = this.received;
    patch(this.dimension, ...state.dimensions.map((it) => make("option", { value: it.number, "data-key": it.number }, it.name)));
    const shown = this.shown();
    if (shown) this.dimension.value = String(shown.number);
    if (this.follows) this.toPlace();
    this.describe();
    this.draw();
    if (moved && this.pointed) {
      // The block there may be another one.
      this.pointed = { ...this.pointed };
      unlessLost(this.look());
    }
    if (this.stale) unlessLost(this.ask(this.wanted));
  }

  /** The dimension that is shown. @returns {MapDimension | undefined} */
  shown() {
    const all = this.state?.dimensions ?? [];
    const number = this.chosen ?? this.state?.player?.dimension;
    return all.find((it) => it.number === number) ?? all[0];
  }

  choose() {
    this.chosen = Number(this.dimension.value);
    this.follows = true;
    this.toPlace();
    this.describe();
    this.draw();
  }

  /** Moves the middle to the place of the packet, of the player, or of the chunk that came last. */
  toPlace() {
    const shown = this.shown();
    if (!shown || !this.state) return;
    const [tile] = shown.tiles;
    const place = [this.state.packet, this.state.player].find((it) => it?.dimension === shown.number);
    if (place) this.centre = { x: place.x + 0.5, z: place.z + 0.5 };
    else if (tile) this.centre = { x: (tile[0] + 0.5) * TILE, z: (tile[1] + 0.5) * TILE };
  }

  goBack() {
    [this.follows, this.chosen] = [true, null];
    this.toPlace();
    this.draw();
  }

  /** Says in words what the picture shows. */
  describe() {
    const { state } = this;
    const shown = this.shown();
    if (!state || !shown) {
      this.where.textContent = state?.complete === false ? "Looking for chunks…" : "No chunks were sent: a map of the world would be here.";
      return;
    }
    const name = (/** @type {MapPlace} */ { dimension }) => state.dimensions.find((it) => it.number === dimension)?.name ?? "another dimension";
    const place = (/** @type {MapPlace} */ it) => `x ${it.x}, ${it.y === null ? "" : `y ${it.y}, `}z ${it.z} in ${name(it)}`;
    const text = [
      `${plural(shown.chunks, "chunk")} of ${shown.name} in session ${state.session}, ${state.row === null ? "as of now" : "as of the selected packet"}.`,
      state.player ? `● The player is at ${place(state.player)}.` : "",
      state.packet ? `◆ The packet is about ${place(state.packet)}.` : "",
      state.left_out ? `${plural(state.left_out, "packet")} left out: too many.` : "",
      state.complete ? "" : "Looking for more…",
    ];
    this.where.textContent = text.filter(Boolean).join(" ");
  }

  /** The block at a place of the frame. @param {number} x @param {number} y @returns {Point} */
  at(x, y) {
    const { width, height } = this.size;
    return { x: Math.floor(this.centre.x + (x - width / 2) / this.scale), z: Math.floor(this.centre.z + (y - height / 2) / this.scale) };
  }

  get size() {
    return { width: this.frame.clientWidth, height: this.frame.clientHeight };
  }

  /** @param {number} steps @param {{ x: number, y: number }} [around] a place of the frame that stays where it is */
  zoomBy(steps, around) {
    const before = this.scale;
    this.zoom = Math.min(Math.max(0, this.zoom + steps), SCALES.length - 1);
    if (around) {
      const part = 1 / before - 1 / this.scale;
      const { width, height } = this.size;
      this.centre = { x: this.centre.x + (around.x - width / 2) * part, z: this.centre.z + (around.y - height / 2) * part };
      this.follows = false;
    }
    this.draw();
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? 1 : -1, this.place(event));
  }

  /** The place of an event in the frame. @param {MouseEvent} event */
  place(event) {
    const box = this.frame.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (this.dragged) {
      const { x, y, centre } = this.dragged;
      this.follows = false;
      this.centre = { x: centre.x - (event.clientX - x) / this.scale, z: centre.z - (event.clientY - y) / this.scale };
      this.draw();
    }
    const { x, y } = this.place(event);
    this.point(this.at(x, y));
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = (event.shiftKey ? LONG_STEP : STEP) / this.scale;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] };
    const [x, z] = moves[/** @type {keyof typeof moves} */ (event.key)] ?? [];
    if (x !== undefined && z !== undefined) {
      this.follows = false;
      this.centre = { x: this.centre.x + x, z: this.centre.z + z };
      this.draw();
    } else if (event.key === "+" || event.key === "=") {
      this.zoomBy(1);
    } else if (event.key === "-") {
      this.zoomBy(-1);
    } else if (event.key === "0") {
      this.goBack();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
    this.point({ x: Math.floor(this.centre.x), z: Math.floor(this.centre.z) });
  }

  /** Says which block is at a place: one answer at a time, that for the last place. @param {Point | null} point */
  point(point) {
    if (point?.x === this.pointed?.x && point?.z === this.pointed?.z) return;
    this.pointed = point;
    if (!point) this.under.textContent = "";
    else unlessLost(this.look());
  }

  async look() {
    if (this.pointing) return;
    this.pointing = true;
    try {
      for (let asked = null; this.pointed && this.pointed !== asked;) {
        const shown = this.shown();
        if (!shown) return;
        asked = this.pointed;
        const { y = null, name = null } = await this.connection.ask("map_block", { dimension: shown.number, x: asked.x, z: asked.z, row: this.state?.row });
        if (this.pointed) this.under.textContent = `x ${asked.x}, z ${asked.z}: ${name === null ? "nothing known" : `${name} at y ${y}`}`;
      }
    } finally {
      this.pointing = false;
    }
  }

  /** The tiles that can be seen, those in the middle first. @returns {[number, number, number][]} */
  visible() {
    const { width, height } = this.size;
    const span = { x: width / 2 / this.scale, z: height / 2 / this.scale };
    const away = (/** @type {number} */ tile, /** @type {number} */ centre) => Math.abs((tile + 0.5) * TILE - centre);
    const distance = (/** @type {[number, number, number]} */ [x, z]) => Math.hypot(away(x, this.centre.x), away(z, this.centre.z));
    const seen = (this.shown()?.tiles ?? []).filter(([x, z]) => away(x, this.centre.x) < span.x + TILE / 2 && away(z, this.centre.z) < span.z + TILE / 2);
    return seen.sort((one, other) => distance(one) - distance(other)).slice(0, MOST_TILES);
  }

  /** Asks for tiles that can be seen, and are not there or have changed. @param {[number, number, number][]} visible */
  fetch(visible) {
    const shown = this.shown();
    const row = this.state?.row ?? null;
    if (!shown) return;
    for (const [x, z, version] of visible) {
      if (this.asked.size >= MOST_ASKED) return;
      const key = `${shown.number}:${x},${z}`;
      const tile = this.tiles.get(key);
      if (this.asked.has(key) || (tile && tile.version === version && this.fits(tile, version))) continue;
      this.asked.add(key);
      unlessLost(this.fetchTile(key, shown.number, x, z, row, version));
    }
  }

  /** Returns `true` if a tile can be shown now: as of now, an earlier one until the next comes; what was drawn as of now may be newer than its version says. @param {Tile} tile @param {number} version the one that is wanted */
  fits(tile, version) {
    const row = this.state?.row ?? null;
    return tile.row === row || (tile.row !== null && row !== null && tile.version === version);
  }

  /** @param {string} key @param {number} dimension @param {number} x @param {number} z @param {number | null} row @param {number} version */
  async fetchTile(key, dimension, x, z, row, version) {
    let image = null;
    try {
      const { png = null } = await this.connection.ask("map_tile", { dimension, x, z, row });
      image = png === null ? null : await createImageBitmap(new Blob([Uint8Array.from(atob(png), (it) => it.charCodeAt(0))], { type: "image/png" }));
    } finally {
      this.asked.delete(key);
    }
    this.tiles.get(key)?.image?.close();
    this.tiles.set(key, { row, version, image, used: this.turn });
    this.draw();
  }

  /** Forgets the tiles that were not drawn for the longest time. */
  tidy() {
    if (this.tiles.size <= MOST_TILES) return;
    const oldest = [...this.tiles].sort(([, one], [, other]) => one.used - other.used);
    for (const [key, tile] of oldest.slice(0, this.tiles.size - MOST_TILES)) {
      tile.image?.close();
      this.tiles.delete(key);
    }
  }

  draw() {
    const { canvas, scale } = this;
    const { width, height } = this.size;
    const context = canvas.getContext("2d");
    const shown = this.shown();
    if (!context || !width) return;
    const pixels = devicePixelRatio || 1;
    canvas.width = width * pixels;
    canvas.height = height * pixels;
    context.scale(pixels, pixels);
    context.imageSmoothingEnabled = scale < 1;
    context.clearRect(0, 0, width, height);
    if (!shown) return;
    const left = (/** @type {number} */ x) => (x - this.centre.x) * scale + width / 2;
    const top = (/** @type {number} */ z) => (z - this.centre.z) * scale + height / 2;
    const visible = this.visible();
    this.turn += 1;
    for (const [x, z, version] of visible) {
      const tile = this.tiles.get(`${shown.number}:${x},${z}`);
      if (!tile || !this.fits(tile, version)) continue;
      tile.used = this.turn;
      // Whole pixels, so that no line is between tiles.
      const [from, to] = [[left(x * TILE), top(z * TILE)], [left((x + 1) * TILE), top((z + 1) * TILE)]].map((it) => it.map(Math.round));
      if (tile.image && from && to) context.drawImage(tile.image, from[0] ?? 0, from[1] ?? 0, (to[0] ?? 0) - (from[0] ?? 0), (to[1] ?? 0) - (from[1] ?? 0));
    }
    context.lineJoin = "round";
    for (const [color, thick] of /** @type {[string, number][]} */ ([["#ffffff", 4], ["#d4006a", 2]])) {
      context.strokeStyle = color;
      context.lineWidth = thick;
      for (const line of shown.path ?? []) {
        context.beginPath();
        for (const [x, z] of line) context.lineTo(left(x + 0.5), top(z + 0.5));
        context.stroke();
      }
    }
    const { player = null, packet = null } = this.state ?? {};
    if (player?.dimension === shown.number) mark(context, left(player.x + 0.5), top(player.z + 0.5), "#d4006a", 24);
    if (packet?.dimension === shown.number) mark(context, left(packet.x + 0.5), top(packet.z + 0.5), "#0b5cad", 4);
    this.fetch(visible);
    this.tidy();
  }
}

/** A map with what has changed since. @param {MapState} last @param {MapState} changed @returns {MapState} */
export function merged(last, changed) {
  const dimensions = changed.dimensions.map((now) => {
    const before = last.dimensions.find((it) => it.number === now.number);
    if (!before) return now;
    const known = new Set(now.tiles.map(([x, z]) => `${x},${z}`));
    return { ...now, tiles: [...now.tiles, ...before.tiles.filter(([x, z]) => !known.has(`${x},${z}`))], path: now.path ?? before.path };
  });
  return { ...changed, dimensions };
}

/** Draws a place: with 4 corners a diamond, with many a disc. @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {string} color @param {number} corners */
function mark(context, x, y, color, corners) {
  context.beginPath();
  for (let at = 0; at < corners; at++) {
    const angle = (at / corners) * 2 * Math.PI;
    context.lineTo(x + 7 * Math.cos(angle), y + 7 * Math.sin(angle));
  }
  context.closePath();
  context.fillStyle = color;
  context.strokeStyle = "#ffffff";
  context.lineWidth = 2;
  context.fill();
  context.stroke();
}
