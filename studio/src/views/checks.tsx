/** Several of a list of names, kept in the link as one text with commas. */

interface ChecksProps {
  label: string;
  names: string[];
  chosen: string[];
  onChange: (chosen: string[]) => void;
}

export function Checks({ label, names, chosen, onChange }: ChecksProps) {
  const turn = (name: string, on: boolean) => {
    onChange(names.filter((other) => (other === name ? on : chosen.includes(other))));
  };
  return (
    <fieldset class="checks">
      <legend>{label}</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            name={name}
            checked={chosen.includes(name)}
            onChange={(event) => turn(name, event.currentTarget.checked)}
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}

export function listed(text: string): string[] {
  return text.split(",").filter((name) => name !== "");
}
