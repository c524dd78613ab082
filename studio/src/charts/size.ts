/** How much room a chart has. */

import { type RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

/** A ref for the element to measure, and its width in pixels (0 until it is known). */
export function useWidth<E extends HTMLElement>(): [RefObject<E | null>, number] {
  const ref = useRef<E>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return;
    const measure = () => setWidth(Math.floor(element.clientWidth));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}
