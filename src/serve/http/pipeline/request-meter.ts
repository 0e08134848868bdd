/**
 * Counts requests for the metrics. It runs for every request, so it only increments numbers in small maps; the text is
 * made at a scrape. No name that a client chose becomes a label.
 */
import { DURATION_BOUNDS, Histogram } from "../../metrics/histogram.ts";
import type { Exchange } from "./exchange.ts";

/** Methods that are counted by name. */
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const OTHER_METHOD = "other";
/** The route of a request that was refused before routing. */
const NO_ROUTE = "none";

/** The problems that mean refused credentials. */
const FAILED_AUTHENTICATION: ReadonlySet<string> = new Set([
  "unauthenticated",
  "sign_in_failed",
  "second_factor_failed",
  "password_wrong",
]);

/** The requests of one method for one route. */
interface MeteredRoute {
  readonly method: string;
  /** The route's pattern, or `none`. */
  readonly route: string;
  /** The time from the request to the start of its response, seconds. */
  readonly durations: Histogram;
  readonly byStatus: Map<number, number>;
}

/** A result of an operation, and how often it occurred. */
interface MeteredDecision {
  operation: string;
  /** `ok`, `allowed`, `blocked`, … */
  result: string;
  /**
   * The policy that refused it (`block_pii`), or the problem's code when it was denied; null when it was not refused.
   */
  refusedBy: string | null;
  count: number;
}

export class RequestMeter {
  readonly #routes = new Map<string, Map<string, MeteredRoute>>();
  readonly #decisions = new Map<string, Map<string, MeteredDecision>>();
  readonly #problems = new Map<string, number>();

  /** Counts a request with its response. */
  count(exchange: Exchange, status: number, durationMs: number): void {
    const counted = this.#route(exchange.route ?? NO_ROUTE, exchange.method);
    counted.byStatus.set(status, (counted.byStatus.get(status) ?? 0) + 1);
    counted.durations.observe(durationMs / 1_000);
    const { decision, operation, problem, parts } = exchange;
    if (parts !== null) {
      for (const part of parts) this.#decide(part.operation, part.result, refusalOf(part, problem), part.count);
    } else if (decision !== null && operation !== null) {
      this.#decide(operation, decision, refusalOf({ result: decision, blockedBy: exchange.blockedBy }, problem), 1);
    }
    if (problem !== null) this.#problems.set(problem, (this.#problems.get(problem) ?? 0) + 1);
  }

  /** Returns every route that was requested. */
  *routes(): Iterable<MeteredRoute> {
    for (const byMethod of this.#routes.values()) yield* byMethod.values();
  }

  /** Returns every result that occurred. */
  *decisions(): Iterable<MeteredDecision> {
    for (const byResult of this.#decisions.values()) yield* byResult.values();
  }

  /** Returns how many responses were problems, by code. */
  problems(): Iterable<[code: string, count: number]> {
    return this.#problems;
  }

  /** Returns how many requests had refused credentials or none, by the problem's code. */
  failedAuthentications(): [code: string, count: number][] {
    return [...FAILED_AUTHENTICATION].map((code) => [code, this.#problems.get(code) ?? 0]);
  }

  #route(route: string, method: string): MeteredRoute {
    const byMethod = this.#routes.getOrInsertComputed(route, newMap<MeteredRoute>);
    const name = METHODS.has(method) ? method : OTHER_METHOD;
    const known = byMethod.get(name);
    if (known !== undefined) return known;
    const counted = { method: name, route, durations: new Histogram(DURATION_BOUNDS), byStatus: new Map() };
    byMethod.set(name, counted);
    return counted;
  }

  #decide(operation: string, result: string, refusedBy: string | null, times: number): void {
    const byResult = this.#decisions.getOrInsertComputed(operation, newMap<MeteredDecision>);
    const name = refusedBy ?? result;
    const known = byResult.get(name);
    if (known !== undefined) known.count += times;
    else byResult.set(name, { operation, result, refusedBy, count: times });
  }
}

const newMap = <Value>() => new Map<string, Value>();

/**
 * Returns what refused an operation, `block_pii` for `policy:block_pii`, or the code of a problem; null for nothing.
 */
function refusalOf(of: { result: string; blockedBy?: string | null | undefined }, problem: string | null) {
  if (of.blockedBy != null) return of.blockedBy.slice(of.blockedBy.indexOf(":") + 1);
  return of.result === "denied" ? problem : null;
}
