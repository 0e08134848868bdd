/** Requests that the program makes name it. */
import { expect, test } from "bun:test";
import { sendRequest, USER_AGENT } from "../src/outbound.ts";
import { VERSION } from "../src/version.ts";

test("a request has the program's name and version, whatever a library has set, and all other headers", async () => {
  const seen: (string | null)[][] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ headers, method }) {
      seen.push([method, headers.get("user-agent"), headers.get("host"), headers.get("x-more")]);
      return new Response("");
    },
  });
  const url = `http://127.0.0.1:${server.port}`;
  const host = `127.0.0.1:${server.port}`;
  await sendRequest(url);
  await sendRequest(new URL(url), { method: "POST", headers: { "User-Agent": "library/1", "x-more": "1" } });
  await sendRequest(url, { headers: new Headers({ "user-agent": "library/1", host: "other.example" }) });
  expect(USER_AGENT).toBe(`governd/${VERSION}`);
  expect(seen).toEqual([
    ["GET", USER_AGENT, host, null],
    ["POST", USER_AGENT, host, "1"],
    ["GET", USER_AGENT, "other.example", null],
  ]);
  await server.stop(true);
});
