/** One of several, in a list that the browser draws. */

import { Field } from "./field";

interface SelectProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: { value: string; label: string }[];
  hint?: string;
  disabled?: boolean;
}

export function Select({ label, value, onChange, options, hint, disabled }: SelectProps) {
  return (
    <Field label={label} {...(hint ? { hint } : {})}>
      <select value={value} disabled={disabled} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    </Field>
  );
}
