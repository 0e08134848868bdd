/** A C2SP tlog-witness: it cosigns a seal only if the seal continues what it cosigned before. */

import { NoteError } from "../../log/note.ts";
import { parseSeal } from "../../log/seal.ts";
import { addCheckpointBody, type Witness, withCosignatures } from "../../log/witness.ts";
import { readAtMost, sendRequest } from "../../outbound.ts";
import { type AnchoredSeal, AnchorFailed, type AnchorTarget } from "./targets.ts";

/** What a witness target needs from the daemon. */
export interface WitnessDeps {
  /** Returns the consistency proof between two sizes of a workspace's log. */
  proveConsistency(workspaceId: string, from: number, to: number): Promise<Uint8Array[]>;
  /** Stores a seal with its new signature lines. */
  keep(seal: AnchoredSeal): void;
}

/** The longest response that is read, bytes. */
const MAX_RESPONSE_BYTES = 64 * 1024;

export function witnessTarget({ key, url }: Witness, deps: WitnessDeps): AnchorTarget {
  /** The log sizes that the witness knows, by origin. An unknown size is learned from the first submission. */
  const known = new Map<string, number>();

  async function submit(seal: AnchoredSeal, from: number, signal: AbortSignal): Promise<Response> {
    const proof = await deps.proveConsistency(seal.workspaceId, from, seal.size);
    return sendRequest(`${url}/add-checkpoint`, {
      method: "POST",
      redirect: "manual",
      headers: { "content-type": "text/plain; charset=utf-8" },
      body: addCheckpointBody(from, proof, seal.note),
      signal,
    });
  }

  return {
    kind: "witness",
    place: key.name,
    name: `witness ${key.name}`,
    async deliver(seal, signal) {
      const { origin } = parseSeal(seal.note);
      let response = await submit(seal, known.get(origin) ?? 0, signal);
      if (response.status === 409) {
        const size = Number((await readResponse(response)).trim());
        if (!Number.isSafeInteger(size) || size < 0) throw new AnchorFailed("the witness returned no size");
        if (size > seal.size) {
          throw new AnchorFailed(
            `the witness has cosigned ${size} events, more than the log has: the log was restored from an older copy, or truncated`,
          );
        }
        known.set(origin, size);
        response = await submit(seal, size, signal);
      }
      const answer = await readResponse(response);
      if (response.status !== 200) throw new AnchorFailed(refusal(response.status));
      let note: string;
      try {
        note = withCosignatures(seal.note, answer, [key]);
      } catch (error) {
        if (error instanceof NoteError) throw new AnchorFailed(error.message);
        throw error;
      }
      known.set(origin, seal.size);
      deps.keep({ ...seal, note });
    },
  };
}

async function readResponse(response: Response): Promise<string> {
  const bytes = await readAtMost(response, MAX_RESPONSE_BYTES);
  if (bytes === null) throw new AnchorFailed("the response of the witness is too long");
  return bytes.toString();
}

function refusal(status: number): string {
  switch (status) {
    case 403:
      return "the witness does not know the sealing key (403). Give it the verifier key of `governd key-info`";
    case 404:
      return "the witness does not know this origin (404): it is new, or the log was restored. Give it the verifier key of `governd key-info`";
    case 422:
      return "the witness says that the seal does not continue the log that it knows (422)";
    default:
      return `the witness returned ${status}`;
  }
}
