/** The symbols themselves, on a clear ground: painted once, whatever the colours become. */

import { CHIP_PAD, JOINS, type Layout, MARK_HEIGHT, shown } from "../glyphs";
import { CHIP_BELOW, type Rows } from "./grounds";

export interface Texts {
  symbols: string[];
  marks: string[]; // below the symbols; or none
  font: string;
  ink: string;
  faint: string;
}

/** Onto a context whose origin is the corner of the first row. */
export function paintLetters(context: CanvasRenderingContext2D, place: Layout, texts: Texts, rows: Rows): void {
  context.textBaseline = "middle";
  context.fontKerning = "none";
  context.textRendering = "optimizeSpeed"; // and no ligatures, which would span two symbols
  const marked = texts.marks.length > 0 ? MARK_HEIGHT : 0;
  const middle = (place.rowHeight - marked - (place.chips ? CHIP_BELOW : 0)) / 2;
  // One pass for each ink and font: changing them for every row would cost as much as the text.
  const pass = (paint: (row: number, top: number) => void) => {
    for (let row = rows.first; row < rows.last; row++) paint(row, (row - rows.first) * place.rowHeight);
  };
  context.font = texts.font;
  context.fillStyle = texts.ink;
  pass((row, top) => paintRow(context, place, texts, row, top + middle));
  context.fillStyle = texts.faint;
  pass((row, top) => paintEnd(context, place, texts, row, top + middle));
  if (!marked) return;
  context.font = texts.font.replace(/[\d.]+px/, "11px");
  pass((row, top) =>
    paintMarks(context, place, texts, row, top + place.rowHeight - CHIP_BELOW - MARK_HEIGHT / 2 - 1),
  );
}

function paintRow(
  context: CanvasRenderingContext2D,
  place: Layout,
  texts: Texts,
  row: number,
  middle: number,
): void {
  const [start, stop] = [place.starts[row]!, place.starts[row + 1]!];
  const plain = place.plain[row] ?? null;
  if (plain !== null) {
    context.fillText(plain, place.x[start]!, middle);
    return;
  }
  const pad = place.chips ? CHIP_PAD : 0;
  for (let i = start; i < stop; i++) {
    const symbol = texts.symbols[i]!;
    if (symbol === " " || symbol === "\n" || (i > start && JOINS.test(symbol))) continue;
    let text = shown(symbol, place.chips);
    for (let k = i + 1; k < stop && JOINS.test(texts.symbols[k]!); k++) text += texts.symbols[k];
    context.fillText(text, place.x[i]! + pad, middle, Math.max(place.wide[i]! - 2 * pad, 1) + 0.5);
  }
}

/** The newline that ends a row: it has a value too, so it has to be seen. */
function paintEnd(
  context: CanvasRenderingContext2D,
  place: Layout,
  texts: Texts,
  row: number,
  middle: number,
): void {
  const last = place.starts[row + 1]! - 1;
  if (texts.symbols[last] === "\n") context.fillText("↵", place.x[last]! + (place.chips ? CHIP_PAD : 0), middle);
}

function paintMarks(
  context: CanvasRenderingContext2D,
  place: Layout,
  texts: Texts,
  row: number,
  middle: number,
): void {
  for (let i = place.starts[row]!; i < place.starts[row + 1]!; i++) {
    context.fillText(texts.marks[i] ?? "", place.x[i]! + CHIP_PAD, middle, place.wide[i]! - 2 * CHIP_PAD);
  }
}

/** As far to the right as the rows reach: a narrower canvas is sooner painted. */
export function reach(place: Layout, rows: Rows): number {
  let right = 1;
  for (let row = rows.first; row < rows.last; row++) {
    const last = place.starts[row + 1]! - 1;
    right = Math.max(right, place.x[last]! + place.wide[last]!);
  }
  return Math.min(Math.ceil(right) + 1, place.width);
}
