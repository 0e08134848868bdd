/** An HTTPS address that takes seals. */
import { type AnchoredSeal, AnchorFailed, type AnchorSink } from "./sink.ts";

/** Posts each seal as text; any 2xx answer means that it was taken. Redirections are not followed. */
export function webhookSink(url: string): AnchorSink {
  return {
    kind: "webhook",
    place: new URL(url).host,
    name: `webhook ${new URL(url).host}`,
    async deliver({ workspaceId, size, note }: AnchoredSeal, signal: AbortSignal) {
      const response = await fetch(url, {
        method: "POST",
        redirect: "manual",
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "x-workspace-id": workspaceId,
          "x-seal-size": `${size}`,
          // The same seal may come twice: whoever keeps it can tell.
          "idempotency-key": `${workspaceId}-${size}`,
        },
        body: note,
        signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new AnchorFailed(`the address answered ${response.status}`);
    },
  };
}
