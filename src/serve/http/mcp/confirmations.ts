/**
 * Confirmations by a person. The question is sent to the client and back as a text that only this process can make. It
 * is bound to the actor, the call and the count, expires, and is accepted once. Nothing is stored for a question.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { canonicalJson } from "../../../log/jcs.ts";
import { invalid } from "../../../problem.ts";

/** How long a person may take to answer, ms. */
const VALID_MS = 10 * 60_000;

const KEY_BYTES = 32;
const NONCE_BYTES = 16;

/** The number of used texts from which expired ones are removed. */
const KEPT = 1_024;

const STATE = /^(\d{1,16})\.(\d{1,16})\.([0-9a-f]{32})\.([0-9a-f]{64})$/;

/** The call that is to be confirmed. */
interface ToolCall {
  /** The API key or the person. */
  actor: string;
  tool: string;
  args: JsonObject;
}

export class Confirmations {
  readonly #key: Uint8Array;
  /** When accepted texts expire, by their random part. */
  readonly #used = new Map<string, number>();

  constructor(
    private readonly randomBytes: (length: number) => Uint8Array,
    private readonly monotonicMs: () => number,
  ) {
    this.#key = Uint8Array.from(randomBytes(KEY_BYTES));
  }

  /** Returns the text that is sent to the client with the question. */
  begin(asked: ToolCall, count: number): string {
    const nonce = Buffer.from(this.randomBytes(NONCE_BYTES)).toString("hex");
    const said = `${Math.ceil(this.monotonicMs() + VALID_MS)}.${count}.${nonce}`;
    return `${said}.${this.#mac(said, asked)}`;
  }

  /**
   * Returns the count that a person has confirmed. The text cannot be used again.
   * @throws {Problem} `invalid_request` for a text that is not of this call, has expired or was used
   */
  accept(state: string, asked: ToolCall): number {
    const [, expires = "", count = "", nonce = "", mac = ""] = STATE.exec(state) ?? [];
    const said = `${expires}.${count}.${nonce}`;
    const isOurs = mac !== "" && timingSafeEqual(Buffer.from(mac, "hex"), Buffer.from(this.#mac(said, asked), "hex"));
    if (!isOurs || Number(expires) < this.monotonicMs() || this.#used.has(nonce)) {
      throw invalid("This confirmation has expired, was used, or is of another call. Call again.", "requestState");
    }
    this.#forgetExpired();
    this.#used.set(nonce, Number(expires));
    return Number(count);
  }

  #mac(said: string, { actor, tool, args }: ToolCall): string {
    const text = canonicalJson({ said, actor, tool, args });
    return createHmac("sha256", this.#key).update(text).digest("hex");
  }

  #forgetExpired(): void {
    if (this.#used.size < KEPT) return;
    const now = this.monotonicMs();
    for (const [nonce, expires] of this.#used) if (expires < now) this.#used.delete(nonce);
  }
}

/** The name of the question in a result. */
const QUESTION = "confirm";

/** Returns the result with the question, as JSON. */
export function questionResult(message: string, state: string): string {
  const requestedSchema = {
    type: "object",
    properties: { confirm: { type: "boolean", title: "Confirm", description: message } },
    required: ["confirm"],
  };
  return JSON.stringify({
    resultType: "input_required",
    inputRequests: { [QUESTION]: { method: "elicitation/create", params: { mode: "form", message, requestedSchema } } },
    requestState: state,
  });
}

/** Returns a person's answer; null when the question was not answered. */
export function answerIn(responses: JsonValue | undefined): "yes" | "no" | null {
  const answer = isJsonObject(responses) ? responses[QUESTION] : undefined;
  if (!isJsonObject(answer)) return null;
  const { action, content } = answer;
  return action === "accept" && isJsonObject(content) && content.confirm === true ? "yes" : "no";
}
