/** A part of what must have the same outcome on both engines, on a libSQL server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { ended } from "../ended.ts";
import { LIBSQL_SERVER } from "../support/libsql-server.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { IN_EVERY_RUN, ON_BOTH, onServer } from "./both.ts";

setDefaultTimeout(PROCESS_TEST_MS);

test.skipIf(LIBSQL_SERVER === null)("scenarios have the same outcomes on a libSQL server", async () => {
  const { code, err } = await ended(onServer(process.env.TEST_LONG === "1" ? ON_BOTH : IN_EVERY_RUN, "pipe"));
  const failed = err.split("\n").filter((line) => line.startsWith("(fail)"));
  expect({ failed, code }).toEqual({ failed: [], code: 0 });
  expect(err).toMatch(/\b[1-9]\d+ pass\b/);
});
