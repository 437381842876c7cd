// Copies texts.

/** Copies a text. Returns `false` if the browser does not allow that. @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages that do not come from this machine have no clipboard, but a selection can be copied.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    const before = document.activeElement;
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return copied;
  }
}
