/** C2SP tlog-witness: who countersigns a seal only if it continues what was countersigned before. */
import { NoteError, parseVerifierKey, SIGNATURE_COSIGNATURE_V1, type VerifierKey } from "../log/note.ts";
import { addCheckpointBody, withCosignatures } from "../log/witness.ts";
import { type AnchoredSeal, AnchorFailed, type AnchorSink } from "./sinks.ts";

/** A witness as a setting names it. */
export interface Witness {
  key: VerifierKey;
  /** The submission prefix. */
  url: string;
}

/** What a witness needs of the daemon. */
export interface WitnessDeps {
  /** The consistency proof between two sizes of a workspace's log. */
  proveConsistency(workspaceId: string, from: number, to: number): Promise<Uint8Array[]>;
  /** Keeps a seal with the cosignatures that it has got. */
  keep(seal: AnchoredSeal): void;
}

/** Longest answer that is read, bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** Reads `<verifier key> <https address>`. @throws {NoteError} when it is not that */
export function parseWitness(text: string): Witness {
  const [key = "", url = "", more] = text.trim().split(/\s+/);
  if (more !== undefined || !/^https?:\/\//.test(url))
    throw new NoteError("not a verifier key and an address");
  const parsed = parseVerifierKey(key);
  if (parsed.type !== SIGNATURE_COSIGNATURE_V1) throw new NoteError("the key of a witness has type 0x04");
  return { key: parsed, url: url.replace(/\/$/, "") };
}

export function witnessSink({ key, url }: Witness, deps: WitnessDeps): AnchorSink {
  /** The sizes that the witness knows, by workspace; what is not known is asked for by a first try. */
  const known = new Map<string, number>();

  async function submit(seal: AnchoredSeal, from: number, signal: AbortSignal): Promise<Response> {
    const proof = await deps.proveConsistency(seal.workspaceId, from, seal.size);
    return fetch(`${url}/add-checkpoint`, {
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
      let response = await submit(seal, known.get(seal.workspaceId) ?? 0, signal);
      if (response.status === 409) {
        const size = Number((await readAnswer(response)).trim());
        if (!Number.isSafeInteger(size) || size < 0) throw new AnchorFailed("the witness names no size");
        if (size > seal.size) {
          throw new AnchorFailed(
            `the witness has cosigned ${size} events, more than the log has: the log was put back from an older copy, or cut off`,
          );
        }
        known.set(seal.workspaceId, size);
        response = await submit(seal, size, signal);
      }
      const answer = await readAnswer(response);
      if (response.status !== 200) throw new AnchorFailed(refusal(response.status));
      let note: string;
      try {
        note = withCosignatures(seal.note, answer, [key]);
      } catch (error) {
        if (error instanceof NoteError) throw new AnchorFailed(error.message);
        throw error;
      }
      known.set(seal.workspaceId, seal.size);
      deps.keep({ ...seal, note });
    },
  };
}

async function readAnswer(response: Response): Promise<string> {
  const text = await response.text();
  if (text.length > MAX_ANSWER_BYTES) throw new AnchorFailed("the witness's answer is too long");
  return text;
}

function refusal(status: number): string {
  switch (status) {
    case 403:
      return "the witness does not know the sealing key (403): give it the verifier key of `governd key-info`";
    case 404:
      return "the witness does not know this workspace (404): give it the verifier key of `governd key-info`";
    case 422:
      return "the witness says that the seal does not continue what it knows (422)";
    default:
      return `the witness answered ${status}`;
  }
}
