/** A step to choose, with its number beside it. */

import { useId } from "preact/hooks";

interface SliderProps {
  label: string;
  value: number;
  low: number;
  high: number;
  onChange: (value: number) => void;
}

export function Slider({ label, value, low, high, onChange }: SliderProps) {
  const id = useId();
  return (
    <div class="slider">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="range"
        min={low}
        max={high}
        step={1}
        value={value}
        onInput={(event) => onChange(event.currentTarget.valueAsNumber)}
      />
      <output class="mono" for={id}>
        {value} of {high}
      </output>
    </div>
  );
}
