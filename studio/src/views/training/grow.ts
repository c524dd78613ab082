/** A training run's log as it grows: asked for piece by piece, put together here. */

import { useEffect, useState } from "preact/hooks";
import type { Training } from "../../answers";
import { ask, frozen } from "../../ask";

const AGAIN = 1000; // ms
const LATER = 4000; // ms, after a question that failed

export interface Growing {
  training: Training | null;
  error: string | null;
}

/** Asks for what is new every second until the run has finished, but not while nobody looks. */
export function useTraining(): Growing {
  const [state, setState] = useState<Growing>({ training: null, error: null });
  useEffect(() => {
    const stop = new AbortController();
    let known: Training | null = null;
    let timer = 0;
    let asking = false;
    const look = async () => {
      clearTimeout(timer);
      if (document.hidden || asking || known?.finished) return;
      asking = true;
      let wait = AGAIN;
      try {
        const more: Training = await ask<Training>("training", { since: known?.next ?? 0 }, stop.signal);
        known = extended(known, more);
        setState({ training: known, error: null });
      } catch (error) {
        if (stop.signal.aborted) return;
        setState({ training: known, error: error instanceof Error ? error.message : String(error) });
        wait = LATER;
      }
      asking = false;
      if (!frozen && !known?.finished) timer = window.setTimeout(look, wait);
    };
    document.addEventListener("visibilitychange", look);
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
  return state;
}

/** What was known and what is new; a resumed run takes back what it had logged after its checkpoint. */
export function extended(known: Training | null, more: Training): Training {
  if (!known || more.restarted) return more;
  const first = more.steps.step[0] ?? Infinity;
  const kept = countBelow(known.steps.step, first);
  const join = <T>(old: T[], fresh: T[]) => (fresh.length === 0 ? old : [...old.slice(0, kept), ...fresh]);
  const since = Math.min(first, more.epochs[0]?.step ?? Infinity);
  return {
    ...more,
    steps: {
      step: join(known.steps.step, more.steps.step),
      loss: join(known.steps.loss, more.steps.loss),
      gradient_norm: join(known.steps.gradient_norm, more.steps.gradient_norm),
      lr: join(known.steps.lr, more.steps.lr),
    },
    epochs: [...known.epochs.filter((epoch) => epoch.step < since), ...more.epochs],
  };
}

function countBelow(steps: number[], limit: number): number {
  let count = steps.length;
  while (count > 0 && steps[count - 1]! >= limit) count--;
  return count;
}
