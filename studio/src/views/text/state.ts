/** What the Text view shows, as the link has it, and the text that may be too long for a link. */

import { useState } from "preact/hooks";
import type { FoundUnit, Run, Units } from "../../answers";
import { frozen, offers, useAnswer } from "../../ask";
import { useLink } from "../../link";
import { held } from "../held";

export const LONGEST = 200_000; // characters that the view reads
export const LINKED = 2_000; // characters that a link carries

export interface Reading {
  text: string;
  kind: string;
}

export type Mode = "unit" | "rank" | "probability" | "entropy" | "property";

const DEFAULTS = {
  of: "typed", // typed, long (kept out of the link) or excerpt
  text: "",
  pick: 0, // in a report: which of its texts
  kind: "",
  by: "unit",
  layer: 0,
  line: "",
  unit: 0,
  property: "",
  at: 0,
  search: false,
};
export type TextLink = typeof DEFAULTS;

/** What a model must be told about a text: a class, or a translator's tag. */
export function kindsOf(run: Run): { value: string; label: string }[] {
  const named = (names: string[]) => names.map((name) => ({ value: name, label: name }));
  return named(run.classes.length > 0 ? run.classes : run.tags);
}

/** Kept while the page is open, so that going to another view does not lose it. */
let longText: string | null = null;

export function useTextState(run: Run) {
  const [link, change] = useLink({ ...DEFAULTS, text: run.examples[0] ?? "", kind: kindsOf(run)[0]?.value ?? "" });
  const [, again] = useState(0);
  const search = useAnswer<Units>(
    "units",
    held("units", frozen || link.search || link.of === "excerpt" ? {} : null),
  );
  const texts = offers<Reading>("text");
  const stored = texts[link.pick] ?? texts[0] ?? null;
  const typed = link.of === "long" ? longText : link.of === "excerpt" ? (search.answer?.excerpt ?? "") : link.text;
  const setText = (text: string) => {
    longText = text;
    change(
      text.length > LINKED ? { of: "long", text: run.examples[0] ?? "", at: 0 } : { of: "typed", text, at: 0 },
    );
    again((count) => count + 1);
  };
  const setUnit = (unit: FoundUnit) => {
    const where = { by: "unit", layer: unit.layer, line: unit.line, unit: unit.unit, at: 0 };
    const pick = texts.findIndex(({ text }) => text === search.answer?.excerpt);
    if (!frozen) change({ ...where, of: "excerpt", text: run.examples[0] ?? "" });
    else change(pick < 0 ? where : { ...where, pick });
  };
  return {
    link,
    change,
    search,
    properties: run.properties,
    text: frozen ? (stored?.text ?? "") : (typed ?? ""),
    kind: frozen ? (stored?.kind ?? "") : link.kind,
    lost: !frozen && typed === null, // the link came without its long text
    setText,
    setUnit,
  };
}

export type TextState = ReturnType<typeof useTextState>;
