/** Questions to the server, or to the answers that a report carries. */

import { useEffect, useRef, useState } from "preact/hooks";

const AGAIN = 400; // ms between questions whose answer is still growing
const PAUSE = 150; // ms that fast changes are waited for

interface Stored {
  answers: Record<string, unknown>;
  offers: Record<string, unknown[]>;
}

const stored = readStored();
const answers = byQuestion(stored);

/** Whether this is the report: answers are stored, and nothing else can be asked. */
export const frozen: boolean = stored !== null;

function readStored(): Stored | null {
  const text = document.getElementById("stored")?.textContent;
  return text ? (JSON.parse(text) as Stored) : null;
}

/** Keys written anew here: others write 1e-05 and 1.0 where we write 0.00001 and 1. */
function byQuestion(from: Stored | null): Map<string, unknown> {
  const found = new Map<string, unknown>();
  for (const [key, answer] of Object.entries(from?.answers ?? {})) {
    const space = key.indexOf(" ");
    found.set(keyOf(key.slice(0, space), JSON.parse(key.slice(space + 1))), answer);
  }
  return found;
}

/** JSON with sorted keys and no spaces: equal params have equal texts. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (inner === null || typeof inner !== "object" || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function keyOf(question: string, params: unknown): string {
  return `${question} ${canonical(params)}`;
}

export async function ask<A>(question: string, params: object = {}, signal?: AbortSignal): Promise<A> {
  if (frozen) return fromStore<A>(question, params);
  const request = {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(params),
    signal: signal ?? null,
  };
  const response = await fetch(`api/${question}`, request).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Error("The studio does not answer. Is it still running? Start it again, then reload.");
  });
  const answer: unknown = await response.json().catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Error(`The studio answered with something that is not JSON (status ${response.status}).`);
  });
  if (!response.ok) throw new Error(words(answer) ?? `The studio answered with status ${response.status}.`);
  return answer as A;
}

function fromStore<A>(question: string, params: object): A {
  const key = keyOf(question, params);
  if (!answers.has(key)) {
    throw new Error("This report does not hold that answer. Open the run in the studio to ask anew.");
  }
  return answers.get(key) as A;
}

function words(answer: unknown): string | null {
  const error = (answer as { error?: unknown } | null)?.error;
  return typeof error === "string" ? error : null;
}

/** The params that the report has answers for; [] in the studio, which can be asked anything. */
export function offers<P>(question: string): P[] {
  return (stored?.offers[question] ?? []) as P[];
}

interface Held<A> {
  key: string | null; // what it answers
  question: string;
  answer: A | null;
  error: string | null;
}

/**
 * The answer to a question, asked again as its params change; null params ask nothing.
 *
 * The last answer stays while the next is waited for. A newer question cancels the older one.
 * An answer that says `done: false` is asked for again until it is done.
 */
export function useAnswer<A>(
  question: string,
  params: object | null,
): { answer: A | null; error: string | null; waiting: boolean } {
  const key = params === null ? null : keyOf(question, params);
  const [held, setHeld] = useState<Held<A>>({ key: null, question, answer: null, error: null });
  const changed = useRef(-Infinity);
  useEffect(() => {
    if (key === null || params === null) return;
    const stop = new AbortController();
    let timer = 0;
    const send = async () => {
      try {
        const answer = await ask<A>(question, params, stop.signal);
        if (stop.signal.aborted) return;
        setHeld({ key, question, answer, error: null });
        if (!frozen && growing(answer)) timer = window.setTimeout(send, AGAIN);
      } catch (error) {
        if (stop.signal.aborted) return;
        setHeld({ key, question, answer: null, error: error instanceof Error ? error.message : String(error) });
      }
    };
    const quick = performance.now() - changed.current < PAUSE;
    changed.current = performance.now();
    if (quick && !frozen) timer = window.setTimeout(send, PAUSE);
    else void send();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key]);
  const kept = key !== null && held.question === question;
  return {
    answer: kept ? held.answer : null,
    error: kept && held.key === key ? held.error : null,
    waiting: key !== null && held.key !== key,
  };
}

function growing(answer: unknown): boolean {
  return (answer as { done?: unknown } | null)?.done === false;
}
