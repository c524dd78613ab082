/** What a report can answer: in the studio, everything. */

import { canonical, frozen, offers } from "../ask";

/** The params, or null where the report holds no answer to them. */
export function held<P extends object>(question: string, params: P | null): P | null {
  if (!frozen || params === null) return params;
  const wanted = canonical(params);
  return offers<P>(question).some((offer) => canonical(offer) === wanted) ? params : null;
}

/** Those values that the report has among its stored questions, in order and once each. */
export function choices<V>(values: V[]): V[] {
  return [...new Set(values)];
}
