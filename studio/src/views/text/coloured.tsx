/** A text that is painted in colours, with a cursor that mouse and keys move over its symbols. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Num } from "../../answers";
import { type Layout, moved, symbolAt } from "../../charts/glyphs";
import { short } from "../../charts/scale";
import { useWidth } from "../../charts/size";
import { useDark } from "../../theme";
import type { Scale } from "./colouring";
import { usePainting } from "./painting";
import { visible } from "./symbols";

interface Props {
  symbols: string[];
  marks: string[];
  values: Num[] | null;
  scale: Scale;
  selected: number;
  onSelect: (index: number) => void;
  name: string; // what the colours show
}

export function Coloured(props: Props) {
  const { symbols, values, selected, onSelect } = props;
  const box = useRef<HTMLDivElement>(null);
  const [sheet, width] = useWidth<HTMLDivElement>();
  const place = usePainting(sheet, props, width, useDark());
  const [under, setUnder] = useState(-1);
  useEffect(() => keepInView(box.current, place, selected), [place, selected]);
  const at = (event: MouseEvent) => {
    const corner = sheet.current?.getBoundingClientRect();
    return place && corner ? symbolAt(place, event.clientX - corner.left, event.clientY - corner.top) : -1;
  };
  const key = (event: KeyboardEvent) => {
    const to = place && !event.ctrlKey && !event.metaKey ? moved(place, Math.max(selected, 0), event.key) : null;
    if (to === null) return;
    event.preventDefault();
    onSelect(to);
  };
  const shown = under >= 0 && under < symbols.length ? under : selected;
  return (
    <div class="coloured">
      <div
        ref={box}
        class="coloured-box"
        tabIndex={0}
        role="application"
        aria-label={`The text, coloured by ${props.name}. Arrow keys move from symbol to symbol.`}
        data-role="coloured"
        data-count={symbols.length}
        onKeyDown={key}
        onMouseMove={(event) => setUnder(at(event))}
        onMouseLeave={() => setUnder(-1)}
        onClick={(event) => onSelect(at(event))}
      >
        <div ref={sheet} class="coloured-sheet" />
        {place && <Cursor place={place} index={selected} />}
      </div>
      <p class="coloured-line" data-role="under">
        {told(symbols, values, shown)}
      </p>
      <p
        class="hidden"
        aria-live="polite"
        data-role="cursor"
        data-index={selected}
        data-symbol={symbols[selected] ?? ""}
        data-value={values?.[selected] ?? ""}
      >
        {told(symbols, values, selected)}
      </p>
    </div>
  );
}

function told(symbols: string[], values: Num[] | null, index: number): string {
  const symbol = symbols[index];
  if (symbol === undefined) return "Point at a symbol, or move with the arrow keys.";
  const value = values?.[index];
  const number = value === undefined ? "" : `: ${value === null ? "no number" : short(value)}`;
  return `${index + 1} of ${symbols.length}, \u2068${visible(symbol)}\u2069${number}`; // its script may run the other way
}

function Cursor({ place, index }: { place: Layout; index: number }) {
  if (index < 0 || index >= place.x.length) return null;
  const style = {
    left: `${place.x[index]}px`,
    top: `${place.row[index]! * place.rowHeight}px`,
    width: `${Math.max(place.wide[index]!, 4)}px`,
    height: `${place.rowHeight - 1}px`,
  };
  return <div class="coloured-cursor" style={style} />;
}

function keepInView(box: HTMLDivElement | null, place: Layout | null, index: number): void {
  if (!box || !place || index < 0 || index >= place.x.length) return;
  const top = place.row[index]! * place.rowHeight;
  if (top < box.scrollTop) box.scrollTop = top;
  const bottom = top + place.rowHeight + 12 - box.clientHeight;
  if (bottom > box.scrollTop) box.scrollTop = bottom;
}
