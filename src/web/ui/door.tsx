/** The frame of the pages before one is signed in. */
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";

interface DoorProps {
  title: string;
  children: ComponentChildren;
  wide?: boolean;
}

export function Door({ title, children, wide = false }: DoorProps) {
  useEffect(() => {
    document.title = `${title} · governd`;
  }, [title]);
  return (
    <main class={wide ? "door door-wide" : "door"}>
      <div class="door-logo" aria-hidden="true">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <rect width="32" height="32" rx="9" />
          <path d="M9 16.5l5 5 9-10" />
        </svg>
        governd
      </div>
      <div class="card door-card">
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
    </main>
  );
}

/** The token of a link. It stands behind the `#`, which a browser never sends, and is taken out at once. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  return token;
}
