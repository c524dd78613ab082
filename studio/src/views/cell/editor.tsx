/** Equations with line numbers, and the wrong piece underlined where it stands. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Remark } from "../../answers";

const PAUSE = 250; // ms without a key before the equations are read

interface EditorProps {
  text: string;
  onChange: (text: string) => void;
  error: Remark | null;
  warnings: Remark[];
  fixed: boolean; // a report's equations stand
}

export function Editor({ text, onChange, error, warnings, fixed }: EditorProps) {
  const [draft, setDraft] = useState(text);
  const timer = useRef(0);
  const behind = useRef<HTMLPreElement>(null);
  const gutter = useRef<HTMLPreElement>(null);
  useEffect(() => setDraft(text), [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const typed = (to: string) => {
    setDraft(to);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => onChange(to), PAUSE);
  };
  const follow = (event: Event) => {
    const area = event.currentTarget as HTMLTextAreaElement;
    for (const layer of [behind.current, gutter.current]) if (layer) layer.scrollTop = area.scrollTop;
    if (behind.current) behind.current.scrollLeft = area.scrollLeft;
  };
  const lines = draft.split("\n");
  const current = draft === text ? error : null; // an older error may lie elsewhere by now
  return (
    <div class="editor">
      <label class="label" for="equations">
        Equations
      </label>
      <div class="editor-box">
        <pre ref={gutter} class="editor-gutter" aria-hidden="true">
          {lines.map((_, k) => (
            <span key={k} class={k === current?.line ? "editor-wrong-line" : ""}>
              {k + 1}
              {"\n"}
            </span>
          ))}
        </pre>
        <div class="editor-page">
          <pre ref={behind} class="editor-behind" aria-hidden="true">
            <Underlined lines={lines} error={current} />
          </pre>
          <textarea
            id="equations"
            class="editor-text"
            rows={Math.max(lines.length + 1, 5)}
            wrap="off"
            spellcheck={false}
            autocapitalize="off"
            readOnly={fixed}
            value={draft}
            data-role="equations"
            aria-invalid={current !== null}
            aria-describedby="equations-error"
            onInput={(event) => typed(event.currentTarget.value)}
            onScroll={follow}
          />
        </div>
      </div>
      <div class="editor-remarks">
        <div id="equations-error" role="alert">
          {current && <Message role="cell-error" remark={current} placed />}
        </div>
        <div role="status">
          {draft === text &&
            warnings.map((warning) => (
              <Message key={warning.message} role="cell-warning" remark={warning} placed={!fixed} />
            ))}
        </div>
      </div>
    </div>
  );
}

function Underlined({ lines, error }: { lines: string[]; error: Remark | null }) {
  const text = lines.join("\n");
  if (!error || error.line < 0 || error.line >= lines.length)
    return (
      <>
        {text}
        {"\n"}
      </>
    );
  const line = lines[error.line]!;
  const start = Math.min(Math.max(error.start, 0), line.length);
  const stop = Math.max(Math.min(error.stop, line.length), start);
  const before = lines
    .slice(0, error.line)
    .map((each) => `${each}\n`)
    .join("");
  const after = lines
    .slice(error.line + 1)
    .map((each) => `\n${each}`)
    .join("");
  return (
    <>
      {before}
      {line.slice(0, start)}
      <mark class="editor-wrong">{line.slice(start, stop) || " "}</mark>
      {line.slice(stop)}
      {after}
      {"\n"}
    </>
  );
}

interface MessageProps {
  role: "cell-error" | "cell-warning";
  remark: Remark;
  placed: boolean; // a report shows the equations without their indentation: places have moved
}

function Message({ role, remark, placed }: MessageProps) {
  const { line, start, stop, problem, message, hint } = remark;
  const place = line < 0 || !placed ? "" : `Line ${line + 1}${start < 0 ? "" : `, column ${start + 1}`}: `;
  return (
    <div data-role={role} data-line={line} data-start={start} data-stop={stop}>
      <p class={role === "cell-error" ? "field-error" : "editor-warning"}>
        {role === "cell-error" ? "⚠ " : "Perhaps a slip. "}
        {place}
        {problem || message}
      </p>
      {hint && <p class="editor-hint">{hint}</p>}
    </div>
  );
}
