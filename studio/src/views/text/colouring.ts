/** From values to colours of a text: few, so that each is painted once, and pale, to read on. */

import type { Num } from "../../answers";
import { type Colours, type Rgb, css } from "../../charts/glyphs/grounds";

export type Scale =
  | { kind: "diverging"; most: number } // values on both sides of zero
  | { kind: "sequential"; low: number; high: number }
  | { kind: "ranks" };

// The stylesheet's --ink, --faint, --paper, --line-0 and --line-1: a canvas cannot read those.
const LIGHT = page("#1f2328", "#59636e", "#ffffff", "#0a5fb4", "#c4580a");
const DARK = page("#e4e7eb", "#9ba5b0", "#15181c", "#6cb6ff", "#ff9f5a");

function page(ink: string, faint: string, paper: string, above: string, below: string) {
  return { ink: rgb(ink), faint: rgb(faint), paper: rgb(paper), above: rgb(above), below: rgb(below) };
}

function rgb(hex: string): Rgb {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

export function pageColours(dark: boolean) {
  return dark ? DARK : LIGHT;
}

/** The steps of Gehrmann et al. 2019: how many the model held for likelier. */
export const RANKS = [
  { within: 10, name: "top 10", letter: "a", light: "#b9e6c3", dark: "#1d5a38", bar: 0 },
  { within: 100, name: "top 100", letter: "b", light: "#fbe48a", dark: "#6a5a0c", bar: 1 },
  { within: 1000, name: "top 1000", letter: "c", light: "#ffb4a6", dark: "#80342c", bar: 2 },
  { within: Infinity, name: "beyond", letter: "d", light: "#d8bbff", dark: "#5d3f95", bar: 4 },
] as const;

const LEVELS = 24; // a side: the eye tells no more apart
const STRONGEST = 0.62; // of a colour over the paper: the text must stay readable

export function rankClass(rank: number): number {
  return RANKS.findIndex((step) => rank <= step.within);
}

/** Where a value stands: -1 to 1, or 0 to 1. */
export function strength(value: Num, scale: Scale): number {
  if (value === null || scale.kind === "ranks") return 0;
  if (scale.kind === "diverging") return clamp(value / (scale.most || 1), -1, 1);
  return clamp((value - scale.low) / (scale.high - scale.low || 1), 0, 1);
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}

/** The css colour of a strength between -1 and 1. */
export function tone(t: number, dark: boolean): string {
  return css(over(t, dark));
}

function over(t: number, dark: boolean): Rgb {
  const { paper, above, below } = pageColours(dark);
  const hue = t < 0 ? below : above;
  const at = (k: 0 | 1 | 2) => Math.round(paper[k] + (hue[k] - paper[k]) * STRONGEST * Math.abs(t));
  return [at(0), at(1), at(2)];
}

export function colouring(values: Num[], scale: Scale, dark: boolean): Colours {
  const { ink, paper } = pageColours(dark);
  const bucket = new Int16Array(values.length);
  if (scale.kind === "ranks") {
    values.forEach((rank, i) => (bucket[i] = rank === null ? -1 : rankClass(rank)));
    const fills = RANKS.map((step) => rgb(dark ? step.dark : step.light));
    return { bucket, fills, bars: RANKS.map((step) => step.bar), ink, paper };
  }
  values.forEach((value, i) => {
    const level = Math.round(strength(value, scale) * LEVELS);
    bucket[i] = level === 0 ? -1 : level + LEVELS;
  });
  const fills = Array.from({ length: 2 * LEVELS + 1 }, (_, k) => over((k - LEVELS) / LEVELS, dark));
  return { bucket, fills, bars: [], ink, paper };
}

/** The scale of one line's values: two-sided where they go below zero. */
export function scaleOf(low: number, high: number): Scale {
  if (low < 0) return { kind: "diverging", most: Math.max(-low, high) };
  return { kind: "sequential", low, high };
}

export function range(values: Num[]): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}
