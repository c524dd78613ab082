/** What is asked: a text, the tag it goes to, and how the beam searches. */

import { useEffect, useState } from "preact/hooks";
import type { Run } from "../../answers";
import { Field } from "../../parts/field";
import { Select } from "../../parts/select";

export interface Asked {
  text: string;
  tag: string;
  width: number;
  nbest: number;
  normalise: string;
}

const RULES = [
  { value: "mean", label: "mean: log p / length" },
  { value: "gnmt", label: "gnmt: between mean and none" },
  { value: "none", label: "none: log p" },
];
export const WIDEST = 30; // a wider beam makes a tree that nobody can read

/** The nearest whole number from 1 to `most`. */
export function within(value: number, most: number): number {
  return Math.min(most, Math.max(1, Math.round(value) || 1));
}

interface FormProps {
  run: Run;
  asked: Asked;
  onAsk: (change: Partial<Asked>) => void;
}

export function AskForm({ run, asked, onAsk }: FormProps) {
  const [text, setText] = useState(asked.text);
  useEffect(() => setText(asked.text), [asked.text]);
  const submit = (event: Event) => {
    event.preventDefault();
    onAsk({ text });
  };
  return (
    <form class="ask" onSubmit={submit}>
      <div class="grow">
        <Field label="Text to translate">
          <input
            type="text"
            dir="auto"
            autocomplete="off"
            spellcheck={false}
            value={text}
            data-role="source"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </Field>
      </div>
      <button type="submit" data-role="translate" disabled={text.trim() === ""}>
        Translate
      </button>
      {run.examples.length > 0 && (
        <Select
          label="Examples"
          value={run.examples.includes(asked.text) ? asked.text : ""}
          onChange={(to) => to && onAsk({ text: to })}
          options={[{ value: "", label: "choose one" }, ...run.examples.map((value) => ({ value, label: value }))]}
        />
      )}
      {run.tags.length > 0 && (
        <Select
          label="To"
          value={asked.tag}
          onChange={(tag) => onAsk({ text, tag })}
          options={run.tags.map((value) => ({ value, label: value }))}
        />
      )}
      <Whole label="Beam width" value={asked.width} most={WIDEST} onChange={(width) => onAsk({ text, width })} />
      <Whole
        label="Best shown"
        value={asked.nbest}
        most={asked.width}
        onChange={(nbest) => onAsk({ text, nbest })}
      />
      <Select label="Score" value={asked.normalise} onChange={(normalise) => onAsk({ text, normalise })} options={RULES} />
    </form>
  );
}

interface WholeProps {
  label: string;
  value: number;
  most: number;
  onChange: (value: number) => void;
}

function Whole({ label, value, most, onChange }: WholeProps) {
  return (
    <Field label={label}>
      <input
        type="number"
        min="1"
        max={most}
        step="1"
        value={value}
        onChange={(event) => {
          const to = within(event.currentTarget.valueAsNumber, most);
          event.currentTarget.value = String(to);
          onChange(to);
        }}
      />
    </Field>
  );
}
