/** The text that is read: typed, pasted, an example, or one of those that the report holds. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../../answers";
import { frozen, offers } from "../../ask";
import { Field } from "../../parts/field";
import { Select } from "../../parts/select";
import { LINKED, LONGEST, type Reading, type TextState, kindsOf } from "./state";

const PAUSE = 300; // ms without a key before the text is read

export function Source({ run, state }: { run: Run; state: TextState }) {
  if (frozen) return <Stored state={state} />;
  const kinds = kindsOf(run);
  return (
    <div class="text-source">
      <Typed state={state} />
      <div class="text-beside">
        {run.examples.length > 0 && <Examples examples={run.examples} onChoose={state.setText} />}
        {kinds.length > 0 && (
          <Select
            label="Told about it"
            value={state.kind}
            onChange={(kind) => state.change({ kind })}
            options={kinds}
          />
        )}
      </div>
    </div>
  );
}

function Typed({ state }: { state: TextState }) {
  const [draft, setDraft] = useState(state.text);
  const timer = useRef(0);
  useEffect(() => setDraft(state.text), [state.text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (text: string) => {
    setDraft(text);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => state.setText(text), PAUSE);
  };
  const full =
    draft.length >= LONGEST
      ? `At most ${LONGEST.toLocaleString("en")} characters are read: the rest is cut off.`
      : "";
  const excerpt = state.link.of === "excerpt" ? "Held-out text that the units were searched on." : "";
  const long =
    draft.length > LINKED
      ? `Longer than ${LINKED.toLocaleString("en")} characters: the link keeps the settings without the text.`
      : "";
  const lost = state.lost
    ? "The text of this link was too long to travel with it. Paste it again; the settings are kept."
    : "";
  return (
    <Field label="Text" hint={lost || excerpt || full || long || `${draft.length.toLocaleString("en")} characters`}>
      <textarea
        rows={4}
        maxLength={LONGEST}
        spellcheck={false}
        value={draft}
        data-role="text-input"
        onInput={(event) => typed(event.currentTarget.value)}
      />
    </Field>
  );
}

function Examples({ examples, onChoose }: { examples: string[]; onChoose: (text: string) => void }) {
  return (
    <div class="text-examples" role="group" aria-label="Examples">
      <span class="faint">Examples</span>
      {examples.map((text, k) => (
        <button key={k} type="button" class="link" data-role="example" onClick={() => onChoose(text)}>
          {start(text)}
        </button>
      ))}
    </div>
  );
}

function Stored({ state }: { state: TextState }) {
  const texts = offers<Reading>("text");
  if (texts.length < 2) return null;
  const options = texts.map(({ text, kind }, k) => ({
    value: String(k),
    label: kind ? `${kind}: ${start(text)}` : start(text),
  }));
  return (
    <div class="controls">
      <Select
        label="Text"
        value={String(state.link.pick)}
        options={options}
        onChange={(pick) => state.change({ pick: Number(pick), at: 0 })}
      />
    </div>
  );
}

function start(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > 48 ? `${line.slice(0, 47)}…` : line || "white space";
}
