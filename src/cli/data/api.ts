/** A client of a daemon's API for commands. It repeats a request that fails for a moment until there is an answer. */

import { Failure } from "../../failure.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { sendRequest } from "../../outbound.ts";
import { connectionReason, type Probe } from "../../serve/daemon/health-probe.ts";
import { systemTimer } from "../../timer.ts";

/** How long one request may take, ms. */
const REQUEST_MS = 120_000;
/** How long a request without an answer is repeated, ms. */
const PATIENCE_MS = 60_000;
/** The pause before a repetition, ms; longer when the daemon says so. */
const PAUSE_MS = 1_000;

/** Problems that are only temporary. */
const PASSING = new Set(["unavailable", "outcome_unknown", "rate_limited", "idempotency_in_progress"]);

interface ApiRequest {
  method?: "POST";
  /** The path with its query. */
  path: string;
  body?: JsonObject;
  /** Makes a request that changes something safe to send again. */
  idempotencyKey?: string;
}

interface ApiAnswer {
  status: number;
  body: JsonObject;
}

export class DaemonApi {
  constructor(
    private readonly daemon: Probe,
    private readonly apiKey: string,
    private readonly patienceMs = PATIENCE_MS,
  ) {}

  /** Returns the answer to a request. @throws {Failure} `busy` when there is none within a minute */
  async ask(request: ApiRequest): Promise<ApiAnswer> {
    for (const end = performance.now() + this.patienceMs; ; ) {
      const { answer, reason, pauseMs } = await this.#try(request);
      if (answer !== undefined) return answer;
      if (performance.now() + pauseMs > end) throw new Failure("busy", reason);
      const pause = Promise.withResolvers<void>();
      systemTimer(pauseMs, pause.resolve);
      await pause.promise;
    }
  }

  async #try({ method, path, body, idempotencyKey }: ApiRequest) {
    const headers: Record<string, string> = { "x-api-key": this.apiKey };
    if (body !== undefined) headers["content-type"] = "application/json";
    if (idempotencyKey !== undefined) headers["idempotency-key"] = idempotencyKey;
    let response: Response;
    let text: string;
    try {
      const { url, tls } = this.daemon;
      const signal = AbortSignal.timeout(REQUEST_MS);
      const rest = { method: method ?? "GET", headers, signal, tls, redirect: "manual", keepalive: false } as const;
      response = await sendRequest(url + path, body === undefined ? rest : { ...rest, body: JSON.stringify(body) });
      text = await response.text();
    } catch (error) {
      return { reason: `${this.daemon.url} cannot be reached: ${connectionReason(error)}.`, pauseMs: PAUSE_MS };
    }
    const answer = { status: response.status, body: jsonOf(text) };
    if (!PASSING.has(String(answer.body.code))) return { answer, reason: "", pauseMs: 0 };
    const seconds = Number(response.headers.get("retry-after") ?? 1);
    return { reason: complaintOf(answer), pauseMs: Math.max(seconds * 1_000, PAUSE_MS) };
  }
}

/** Parses an answer. Text that is not a JSON object, which no daemon sends, has no members. */
function jsonOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns a message with the status and the reason of a refusal. */
export const complaintOf = ({ status, body }: ApiAnswer): string =>
  `The daemon returned ${status}${typeof body.detail === "string" ? `: ${body.detail}` : "."}`;

/** Returns the body of a 200. @throws {Failure} for any other answer */
export function requireGood(answer: ApiAnswer): JsonObject {
  if (answer.status === 200) return answer.body;
  throw new Failure(answer.status === 404 ? "not_found" : "environment", complaintOf(answer));
}
