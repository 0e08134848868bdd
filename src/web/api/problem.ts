/** The problem with a request, as the API describes it (RFC 9457). */
import type { Finding, JsonObject } from "./types.ts";

export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly code: string;
  readonly title: string;
  /** The offending field of the request, when there is one. */
  readonly param: string | null;
  readonly requestId: string | null;
  /** The key of the entry that the problem is about, when the request named none. */
  readonly entry: string | null;
  /** The policies' findings, when they are the reason. */
  readonly findings: readonly Finding[];

  /** `status` is the response's, 0 when there was none. */
  constructor(status: number, document: JsonObject, requestId: string | null = null) {
    const text = (member: string) => (typeof document[member] === "string" ? document[member] : null);
    super(text("detail") ?? "The response gave no reason.");
    this.code = text("code") ?? "unknown";
    this.title = text("title") ?? `The daemon answered ${status}`;
    this.param = text("param");
    this.requestId = text("request_id") ?? requestId;
    this.entry = text("key");
    this.findings = Array.isArray(document.findings) ? (document.findings as unknown as Finding[]) : [];
  }

  /** Whether the dashboard itself found the problem in the text of a field, which shows it. */
  get isInput(): boolean {
    return this.code === "input";
  }
}

/** Returns the problem of a field whose text could not be sent. */
export const badInput = (param: string, detail: string): ApiProblem =>
  new ApiProblem(0, { title: "The form is not complete", detail, code: "input", param });

/** Returns what `make` makes of the typed text; null while a part of the text cannot be sent. */
export function ifComplete<T>(make: () => T): T | null {
  try {
    return make();
  } catch (error) {
    if (asProblem(error).isInput) return null;
    throw error;
  }
}

/** Returns any thrown value as a problem. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ApiProblem(0, { title: "Something in the dashboard went wrong", detail, code: "dashboard" });
}

/** Returns the problem of a request that could not reach the daemon. */
export function unreachable(): ApiProblem {
  return new ApiProblem(0, {
    title: "No response from the daemon",
    detail: "It could not be reached. Check that it is running and that you are connected, then try again.",
    code: "unreachable",
  });
}

/** Returns the problem that a response describes. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const document = isJson ? ((await response.json()) as JsonObject) : {};
  return new ApiProblem(response.status, document, response.headers.get("x-request-id"));
}
