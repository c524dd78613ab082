/** A number to type: what is out of bounds is said and not asked. */

import { useEffect, useState } from "preact/hooks";
import { Field } from "../parts/field";

interface NumberProps {
  label: string;
  value: number;
  onChange: (value: number) => void;
  low: number;
  high: number;
  whole?: boolean;
  role?: string;
}

export function NumberField({ label, value, onChange, low, high, whole = false, role }: NumberProps) {
  const [draft, setDraft] = useState(String(value));
  useEffect(() => setDraft((last) => (Number(last) === value ? last : String(value))), [value]);
  const wrong = draft.trim() === "" || !fits(Number(draft));
  function fits(number: number): boolean {
    return Number.isFinite(number) && number >= low && number <= high && (!whole || Number.isInteger(number));
  }
  return (
    <Field label={label} error={wrong ? `${whole ? "a whole number" : "a number"} from ${low} to ${high}` : null}>
      <input
        type="number"
        class="number-input"
        data-role={role}
        min={low}
        max={high}
        step={whole ? 1 : "any"}
        value={draft}
        onInput={(event) => {
          const text = event.currentTarget.value;
          setDraft(text);
          if (text.trim() !== "" && fits(Number(text))) onChange(Number(text));
        }}
      />
    </Field>
  );
}
