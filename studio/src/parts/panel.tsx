/** A part of a view under its own heading. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface PanelProps {
  title: string;
  note?: ComponentChildren;
  children: ComponentChildren;
}

export function Panel({ title, note, children }: PanelProps) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {note && <p class="panel-note">{note}</p>}
      {children}
    </section>
  );
}
