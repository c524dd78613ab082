/** What a view says instead of a picture: nothing yet, something wrong, or being worked on. */

import type { ComponentChildren } from "preact";

interface NoticeProps {
  kind: "empty" | "error" | "busy";
  title: string;
  children?: ComponentChildren;
}

export function Notice({ kind, title, children }: NoticeProps) {
  return (
    <div class={`notice notice-${kind}`} data-role={`notice-${kind}`} role={kind === "error" ? "alert" : "status"}>
      <p class="notice-title">{title}</p>
      {children && <div class="notice-text">{children}</div>}
    </div>
  );
}
