// What survives a reload of the page: in its tab, as long as the same mitmcraft runs; or for good.

export class Memory {
  constructor() {
    /** @type {Record<string, any>} */
    this.values = {};
  }

  /** Begins with what was kept while the same mitmcraft ran. Returns `false` if another one has begun since the page was loaded. @param {string} run which is another one in every run */
  open(run) {
    if (this.values.run !== undefined) return this.values.run === run;
    const kept = read(sessionStorage, "view");
    this.values = kept.run === run ? kept : { run };
    return true;
  }

  /**
   * @template T
   * @param {string} name
   * @param {T} otherwise
   * @returns {T}
   */
  get(name, otherwise) {
    return this.values[name] ?? otherwise;
  }

  /** @param {Record<string, any>} values */
  keep(values) {
    Object.assign(this.values, values);
    sessionStorage.setItem("view", JSON.stringify(this.values));
  }
}

/** Sizes and columns, which every page of this browser has. */
export const settings = {
  /**
   * @template T
   * @param {string} name
   * @param {T} otherwise
   * @returns {T}
   */
  get: (name, otherwise) => read(localStorage, "settings")[name] ?? otherwise,

  /** @param {string} name @param {any} value */
  set(name, value) {
    localStorage.setItem("settings", JSON.stringify({ ...read(localStorage, "settings"), [name]: value }));
  },
};

/** @param {Storage} storage @param {string} name @returns {Record<string, any>} */
function read(storage, name) {
  try {
    const value = JSON.parse(storage.getItem(name) ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    // Another version wrote it.
    return {};
  }
}
