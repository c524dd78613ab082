/** The colours behind the symbols of a text. */

import { CHIP_PAD, type Layout } from "../glyphs";

export type Rgb = readonly [number, number, number];

/** A colour for each symbol, out of few. */
export interface Colours {
  bucket: Int16Array; // of each symbol; -1: none
  fills: Rgb[]; // of each bucket
  bars: number[]; // the thickness of a line below, so that colour does not speak alone
  ink: Rgb;
  paper: Rgb;
}

export interface Rows {
  first: number;
  last: number;
}

/** Between the rows a line of paper, so that colours of different rows do not run together. */
const BETWEEN = 1;
export const CHIP_BELOW = 5;

/** Behind characters: an image one pixel wide for each cell, for the browser to stretch. */
export function groundImage(place: Layout, colours: Colours, rows: Rows): ImageData {
  const cells = Math.max(1, Math.ceil(place.width / place.cell));
  const tall = place.rowHeight;
  const image = new ImageData(cells, Math.max(1, (rows.last - rows.first) * tall));
  const pixels = new Uint32Array(image.data.buffer);
  const [paper, ink] = [packed(colours.paper), packed(colours.ink)];
  const fills = colours.fills.map(packed);
  const [line, bars] = [new Uint32Array(cells), new Uint8Array(cells)];
  pixels.fill(paper);
  for (let row = rows.first; row < rows.last; row++) {
    const thickest = fillRow(place, colours, row, { line, bars, fills, paper });
    let at = (row - rows.first) * tall * cells;
    for (let y = 0; y < tall - BETWEEN; y++, at += cells) {
      pixels.set(line, at);
      const below = tall - BETWEEN - y; // lines from here to the row's foot
      if (below > thickest) continue;
      for (let cell = 0; cell < cells; cell++) if (bars[cell]! >= below) pixels[at + cell] = ink;
    }
  }
  return image;
}

interface Line {
  line: Uint32Array;
  bars: Uint8Array;
  fills: number[];
  paper: number;
}

/** The colours of one row's cells, and how thick its thickest bar is. */
function fillRow(place: Layout, colours: Colours, row: number, { line, bars, fills, paper }: Line): number {
  line.fill(paper);
  bars.fill(0);
  let thickest = 0;
  for (let i = place.starts[row]!; i < place.starts[row + 1]!; i++) {
    const bucket = colours.bucket[i]!;
    if (bucket < 0) continue;
    const from = Math.round(place.x[i]! / place.cell);
    const to = Math.round((place.x[i]! + place.wide[i]!) / place.cell);
    const bar = colours.bars[bucket] ?? 0;
    line.fill(fills[bucket]!, from, to);
    if (bar === 0) continue;
    bars.fill(bar, from, to);
    thickest = Math.max(thickest, bar);
  }
  return thickest;
}

/** As the bytes of an image lie in memory. */
function packed([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function css([red, green, blue]: Rgb): string {
  return `rgb(${red},${green},${blue})`;
}

/** Behind words: chips of all widths. All of one colour together, because changing it costs. */
export function paintChips(context: CanvasRenderingContext2D, place: Layout, colours: Colours, rows: Rows): void {
  const members: number[][] = colours.fills.map(() => []);
  const [from, to] = [place.starts[rows.first] ?? 0, place.starts[rows.last] ?? 0];
  for (let i = from; i < to; i++) members[colours.bucket[i]!]?.push(i);
  const tall = place.rowHeight - CHIP_BELOW;
  const top = (i: number) => (place.row[i]! - rows.first) * place.rowHeight;
  context.fillStyle = css(colours.paper);
  context.fillRect(0, 0, place.width, (rows.last - rows.first) * place.rowHeight);
  members.forEach((indices, bucket) => {
    context.fillStyle = css(colours.fills[bucket]!);
    for (const i of indices) context.fillRect(place.x[i]!, top(i), place.wide[i]!, tall);
    const bar = colours.bars[bucket] ?? 0;
    if (bar === 0) return;
    context.fillStyle = css(colours.ink);
    for (const i of indices) {
      context.fillRect(place.x[i]! + CHIP_PAD / 2, top(i) + tall - bar, place.wide[i]! - CHIP_PAD, bar);
    }
  });
}
