// The context menus of packets, fields, held packets and sessions, out of the table of actions.

import { sentence } from "./dom.js";
import { Menu } from "./menu.js";

/** @typedef {import("./protocol.d.ts").ActionInfo} ActionInfo */
/** @typedef {import("./protocol.d.ts").Thing} Thing */

export class ContextMenus {
  /**
   * @param {Record<string, (session?: number) => any>} functions what each action does, by its name
   * @param {(name: string, session?: number) => void} run runs an action, about a session if the menu is that of one
   * @param {HTMLElement} list which is meant when nothing has the focus
   * @param {(name: string) => boolean} can says whether an action has something to act on
   */
  constructor(functions, run, list, can = () => true) {
    this.functions = functions;
    this.run = run;
    this.list = list;
    this.can = can;
    /** The actions that the program has told. @type {ActionInfo[]} */
    this.actions = [];
    this.menu = new Menu();
    /** What the menu was opened for last. @type {Thing | null} */
    this.thing = null;
  }

  /** The lines of the context menu of a thing, by the headings of the table. @param {Thing} thing @param {number} [session] */
  menuOf(thing, session) {
    const here = this.actions.filter((it) => it.on.includes(thing) && this.functions[it.name] && this.can(it.name));
    const groups = [...new Set(here.map((it) => it.group))];
    return groups.map((group) => here.filter((it) => it.group === group)
      .map(({ name, help, names }) => ({ text: sentence(help), keys: names.split(" ")[0], run: () => this.run(name, session) })));
  }

  /** Opens the menu of what is selected where the focus is. */
  openSelected() {
    const at = document.activeElement;
    const chosen = at?.querySelector(".selected, [aria-selected=\"true\"]") ?? (at === document.body ? this.list.querySelector(".selected") : null);
    if (!chosen) return;
    const { left, bottom } = chosen.getBoundingClientRect();
    chosen.dispatchEvent(new MouseEvent("contextmenu", { bubbles: true, cancelable: true, clientX: left + 40, clientY: bottom }));
  }

  /**
   * Shows the menu of a thing where the mouse asks for it.
   * @param {HTMLElement} element what has such things
   * @param {Thing} thing
   * @param {(line: HTMLElement) => string | null} select selects it, and returns its title
   * @param {(line: HTMLElement) => number | undefined} [sessionOf] returns the session that it is, or is of
   */
  offer(element, thing, select, sessionOf = () => undefined) {
    element.addEventListener("contextmenu", (event) => {
      const line = event.target instanceof Element ? event.target.closest(".line:not(.head), li") : null;
      const target = line instanceof HTMLElement && element.contains(line) ? line : null;
      if (!target) return;
      const title = select(target);
      if (title === null) return;
      event.preventDefault();
      const box = target.getBoundingClientRect();
      // The key of the menu has no place of its own.
      const [x, y] = event.clientX || event.clientY ? [event.clientX, event.clientY] : [box.left + 40, box.bottom];
      this.thing = thing;
      this.menu.open(title, this.menuOf(thing, sessionOf(target)), x, y);
    });
  }

  /** Follows the selection: its actions act on what is selected now. @param {Thing} thing @param {string | null} title `null` closes the menu: nothing that it was opened for is left */
  follow(thing, title) {
    if (this.thing !== thing) return;
    if (title === null) this.menu.close(true);
    else this.menu.setTitle(title);
  }
}
