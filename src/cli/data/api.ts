/** A daemon's API as commands use it: whatever fails for a moment is sent again, until there is an answer. */
import { connectionReason, type Probe } from "../../daemon/health-probe.ts";
import { Failure } from "../../failure.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { systemTimer } from "../../timer.ts";

/** How long one request may take, ms. */
const REQUEST_MS = 120_000;
/** How long a request that gets no answer is sent again, ms. */
const PATIENCE_MS = 60_000;
/** The pause before it, ms, unless the daemon names one. */
const PAUSE_MS = 1_000;

/** The problems that pass by themselves. */
const PASSING = new Set(["unavailable", "outcome_unknown", "rate_limited", "idempotency_in_progress"]);

interface ApiRequest {
  method?: "POST";
  /** With its query. */
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

  /** Returns the answer to a request. @throws {Failure} `busy` when there is none for a minute */
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
      response = await fetch(url + path, body === undefined ? rest : { ...rest, body: JSON.stringify(body) });
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

/** An answer that is none of a daemon has no members. */
function jsonOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns what a daemon said instead of doing what it was asked. */
export const complaintOf = ({ status, body }: ApiAnswer): string =>
  `The daemon returned ${status}${typeof body.detail === "string" ? `: ${body.detail}` : "."}`;

/** Returns the body of a good answer. @throws {Failure} for any other */
export function requireGood(answer: ApiAnswer): JsonObject {
  if (answer.status === 200) return answer.body;
  throw new Failure(answer.status === 404 ? "not_found" : "environment", complaintOf(answer));
}
