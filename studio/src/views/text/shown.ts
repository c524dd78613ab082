/** The values that the text is coloured by, and the choices there are. */

import { useRef } from "preact/hooks";
import type { Labels, Layer, Num, Ranks, TextRead, Unit } from "../../answers";
import { frozen, offers, useAnswer } from "../../ask";
import { short } from "../../charts/scale";
import { choices, held } from "../held";
import { type Scale, range, scaleOf } from "./colouring";
import type { Mode, Reading, TextState } from "./state";

export interface Shown {
  values: Num[] | null;
  scale: Scale;
  name: string;
  note: string;
  error: string | null;
  waiting: boolean;
}

interface UnitPlace extends Reading {
  layer: number;
  line: string;
  unit: number;
}

/** The link's choices, mended where this text does not have them. */
export interface Choice {
  mode: Mode;
  modes: Mode[];
  layers: { value: number; title: string }[];
  layer: number;
  lines: { name: string; size: number }[];
  line: string;
  units: number[] | null; // null: any below the line's size
  unit: number;
  properties: [string, string][];
  property: string;
}

export function choiceOf(state: TextState, read: TextRead | null): Choice {
  const { link } = state;
  const stored = offers<UnitPlace>("unit").filter((offer) => same(offer, state));
  const all: Layer[] = read?.layers ?? [];
  const layers = all
    .map(({ title }, value) => ({ value, title }))
    .filter(({ value }) => !frozen || stored.some((offer) => offer.layer === value));
  const layer = (layers.find(({ value }) => value === link.layer) ?? layers[0])?.value ?? 0;
  const ofLayer = stored.filter((offer) => offer.layer === layer);
  const lines = (all[layer]?.lines ?? []).filter(
    ({ name }) => !frozen || ofLayer.some(({ line }) => line === name),
  );
  const line =
    (
      lines.find(({ name }) => name === link.line) ??
      lines.find(({ name }) => name === (ofLayer[0]?.line ?? "h")) ?? // in a report: the unit that stands out most
      lines[0]
    )?.name ?? "";
  const units = frozen ? choices(ofLayer.filter((offer) => offer.line === line).map(({ unit }) => unit)) : null;
  const size = lines.find(({ name }) => name === line)?.size ?? 1;
  const unit = units
    ? units.includes(link.unit)
      ? link.unit
      : (ofLayer.find((offer) => offer.line === line)?.unit ?? 0)
    : Math.min(Math.max(link.unit, 0), size - 1);
  const properties = propertiesOf(state);
  const property = (properties.find(([name]) => name === link.property) ?? properties[0])?.[0] ?? "";
  const modes = modesOf(state, read, lines.length > 0, properties.length > 0);
  const mode = modes.find((name) => name === link.by) ?? modes[0] ?? "unit";
  return { mode, modes, layers, layer, lines, line, units, unit, properties, property };
}

function same(offer: Reading, state: Reading): boolean {
  return offer.text === state.text && offer.kind === state.kind;
}

function propertiesOf(state: TextState): [string, string][] {
  const titles = new Map(state.properties.map(({ name, title }) => [name, title]));
  if (!frozen) return [...titles];
  const stored = offers<{ text: string; property: string }>("property").filter(({ text }) => text === state.text);
  return stored.map(({ property }) => [property, titles.get(property) ?? property]);
}

function modesOf(state: TextState, read: TextRead | null, lines: boolean, properties: boolean): Mode[] {
  const { text, kind } = state;
  const modes: Mode[] = lines ? ["unit"] : [];
  if (read?.ranked && held("ranks", { text, kind })) modes.push("rank", "probability", "entropy");
  if (properties) modes.push("property");
  return modes;
}

/** What is shown: until an answer is there it is the last one, under its own name. */
export function useShown(state: TextState, read: TextRead | null, choice: Choice): Shown {
  const now = useAsked(state, read, choice);
  const last = useRef<Shown | null>(null);
  if (!now.waiting) last.current = now;
  return now.waiting && last.current ? { ...last.current, waiting: true } : now;
}

function useAsked(state: TextState, read: TextRead | null, choice: Choice): Shown {
  const { text, kind } = state;
  const { mode, layer, line, unit, property } = choice;
  const ready = read !== null && text !== "";
  const ofUnit = ready && mode === "unit" && line !== "" ? { text, kind, layer, line, unit } : null;
  const ofText = ready && ["rank", "probability", "entropy"].includes(mode) ? { text, kind } : null;
  const values = useAnswer<Unit>("unit", held("unit", ofUnit));
  const ranks = useAnswer<Ranks>("ranks", held("ranks", ofText));
  const labels = useAnswer<Labels>(
    "property",
    held("property", ready && mode === "property" ? { text, property } : null),
  );
  const asked = mode === "unit" ? values : mode === "property" ? labels : ranks;
  const bits = ofText && ranks.answer ? `${short(ranks.answer.bits, 3)} bits a symbol on average` : "";
  const status = { error: asked.error, waiting: asked.waiting, note: bits };
  if (mode === "unit") {
    const { low, high } = values.answer ?? { low: 0, high: 1 };
    return {
      ...status,
      values: values.answer?.values ?? null,
      scale: scaleOf(low, high),
      name: `${line}, unit ${unit}`,
      note: line.startsWith("dL/d") ? "L is −log p of the text, or of the model's own answer" : "",
    };
  }
  if (mode === "property") {
    const found = labels.answer?.values ?? null;
    const [low, high] = range(found ?? []);
    return {
      ...status,
      values: found,
      scale: scaleOf(Math.min(low, 0), Math.max(high, 1)),
      name: labels.answer?.title ?? property,
    };
  }
  return { ...status, ...ofRanks(ranks.answer, mode) };
}

function ofRanks(ranks: Ranks | null, mode: Mode): { values: Num[] | null; scale: Scale; name: string } {
  if (mode === "rank") return { values: ranks?.rank ?? null, scale: { kind: "ranks" }, name: "rank" };
  if (mode === "probability") {
    return {
      values: ranks?.probability ?? null,
      scale: { kind: "sequential", low: 0, high: 1 },
      name: "probability",
    };
  }
  const high = Math.max(range(ranks?.entropy ?? [])[1], 1e-9);
  return { values: ranks?.entropy ?? null, scale: { kind: "sequential", low: 0, high }, name: "entropy in bits" };
}

/** The line whose states are looked at: of a gradient, what it is the gradient of. */
export function stateLine(line: string): string {
  return line.replace(/^dL\/d/, "");
}
