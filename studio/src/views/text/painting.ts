/** A text on canvases: the colours on one, the letters on another above it. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Num } from "../../answers";
import { type Face, type Layout, layout, tiles } from "../../charts/glyphs";
import { type Colours, type Rows, css, groundImage, paintChips } from "../../charts/glyphs/grounds";
import { paintLetters, reach } from "../../charts/glyphs/letters";
import { type Scale, colouring, pageColours } from "./colouring";

const FONT = '14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
const TALLEST = 4000; // css pixels of one canvas
const MOST_PIXELS = 6e7; // of all canvases together: a long text is painted less sharply instead

interface Painted {
  symbols: string[];
  marks: string[];
  values: Num[] | null;
  scale: Scale;
}

type Sheet = { current: HTMLDivElement | null };

/** Paints, and gives the layout that is painted. */
export function usePainting(
  sheet: Sheet,
  { symbols, marks, values, scale }: Painted,
  width: number,
  dark: boolean,
): Layout | null {
  const face = useMemo(measuredFace, []);
  const [place, setPlace] = useState<Layout | null>(null);
  const last = useRef<unknown[]>([]);
  const kept = useRef<Layout | null>(null);
  useEffect(() => {
    if (width < 40 || !sheet.current) return;
    const start = performance.now();
    const wanted = [symbols, marks, width, dark];
    if (kept.current === null || wanted.some((each, k) => each !== last.current[k])) {
      kept.current = layout(symbols, width, face, marks);
      last.current = wanted;
      lettersOnto(sheet.current, kept.current, symbols, marks, dark);
      setPlace(kept.current);
    }
    const known = values?.length === symbols.length ? values : symbols.map(() => null);
    groundsOnto(sheet.current, kept.current, colouring(known, scale, dark));
    afterFrame(() => {
      performance.measure("colour text", { start, end: performance.now(), detail: { symbols: symbols.length } });
    });
  }, [symbols, marks, values, JSON.stringify(scale), width, dark]);
  return place;
}

/** Two canvases for each piece of the text, the letters above the colours. */
function pieces(
  sheet: HTMLDivElement,
  place: Layout,
): { rows: Rows; ground: HTMLCanvasElement; letters: HTMLCanvasElement }[] {
  const all = tiles(place, TALLEST);
  while (sheet.children.length > all.length) sheet.lastChild?.remove();
  while (sheet.children.length < all.length) {
    const tile = document.createElement("div");
    tile.append(document.createElement("canvas"), document.createElement("canvas"));
    sheet.append(tile);
  }
  return all.map((rows, k) => {
    const tile = sheet.children[k] as HTMLDivElement;
    tile.style.height = `${(rows.last - rows.first) * place.rowHeight}px`;
    const [ground, letters] = [...tile.children] as [HTMLCanvasElement, HTMLCanvasElement];
    return { rows, ground, letters };
  });
}

function lettersOnto(
  sheet: HTMLDivElement,
  place: Layout,
  symbols: string[],
  marks: string[],
  dark: boolean,
): void {
  const { ink, faint } = pageColours(dark);
  const texts = { symbols, marks, font: FONT, ink: css(ink), faint: css(faint) };
  for (const { rows, letters } of pieces(sheet, place)) {
    const context = sized(letters, reach(place, rows), rows, place);
    context?.clearRect(0, 0, place.width, letters.height);
    if (context) paintLetters(context, place, texts, rows);
  }
}

function groundsOnto(sheet: HTMLDivElement, place: Layout, colours: Colours): void {
  for (const { rows, ground } of pieces(sheet, place)) {
    if (place.chips) {
      const context = sized(ground, place.width, rows, place);
      if (context) paintChips(context, place, colours, rows);
      continue;
    }
    const image = groundImage(place, colours, rows);
    [ground.width, ground.height] = [image.width, image.height];
    [ground.style.width, ground.style.height] = [`${image.width * place.cell}px`, `${image.height}px`];
    ground.getContext("2d")?.putImageData(image, 0, 0);
  }
}

/** A context of a canvas of this size in css pixels, as sharp as the screen. */
function sized(
  canvas: HTMLCanvasElement,
  width: number,
  rows: Rows,
  place: Layout,
): CanvasRenderingContext2D | null {
  const height = (rows.last - rows.first) * place.rowHeight;
  const sharpness = Math.min(devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / (place.width * place.height || 1)));
  const [wide, high] = [Math.ceil(width * sharpness), Math.ceil(height * sharpness)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  const context = canvas.getContext("2d");
  context?.setTransform(sharpness, 0, 0, sharpness, 0, 0);
  return context;
}

function measuredFace(): Face {
  const context = document.createElement("canvas").getContext("2d");
  const widths = new Map<string, number>();
  if (context) context.font = FONT;
  const measure = (text: string) => {
    let width = widths.get(text);
    if (width === undefined) {
      width = context ? context.measureText(text).width : 8 * text.length;
      widths.set(text, width);
    }
    return width;
  };
  return { font: FONT, rowHeight: 22, advance: measure("0".repeat(100)) / 100, measure };
}

/** After the frame that shows what was painted: only then is the work done. */
function afterFrame(then: () => void): void {
  requestAnimationFrame(() => setTimeout(then));
}
