/** The link holds what is shown: `#/<view>?name=value&...`. */

import { useEffect, useReducer, useState } from "preact/hooks";

export type Linked = Record<string, string | number | boolean>;
/** A default of `true` stands for either boolean. */
type Wide<S extends Linked> = { [K in keyof S]: S[K] extends boolean ? boolean : S[K] };

const WRITE = 200; // ms: browsers refuse a link that changes with every pixel of a slider
const STEP = 1000; // ms: changes that follow each other faster are one step of the history

let view = "";
const queries = new Map<string, string>(); // of each view, so that coming back finds it as it was
const listeners = new Set<() => void>();
let timer = 0;
let written = -Infinity;

function read(): void {
  const [path = "", ...query] = location.hash.replace(/^#\/?/, "").split("?");
  view = path;
  queries.set(view, query.join("?"));
}

function address(): string {
  const query = queries.get(view);
  return query ? `#/${view}?${query}` : `#/${view}`;
}

function tell(): void {
  for (const listener of [...listeners]) listener();
}

/** Brings the address bar up to date now. */
export function writeLink(step: "new" | "same" | "auto" = "auto"): void {
  clearTimeout(timer);
  timer = 0;
  if (address() === location.hash) return;
  const fresh = step === "new" || (step === "auto" && performance.now() - written > STEP);
  written = performance.now();
  if (fresh) history.pushState(null, "", address());
  else history.replaceState(null, "", address());
}

function back(): void {
  clearTimeout(timer);
  read();
  tell();
}

read();
addEventListener("popstate", back);
addEventListener("hashchange", () => {
  if (location.hash !== address()) back();
});

function useStore(): void {
  const [, again] = useReducer((count: number, _: void) => count + 1, 0);
  useEffect(() => {
    const listener = () => again();
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
}

/** The view in the link ("" if it names none), and how to go to another one. */
export function useView(): [string, (to: string) => void] {
  useStore();
  return [view, go];
}

export function go(to: string): void {
  writeLink();
  const first = view === "";
  view = to;
  writeLink(first ? "same" : "new"); // the way to the first view is no step to go back to
  tell();
}

/** The state of the current view, typed by its defaults; what equals its default is left out. */
export function useLink<S extends Linked>(defaults: S): [Wide<S>, (change: Partial<Wide<S>>) => void] {
  useStore();
  const [own] = useState(view);
  const change = (to: Partial<Wide<S>>) => {
    const query = new URLSearchParams(queries.get(own));
    for (const [name, value] of Object.entries<Linked[string] | undefined>(to)) {
      if (value === undefined || value === defaults[name]) query.delete(name);
      else query.set(name, spell(value));
    }
    queries.set(own, query.toString());
    if (view === own && timer === 0) timer = window.setTimeout(writeLink, WRITE);
    tell();
  };
  return [restore(defaults, new URLSearchParams(queries.get(own))), change];
}

function spell(value: string | number | boolean): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  return String(value);
}

function restore<S extends Linked>(defaults: S, query: URLSearchParams): Wide<S> {
  const state: Linked = { ...defaults };
  for (const [name, usual] of Object.entries(defaults)) {
    const text = query.get(name);
    if (text === null) continue;
    if (typeof usual === "boolean") state[name] = text === "1";
    else if (typeof usual === "string") state[name] = text;
    else if (text.trim() !== "" && Number.isFinite(Number(text))) state[name] = Number(text);
  }
  return state as Wide<S>;
}
