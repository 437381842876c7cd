// Dark or light: as the system has it, unless a person has chosen.

export class Theme {
  /** @param {HTMLElement} button @param {() => void} onchange called when a person has chosen */
  constructor(button, onchange) {
    const { classList } = document.documentElement;
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    classList.toggle("dark", (localStorage.getItem("theme") ?? system) === "dark");
    button.addEventListener("click", () => {
      localStorage.setItem("theme", classList.toggle("dark") ? "dark" : "light");
      onchange();
    });
  }
}
