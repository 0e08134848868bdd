/** Short ways to write requests in tables. */
import { encodeCursor, listFilters } from "../../../src/core/lists.ts";
import type { Sent } from "./serve.ts";

export const put = (path: string, body: unknown, headers?: Record<string, string>): Sent => ({
  method: "PUT",
  path,
  body,
  ...(headers === undefined ? {} : { headers }),
});
export const post = (path: string, body: unknown, headers: Record<string, string> = {}): Sent => ({
  method: "POST",
  path,
  body,
  headers,
});
export const get = (path: string): Sent => ({ path });
export const del = (path: string): Sent => ({ method: "DELETE", path });
export const write = (changes: object, headers?: Record<string, string>): Sent =>
  post("/v1/data/write", { agent_id: "a", key: "k", value: "v", ...changes }, headers);

/** One character, two UTF-16 code units. */
export const emoji = "\u{1f600}";

/** A cursor of agent a's data under p. */
export const dataCursor = encodeCursor(
  listFilters("data.list", { agentId: "a", prefix: "p", includeValues: false }),
  "p/9",
);
/** A cursor of agent a's deletes and writes. */
export const auditCursor = encodeCursor(
  listFilters("audit.query", { scope: { agentId: "a" }, operations: ["data.delete", "data.write"], window: {} }),
  17,
);
