/** Several of a list of names, kept in the link as one text with commas. */

interface ChecksProps {
  label: string;
  names: string[];
  chosen: string[];
  onChange: (chosen: string[]) => void;
  most?: number;
}

export function Checks({ label, names, chosen, onChange, most = Infinity }: ChecksProps) {
  const turn = (name: string, on: boolean) => {
    onChange(names.filter((other) => (other === name ? on : chosen.includes(other))));
  };
  return (
    <fieldset class="checks">
      <legend>{most < names.length ? `${label}, up to ${most}` : label}</legend>
      {names.map((name) => (
        <label key={name}>
          <input
            type="checkbox"
            name={name}
            checked={chosen.includes(name)}
            disabled={!chosen.includes(name) && chosen.length >= most}
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
