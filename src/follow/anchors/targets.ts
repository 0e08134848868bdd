/**
 * Targets for seals: places that somebody who controls this machine cannot rewrite. This file has the program and the web
 * hook; the other kinds are a witness (witness.ts) and a time stamp authority (timestamp.ts).
 */
import { basename } from "node:path";
import { parseOrigin } from "../../log/seal.ts";
import { sendRequest } from "../../outbound.ts";
import { SEAL_VARIABLES } from "../../settings/injected.ts";

/** A seal to deliver. */
export interface AnchoredSeal {
  workspaceId: string;
  /** The number of events that it covers. */
  size: number;
  /** The signed note. */
  note: string;
}

export type AnchorKind = "command" | "webhook" | "witness" | "timestamp";

/** A place that accepts seals. */
export interface AnchorTarget {
  readonly kind: AnchorKind;
  /** The name that users of a workspace see: a host or the name of a witness; null for a program. */
  readonly place: string | null;
  /** The name in the log and the metrics. It contains no secret, such as the path or query of an address. */
  readonly name: string;
  /** Delivers a seal. @throws {AnchorFailed} when the delivery failed; it is retried */
  deliver(seal: AnchoredSeal, signal: AbortSignal): Promise<void>;
}

/** Why a delivery failed, for the operator's log. */
export class AnchorFailed extends Error {
  override readonly name = "AnchorFailed";
}

/** The epoch of a seal. A restored log has seals of the same sizes again. */
const epochOf = (note: string): number => parseOrigin(note.slice(0, note.indexOf("\n"))).epoch;

/** Runs a program for each seal, with the seal on its standard input and the workspace and size in its environment. */
export function commandTarget(program: string): AnchorTarget {
  return {
    kind: "command",
    place: null,
    name: `command ${basename(program)}`,
    async deliver({ workspaceId, size, note }: AnchoredSeal, signal: AbortSignal) {
      let child: Bun.Subprocess<Uint8Array, "ignore", "ignore">;
      try {
        child = Bun.spawn([program], {
          stdin: new TextEncoder().encode(note),
          stdout: "ignore",
          stderr: "ignore",
          // The daemon's own environment is not passed on, since it may contain the signing key.
          env: {
            PATH: "/usr/local/bin:/usr/bin:/bin",
            [SEAL_VARIABLES.workspaceId]: workspaceId,
            [SEAL_VARIABLES.size]: `${size}`,
            [SEAL_VARIABLES.epoch]: `${epochOf(note)}`,
          },
          signal,
        });
      } catch {
        throw new AnchorFailed("cannot start the program");
      }
      const code = await child.exited;
      if (code !== 0) throw new AnchorFailed(`the program ended with exit code ${code}`);
    },
  };
}

/** Posts each seal as text to an HTTPS address. A 2xx response means success. Redirects are not followed. */
export function webhookTarget(url: string): AnchorTarget {
  return {
    kind: "webhook",
    place: new URL(url).host,
    name: `webhook ${new URL(url).host}`,
    async deliver({ workspaceId, size, note }: AnchoredSeal, signal: AbortSignal) {
      const response = await sendRequest(url, {
        method: "POST",
        redirect: "manual",
        headers: {
          "content-type": "text/plain; charset=utf-8",
          "x-workspace-id": workspaceId,
          "x-seal-size": `${size}`,
          "x-seal-epoch": `${epochOf(note)}`,
          // The same seal may be sent twice. The key lets the receiver recognize that.
          "idempotency-key": `${workspaceId}-${epochOf(note) === 1 ? "" : `${epochOf(note)}-`}${size}`,
        },
        body: note,
        signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new AnchorFailed(`the server returned ${response.status}`);
    },
  };
}
