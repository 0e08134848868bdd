/** A time stamp authority (RFC 3161): its token over a seal is kept with the seal. */
import { formatNote } from "../../log/note.ts";
import { parseSeal } from "../../log/seal.ts";
import { stampedText, timestampLine } from "../../log/timestamp.ts";
import { readAtMost, sendRequest } from "../../outbound.ts";
import { type AnchoredSeal, AnchorFailed, type AnchorTarget } from "./targets.ts";

/** The longest answer that is read, bytes. */
const MAX_ANSWER_BYTES = 64 * 1024;

/** @param keep stores a seal with a further signature line */
export function timestampTarget(url: string, keep: (seal: AnchoredSeal) => void): AnchorTarget {
  const { host } = new URL(url);
  return {
    kind: "timestamp",
    place: host,
    name: `timestamp ${host}`,
    async deliver(seal, signal) {
      const parsed = parseSeal(seal.note);
      const token = await stamp(url, stampedText(parsed), signal);
      const { text, signatures } = parsed.note;
      keep({ ...seal, note: formatNote({ text, signatures: [...signatures, timestampLine(host, token)] }) });
    },
  };
}

/** Returns a token over a text. It is checked as far as that needs no authority that somebody trusts. */
async function stamp(url: string, text: string, signal: AbortSignal): Promise<Uint8Array> {
  const { TimestampError, TimestampToken, timestampRequest, tokenIn } = await import("../../log/timestamp-token.ts");
  const response = await sendRequest(url, {
    method: "POST",
    redirect: "manual",
    headers: { "content-type": "application/timestamp-query", accept: "application/timestamp-reply" },
    body: timestampRequest(text),
    signal,
  });
  const answer = await readAtMost(response, MAX_ANSWER_BYTES);
  if (response.status !== 200) throw new AnchorFailed(`the time stamp authority returned ${response.status}`);
  if (answer === null) throw new AnchorFailed("the answer of the time stamp authority is too long");
  try {
    const token = tokenIn(answer);
    if (await TimestampToken.read(token).covers(text)) return token;
  } catch (error) {
    if (error instanceof TimestampError) throw new AnchorFailed(`the time stamp cannot be used: ${error.message}`);
    throw error;
  }
  throw new AnchorFailed("the time stamp cannot be used: it is not over this seal, or its signature is not right");
}
