/** The frame of the pages for people who are not signed in. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useTitle } from "../state/title.ts";
import { LogoMark } from "./icon.tsx";
import { Empty } from "./parts.tsx";

interface SignedOutPageProps {
  title: string;
  children: ComponentChildren;
  wide?: boolean;
}

export function SignedOutPage({ title, children, wide = false }: SignedOutPageProps) {
  useTitle("page", title);
  return (
    <main class={wide ? "signed-out signed-out-wide" : "signed-out"}>
      <div class="signed-out-logo" aria-hidden="true">
        <LogoMark />
        governd
      </div>
      <div class="card signed-out-card">
        <h1 tabIndex={-1}>{title}</h1>
        {children}
      </div>
    </main>
  );
}

/** A page that a one-time link opens; `children` renders it for the link's token. */
export function LinkPage({ title, children }: { title: string; children(token: string): ComponentChildren }) {
  const [token] = useState(takeToken);
  return (
    <SignedOutPage title={title}>
      {token !== null ? (
        children(token)
      ) : (
        <Empty title="The link is incomplete">
          <p>Open the whole link that you were given, including the part after the #.</p>
        </Empty>
      )}
    </SignedOutPage>
  );
}

/** Returns the token of a link. It follows the `#`, which a browser never sends, and is removed at once. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) history.replaceState(null, "", location.pathname + location.search);
  return token;
}
