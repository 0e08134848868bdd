/** A clock that is set back puts nothing off. */
import { expect, test } from "bun:test";
import { Troubles, WorkspacePaused } from "../../src/serve/threads/circuit-breaker.ts";

const NOW_MS = Date.UTC(2026, 0, 2);
const DAY_MS = 86_400_000;

test("a workspace whose disk failed is tried again, and not only when the clock is where it was", () => {
  const health = new Troubles(() => {});
  health.failed("w", { code: "SQLITE_IOERR_WRITE" }, NOW_MS);
  expect(() => health.require("w", NOW_MS + 1)).toThrow(WorkspacePaused);
  expect(() => health.require("w", NOW_MS - DAY_MS)).not.toThrow();
  expect(health.toProbe(NOW_MS - DAY_MS, 1)).toEqual(["w"]);
});
