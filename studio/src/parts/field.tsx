/** A control with its label, and below it a hint or what is wrong with it. */

import { cloneElement, type ComponentChildren, isValidElement, toChildArray } from "preact";
import { useId } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: string;
  error?: string | null;
  children: ComponentChildren;
}

/** The first child is the control: it gets an id, unless it has one, and its description. */
export function Field({ label, hint, error, children }: FieldProps) {
  const fresh = useId();
  const [control, ...rest] = toChildArray(children);
  const own = isValidElement(control) ? (control.props as { id?: string }).id : undefined;
  const id = own ?? fresh;
  const about = error || hint ? `${id}-about` : undefined;
  const named = isValidElement(control)
    ? cloneElement(control, { id, "aria-describedby": about, "aria-invalid": error ? true : undefined })
    : control;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {named}
      {rest}
      {about && (
        <div id={about} class={error ? "field-error" : "field-hint"} role={error ? "alert" : undefined}>
          {error || hint}
        </div>
      )}
    </div>
  );
}
