/** Whose run this is, and what goes for every view: its colours and its link. */

import { useState } from "preact/hooks";
import type { Run } from "../answers";
import { writeLink } from "../link";
import { setTheme, type Theme, theme } from "../theme";

const TASKS = {
  classify: "classifier",
  tag: "tagger",
  lm: "language model",
  translate: "translator",
  "": "no run",
};

export function Header({ run }: { run: Run }) {
  const facts = [TASKS[run.task], run.cell, run.parameters > 0 && `${grouped(run.parameters)} parameters`];
  return (
    <header class="top">
      <h1 data-role="run-name">{run.name || "Unspool studio"}</h1>
      <p class="facts" data-role="run-facts" data-value={run.parameters}>
        {facts.filter(Boolean).join(" · ")}
        {run.name && !run.trained && " · not trained yet"}
      </p>
      <ThemePicker />
      <CopyLink />
    </header>
  );
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

function ThemePicker() {
  const [now, setNow] = useState<Theme>(theme);
  return (
    <label class="inline">
      Colours
      <select
        value={now}
        data-role="theme"
        onChange={(event) => {
          const to = event.currentTarget.value as Theme;
          setTheme(to);
          setNow(to);
        }}
      >
        <option value="auto">as the system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

function CopyLink() {
  const [said, setSaid] = useState("Copy link");
  const copy = async () => {
    writeLink();
    try {
      await navigator.clipboard.writeText(location.href);
      setSaid("Copied");
    } catch {
      setSaid("Copy it from the address bar"); // a browser may refuse a page its clipboard
    }
    setTimeout(() => setSaid("Copy link"), 2500);
  };
  return (
    <button type="button" class="quiet" data-role="copy-link" aria-live="polite" onClick={copy}>
      {said}
    </button>
  );
}
