/**
 * What anyone with a key of the workspace may look at without leaving a trace: the newest seal, the
 * keys that seal, and that one sealed tree continues another. It is about the workspace as a whole and
 * says nothing of any agent, it is made to be fetched again and again by monitors, and if fetching a
 * seal were an event, every seal would call for the next one.
 */
import { sha256Hex } from "../../log/hash.ts";
import { parseVerifierKey } from "../../log/note.ts";
import { consistencyProof } from "../../log/proof.ts";
import type { OperationInputs } from "../../operations.ts";
import { publicKeyPem } from "../../seals/keyring.ts";
import { newestSeal, type StoredSeal, sealingKeys } from "../../state/seals.ts";
import { treeReader, treeRoot } from "../../state/tree.ts";
import type { Reader } from "../../store/transaction.ts";
import type { Answer } from "../../workspace/contract.ts";
import { Refusal } from "../../workspace/operation.ts";

const NO_SEAL = "There is no seal yet. The first one is made soon after the first event; try again later.";

async function requireSeal(reader: Reader): Promise<StoredSeal> {
  const seal = await newestSeal(reader);
  if (seal === null) throw new Refusal("seal_not_found", NO_SEAL);
  return seal;
}

/** The newest seal, as it is signed. */
export async function showSeal(reader: Reader): Promise<Answer> {
  const { note } = await requireSeal(reader);
  return { kind: "text", contentType: "text/plain; charset=utf-8", body: note };
}

/** The public key that seals now, and those before it. */
export async function showKey(reader: Reader): Promise<Answer> {
  const shown = (await sealingKeys(reader)).map(({ announcedSeq, verifierKey }) => {
    const { name, publicKey } = parseVerifierKey(verifierKey);
    return {
      origin: name,
      verifier_key: verifierKey,
      public_key: publicKeyPem(publicKey),
      fingerprint: sha256Hex(publicKey),
      announced_seq: announcedSeq,
    };
  });
  const current = shown.pop();
  if (current === undefined) throw new Refusal("internal", "The workspace names no sealing key.");
  return { kind: "json", status: 200, body: JSON.stringify({ ...current, earlier: shown }) };
}

/** The proof that the tree of `from` events is the beginning of the one of `to`, the newest seal's if left out. */
export async function showConsistency(
  reader: Reader,
  input: OperationInputs["audit.consistency"],
): Promise<Answer> {
  const seal = await requireSeal(reader);
  const { from, to = seal.size } = input;
  if (to > seal.size) {
    throw new Refusal("invalid_request", `"to" is beyond the newest seal, which covers ${seal.size} events.`);
  }
  if (from > to)
    throw new Refusal("invalid_request", '"from" is greater than "to": send the smaller size as "from".');
  const tree = async (size: number) => ({ size, root: base64(await treeRoot(reader, size)) });
  const proof = (await consistencyProof(from, to, treeReader(reader))).map(hex);
  const body = JSON.stringify({ from: await tree(from), to: await tree(to), proof });
  return { kind: "json", status: 200, body };
}

const hex = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");
/** As seals write it, so that the two can be compared by eye. */
const base64 = (hash: Uint8Array): string => Buffer.from(hash).toString("base64");
