/** Keys that work everywhere: digits open a view, ? shows the keys. */

import { useEffect, useRef } from "preact/hooks";
import { go } from "../link";

const KEYS: [string, string][] = [
  ["1, 2, …", "open a view"],
  ["← →", "on the tabs: the next view; on a chart: read its values; on the beam: the next node"],
  ["Home, End", "the first, the last"],
  ["Tab", "the next control or chart"],
  ["?", "these keys"],
];

export function useShortcuts(views: string[]) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) return;
      const view = /^[1-9]$/.test(event.key) ? views[Number(event.key) - 1] : undefined;
      if (view) go(view);
      else if (event.key === "?") dialog.current?.showModal();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [views.join(" ")]);
  return (
    <dialog ref={dialog} aria-label="Keys">
      <h2>Keys</h2>
      <dl class="keys">
        {KEYS.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <button type="button" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

function typing(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}
