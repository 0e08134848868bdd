/** The frame of the pages for people who are not signed in. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useTitle } from "../state/title.ts";
import { LogoMark } from "./icon.tsx";
import { Empty } from "./parts.tsx";

interface DoorProps {
  title: string;
  children: ComponentChildren;
  wide?: boolean;
}

export function Door({ title, children, wide = false }: DoorProps) {
  useTitle("page", title);
  return (
    <main class={wide ? "door door-wide" : "door"}>
      <div class="door-logo" aria-hidden="true">
        <LogoMark />
        governd
      </div>
      <div class="card door-card">
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
    </main>
  );
}

/** A page that a one-time link opens; `children` renders it for the link's token. */
export function LinkDoor({ title, children }: { title: string; children(token: string): ComponentChildren }) {
  const [token] = useState(takeToken);
  return (
    <Door title={title}>
      {token !== null ? (
        children(token)
      ) : (
        <Empty title="The link is incomplete">
          <p>Open the whole link that you were given, including the part after the #.</p>
        </Empty>
      )}
    </Door>
  );
}

/** Returns the token of a link. It follows the `#`, which a browser never sends, and is removed at once. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  return token;
}
