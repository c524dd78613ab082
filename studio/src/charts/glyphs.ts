/**
 * Where the symbols of a text stand when it is painted: a hundred thousand characters would be too
 * many elements.
 *
 * The layout depends on the symbols and the width alone and is kept; a new colouring only paints.
 * Characters stand in the cells of a grid, wide ones in two; words stand side by side as chips.
 */

/** The font, measured: a layout needs no canvas of its own, so it can be tested without one. */
export interface Face {
  font: string;
  rowHeight: number;
  advance: number; // of one ASCII character: the font is monospace
  measure: (text: string) => number;
}

export interface Layout {
  chips: boolean; // words or subwords with gaps between them, not characters
  cell: number; // the width of a character's cell
  width: number;
  height: number;
  rowHeight: number;
  x: Float32Array; // the left edge of each symbol,
  wide: Float32Array; // its width,
  row: Int32Array; // its row
  starts: Int32Array; // the first symbol of each row, and at the end how many there are
  plain: (string | null)[]; // a row of ASCII in one piece; null: paint it symbol by symbol
}

const TAB = 4;
export const CHIP_PAD = 5;
const CHIP_GAP = 4;
export const MARK_HEIGHT = 15;
const PLAIN = /^[\x20-\x7e]*$/;
export const JOINS = /^\p{M}+$/u; // combining marks, drawn with the letter before them

/** Whether the symbols are longer than a character as a rule. */
export function areChips(symbols: string[]): boolean {
  let long = 0;
  for (const symbol of symbols) if (symbol.length > 2) long += 1;
  return long * 5 > symbols.length;
}

/** What is drawn for a symbol: white space that carries a value has to be seen. */
export function shown(symbol: string, chips: boolean): string {
  if (symbol === "\n") return "↵";
  if (chips && symbol.trim() === "" && symbol.length < 9) return symbol.replace(/\n/g, "↵").replace(/[ \t]/g, "␣");
  return symbol.replace(/\r?\n/g, "↵").replace(/[\t\r]/g, " ");
}

export function layout(symbols: string[], width: number, face: Face, marks: string[] = []): Layout {
  const chips = areChips(symbols) || marks.length > 0;
  const place = blank(symbols.length, width, face, chips);
  if (marks.length > 0) place.rowHeight += MARK_HEIGHT;
  if (chips) placeChips(place, symbols, face, marks);
  else placeCharacters(place, symbols, face);
  const starts = [0];
  for (let i = 1; i < symbols.length; i++) if (place.row[i] !== place.row[i - 1]) starts.push(i);
  const rows = starts.length;
  place.starts = Int32Array.from([...starts, symbols.length]);
  place.height = rows * place.rowHeight;
  place.plain = starts.map((start, r) => (chips ? null : plainRow(symbols, start, place.starts[r + 1]!)));
  return place;
}

function blank(count: number, width: number, face: Face, chips: boolean): Layout {
  const rowHeight = face.rowHeight + (chips ? 8 : 0);
  const [x, wide, row] = [new Float32Array(count), new Float32Array(count), new Int32Array(count)];
  return {
    chips,
    cell: face.advance,
    width,
    height: 0,
    rowHeight,
    x,
    wide,
    row,
    starts: new Int32Array([0]),
    plain: [],
  };
}

/** Rows break at a newline, else after the last space that fits, else where the width ends. */
function placeCharacters(place: Layout, symbols: string[], face: Face): void {
  const room = place.width - face.advance; // a newline at the end of a full row is still seen
  let [x, row, rowStart, afterSpace] = [0, 0, 0, -1];
  for (let i = 0; i < symbols.length; i++) {
    const symbol = symbols[i]!;
    const wide = characterWidth(symbol, x, face);
    if (x + wide > room && symbol !== "\n" && i > rowStart) {
      const back = afterSpace > rowStart && afterSpace <= i ? afterSpace : i;
      [x, row, rowStart, afterSpace, i] = [0, row + 1, back, -1, back - 1];
      continue;
    }
    [place.x[i], place.wide[i], place.row[i]] = [x, wide, row];
    x += wide;
    if (symbol === "\n") [x, row, rowStart, afterSpace] = [0, row + 1, i + 1, -1];
    else if (symbol === " " || symbol === "\t") afterSpace = i + 1;
  }
}

function characterWidth(symbol: string, x: number, face: Face): number {
  if (symbol === "\t") {
    const column = Math.round(x / face.advance);
    return (TAB - (column % TAB)) * face.advance;
  }
  if (symbol.length === 1 && symbol < "\x7f") return face.advance;
  if (JOINS.test(symbol)) return 0;
  // A hair too wide for one cell is no reason to take two.
  return Math.max(1, Math.ceil(face.measure(shown(symbol, false)) / face.advance - 0.15)) * face.advance;
}

function placeChips(place: Layout, symbols: string[], face: Face, marks: string[]): void {
  let [x, row] = [0, 0];
  for (let i = 0; i < symbols.length; i++) {
    const symbol = symbols[i]!;
    const text = Math.max(face.measure(shown(symbol, true)), face.measure(marks[i] ?? "") * 0.8);
    const wide = Math.min(text + 2 * CHIP_PAD, place.width);
    if (x > 0 && x + wide > place.width) [x, row] = [0, row + 1];
    [place.x[i], place.wide[i], place.row[i]] = [x, wide, row];
    x += wide + CHIP_GAP;
    if (symbol.includes("\n")) [x, row] = [0, row + 1];
  }
}

/** A row that one call can draw: printable ASCII, where every advance is the same. */
function plainRow(symbols: string[], start: number, stop: number): string | null {
  const end = symbols[stop - 1] === "\n" ? stop - 1 : stop;
  const text = symbols.slice(start, end).join("");
  return text.length === end - start && PLAIN.test(text) ? text : null;
}

/** The symbol at a place, or the nearest one of that row; -1 without text. */
export function symbolAt(place: Layout, x: number, y: number): number {
  const rows = place.starts.length - 1;
  if (place.x.length === 0) return -1;
  const row = Math.min(Math.max(Math.floor(y / place.rowHeight), 0), rows - 1);
  let [low, high] = [place.starts[row]!, place.starts[row + 1]! - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (place.x[middle]! <= x) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where a key takes the cursor; null: the key is not for it. */
export function moved(place: Layout, index: number, key: string): number | null {
  const last = place.x.length - 1;
  const row = place.row[index] ?? 0;
  const beside = (rows: number) => {
    const aim = Math.min(Math.max(row + rows, 0), place.starts.length - 2);
    return symbolAt(place, place.x[index]! + 1, aim * place.rowHeight + 1);
  };
  const steps: Record<string, () => number> = {
    ArrowLeft: () => index - 1,
    ArrowRight: () => index + 1,
    ArrowUp: () => beside(-1),
    ArrowDown: () => beside(1),
    PageUp: () => beside(-20),
    PageDown: () => beside(20),
    Home: () => place.starts[row]!,
    End: () => place.starts[row + 1]! - 1,
  };
  const step = steps[key];
  return step ? Math.min(Math.max(step(), 0), last) : null;
}

/** Rows in pieces: a canvas has a largest height, and a browser's limits differ. */
export function tiles(place: Layout, tallest: number): { first: number; last: number }[] {
  const rows = place.x.length === 0 ? 0 : place.starts.length - 1;
  const each = Math.max(1, Math.floor(tallest / place.rowHeight));
  const pieces = [];
  for (let first = 0; first < rows; first += each) {
    pieces.push({ first, last: Math.min(first + each, rows) });
  }
  return pieces;
}
