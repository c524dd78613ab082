/** Light or dark: as the system has it, or as the reader chose. */

import { useEffect, useState } from "preact/hooks";

export type Theme = "auto" | "light" | "dark";

const KEY = "unspool-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let chosen: Theme = remembered();

function remembered(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto"; // a page from a file may have no storage
  }
}

function apply(): void {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  for (const listener of [...listeners]) listener();
}

apply();
system.addEventListener("change", apply);

export function setTheme(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Then the choice lasts as long as the page.
  }
  apply();
}

export function theme(): Theme {
  return chosen;
}

export function isDark(): boolean {
  return chosen === "auto" ? system.matches : chosen === "dark";
}

/** Whether it is dark; what is painted with colours that CSS cannot change draws again by it. */
export function useDark(): boolean {
  const [dark, setDark] = useState(isDark);
  useEffect(() => {
    const listener = () => setDark(isDark());
    listeners.add(listener);
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return dark;
}
