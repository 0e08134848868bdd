/** What went wrong with a request, as the API describes it (RFC 9457). */
import type { Finding, JsonObject } from "./types.ts";

/** The status of a request that got no response. */
const NO_RESPONSE = 0;

export class ApiProblem extends Error {
  override readonly name = "ApiProblem";
  readonly status: number;
  readonly code: string;
  readonly title: string;
  /** The offending field of the request, when there is one. */
  readonly param: string | null;
  readonly requestId: string | null;
  readonly document: JsonObject;

  constructor(status: number, document: JsonObject, requestId: string | null) {
    const text = (member: string) => (typeof document[member] === "string" ? document[member] : null);
    super(text("detail") ?? "The response gave no reason.");
    this.status = status;
    this.code = text("code") ?? "unknown";
    this.title = text("title") ?? `The daemon answered ${status}`;
    this.param = text("param");
    this.requestId = text("request_id") ?? requestId;
    this.document = document;
  }

  /** What the policies found, when that is the reason. */
  get findings(): Finding[] {
    const { findings } = this.document;
    return Array.isArray(findings) ? (findings as unknown as Finding[]) : [];
  }
}

/** Returns whatever was thrown as a problem. */
export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new ApiProblem(
    NO_RESPONSE,
    { title: "Something in the dashboard went wrong", detail, code: "dashboard" },
    null,
  );
}

/** Returns the problem of a request that could not reach the daemon. */
export function unreachable(): ApiProblem {
  return new ApiProblem(
    NO_RESPONSE,
    {
      title: "No response from the daemon",
      detail: "It could not be reached. Check that it is running and that you are connected, then try again.",
      code: "unreachable",
    },
    null,
  );
}

/** Returns the problem that a response describes. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const requestId = response.headers.get("x-request-id");
  const isJson = response.headers.get("content-type")?.includes("json") === true;
  const document = isJson ? ((await response.json()) as JsonObject) : {};
  return new ApiProblem(response.status, document, requestId);
}
