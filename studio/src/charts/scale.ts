/** Colours and numbers as charts show them. */

import { isDark } from "../theme";

type Rgb = readonly [number, number, number];

// The same colours as the stylesheet's --floor, --line-0 and so on: canvases cannot read those.
const LIGHT = { floor: hex("#f1f3f6"), ink: "#1f2328", paper: "#ffffff", up: hex("#0a4f9e"), down: hex("#b84a00") };
const DARK = { floor: hex("#20252b"), ink: "#e4e7eb", paper: "#15181c", up: hex("#6cb6ff"), down: hex("#ff9f5a") };

/** Strokes that tell lines apart where colours do not; as many as share no factor with the colours. */
export const DASHES = ["", "7 4", "2 3", "10 3 2 3", "14 4"];
export const COLOURS = 6;

function hex(text: string): Rgb {
  const number = parseInt(text.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

function mix(from: Rgb, to: Rgb, share: number): string {
  const at = (i: 0 | 1 | 2) => Math.round(from[i] + (to[i] - from[i]) * share);
  return `rgb(${at(0)},${at(1)},${at(2)})`;
}

/** A colour for 0 (the floor) to 1. */
export function sequential(t: number, dark: boolean = isDark()): string {
  const colours = dark ? DARK : LIGHT;
  return mix(colours.floor, colours.up, Math.min(1, Math.max(0, t)));
}

/** A colour for -1 (orange) over 0 (the floor) to 1 (blue). */
export function diverging(t: number, dark: boolean = isDark()): string {
  const colours = dark ? DARK : LIGHT;
  return mix(colours.floor, t < 0 ? colours.down : colours.up, Math.min(1, Math.abs(t)));
}

/** The colour of text that stands on either ramp at t. */
export function inkOn(t: number, dark: boolean = isDark()): string {
  const colours = dark ? DARK : LIGHT;
  return Math.abs(t) > 0.5 ? colours.paper : colours.ink;
}

/** A number to read: whole ones in full, others to so many digits that count. */
export function short(value: number | null, digits = 4): string {
  if (value === null || !Number.isFinite(value)) return "not finite";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return minus(String(value));
  if (size >= 1e-4 && size < 1e7) {
    return minus(plain(value, Math.max(0, digits - 1 - Math.floor(Math.log10(size)))));
  }
  const [mantissa = "0", exponent = "0"] = value.toExponential(digits - 1).split("e");
  return minus(`${plain(Number(mantissa), digits - 1)}e${Number(exponent)}`);
}

function plain(value: number, decimals: number): string {
  const text = value.toFixed(Math.min(100, decimals));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function minus(text: string): string {
  return text === "-0" ? "0" : text.replaceAll("-", "\u2212");
}
