/** A part of what must have the same outcome on both engines, on a libSQL server. */
import { expect, test } from "bun:test";
import { ended } from "../ended.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { IN_EVERY_RUN, ON_BOTH, onServer } from "./both.ts";

test.skipIf(LIBSQL_SERVER === null)("scenarios have the same outcomes on a libSQL server", async () => {
  const { code, err } = await ended(onServer(process.env.TEST_LONG === "1" ? ON_BOTH : IN_EVERY_RUN, "pipe"));
  const failed = err.split("\n").filter((line) => line.startsWith("(fail)"));
  expect({ failed, code }).toEqual({ failed: [], code: 0 });
  expect(err).toMatch(/\b[1-9]\d+ pass\b/);
});
