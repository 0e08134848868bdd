/** What the answers of a libSQL server mean, and that each request is sent once. */
import { afterAll, expect, test } from "bun:test";
import { NoAnswer, query, ServerClient, ServerRefused, StatementFailed } from "../../src/engine-libsql/server.ts";
import { USER_AGENT } from "../../src/outbound.ts";

/** What the server answers: a status and a body, null to answer nothing, or a body that ends before its length. */
type Answer = { status?: number; text: string } | { cut: string } | null;

let answer: Answer = null;
const seen: { body: string; method: string; headers: Headers }[] = [];
const server = Bun.listen<{ received: string }>({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open(socket) {
      socket.data = { received: "" };
    },
    data(socket, bytes) {
      const { data } = socket;
      data.received += bytes.toString();
      const [head = "", ...rest] = data.received.split("\r\n\r\n");
      const body = rest.join("\r\n\r\n");
      const [first = "", ...lines] = head.split("\r\n");
      const headers = new Headers(lines.map((line) => line.split(": ", 2) as [string, string]));
      if (rest.length === 0 || Buffer.byteLength(body) < Number(headers.get("content-length"))) return;
      seen.push({ body, method: first, headers });
      data.received = "";
      if (answer === null) return;
      const text = "cut" in answer ? answer.cut : answer.text;
      const length = Buffer.byteLength(text) + ("cut" in answer ? 1 : 0);
      const status = "cut" in answer ? 200 : (answer.status ?? 200);
      socket.write(`HTTP/1.1 ${status} x\r\ncontent-length: ${length}\r\n\r\n${text}`);
      if ("cut" in answer) socket.end();
    },
  },
});
afterAll(() => server.stop(true));

const client = new ServerClient(`http://127.0.0.1:${server.port}`, "the token");
const STATEMENTS = [query("SELECT 1, ?", 7), query("UPDATE t SET v = ?", new Uint8Array([1, 2, 3]))];
const LONG_MS = 60_000;

/** Returns what becomes of a transaction, and the requests that were sent for it. */
async function outcome(given: Answer, timeoutMs = LONG_MS, mode: "read" | "write" | "rebuild" = "write") {
  answer = given;
  seen.length = 0;
  const result = await client.transact("ns", mode, STATEMENTS, timeoutMs).catch((error: unknown) => error);
  return { result, sent: [...seen] };
}

const ok = (result: object) => ({ type: "ok", response: result });
const rows = (...values: object[][]) => ({
  cols: values[0]?.map(() => ({ name: "c" })) ?? [],
  rows: values,
  affected_row_count: 0,
});
const NONE = rows();
const failing = (code: string, message: string) => ({ code, message });

/** Returns the answer to the batch: BEGIN, the two statements, COMMIT and ROLLBACK. A step fails if it has a code. */
function answered(...steps: (object | null)[]): string {
  const isError = (step: object | null) => step !== null && "code" in step;
  const result = {
    step_results: steps.map((step) => (isError(step) ? null : step)),
    step_errors: steps.map((step) => (isError(step) ? step : null)),
  };
  const stored = STATEMENTS.map(() => ok({ type: "store_sql" }));
  return JSON.stringify({ baton: null, results: [...stored, ok({ type: "batch", result }), ok({ type: "close" })] });
}

const DONE = answered(
  NONE,
  rows([
    { type: "integer", value: "1" },
    { type: "text", value: "a" },
  ]),
  NONE,
  NONE,
  null,
);

test("a transaction is one request, in the namespace, by the program, whose stream ends with it", async () => {
  const { result, sent } = await outcome({ text: DONE });
  expect(result).toEqual([[[1, "a"]], []]);
  expect(sent).toHaveLength(1);
  const [{ method, headers, body }] = sent as [(typeof sent)[number]];
  expect(method).toBe("POST /v2/pipeline HTTP/1.1");
  expect(headers.get("host")).toBe("ns.governd.internal");
  expect(headers.get("authorization")).toBe("Bearer the token");
  expect(headers.get("user-agent")).toBe(USER_AGENT);
  const { baton, requests } = JSON.parse(body);
  expect(baton).toBeUndefined();
  expect(requests.at(-1)).toEqual({ type: "close" });
  const { steps } = requests.at(-2).batch;
  expect(steps[1].stmt.args).toEqual([{ type: "integer", value: "7" }]);
  // Each statement runs only if the one before it has succeeded.
  expect(steps.slice(1, -1).map(({ condition }: { condition: object }) => condition)).toEqual(
    [0, 1, 2].map((step) => ({ type: "ok", step })),
  );
  expect((await outcome({ text: DONE })).sent[0]?.body).toBe(body);
});

test("a statement that fails, or a lock, leaves nothing behind", async () => {
  const failed = answered(NONE, NONE, failing("SQLITE_CONSTRAINT", "CHECK constraint failed"), null, NONE);
  const { result, sent } = await outcome({ text: failed });
  expect(result).toBeInstanceOf(StatementFailed);
  expect(result).toMatchObject({ index: 1, isConstraint: true, isPassing: false });
  expect(sent).toHaveLength(1);
  for (const steps of [
    [failing("SQLITE_BUSY", "database is locked"), null, null, null, NONE],
    [NONE, NONE, NONE, failing("SQLITE_BUSY", "database is locked"), NONE],
  ]) {
    const { result: locked } = await outcome({ text: answered(...steps) });
    expect(locked).toBeInstanceOf(StatementFailed);
    expect(locked).toMatchObject({ index: null, isLocked: true, isPassing: true });
  }
});

test("a COMMIT that fails may have happened", async () => {
  for (const code of ["SQLITE_IOERR", "SQLITE_FULL", "UNKNOWN"]) {
    const { result, sent } = await outcome({ text: answered(NONE, NONE, NONE, failing(code, "it failed"), NONE) });
    expect(result).toBeInstanceOf(NoAnswer);
    expect(result).toMatchObject({ mayHaveArrived: true, message: `${code}: it failed` });
    expect(sent).toHaveLength(1);
  }
});

test("an answer that is cut anywhere, is none, is late or is the server's failure may have been carried out", async () => {
  const answers: [Answer, number][] = [
    ...Array.from({ length: DONE.length }, (_, end): [Answer, number] => [{ text: DONE.slice(0, end) }, LONG_MS]),
    [{ cut: DONE }, LONG_MS],
    [{ cut: "" }, LONG_MS],
    [{ text: "{}" }, LONG_MS],
    [{ text: answered(NONE).replace('"ok"', '"error"') }, LONG_MS],
    [{ status: 500, text: DONE }, LONG_MS],
    [null, 1],
  ];
  for (const [given, timeoutMs] of answers) {
    const { result, sent } = await outcome(given, timeoutMs);
    expect(result).toBeInstanceOf(NoAnswer);
    expect(result).toMatchObject({ mayHaveArrived: true });
    expect(sent.length).toBeLessThanOrEqual(1);
  }
});

test("a refusal says its status, and does not repeat a request", async () => {
  for (const status of [400, 401, 404, 429]) {
    const { result, sent } = await outcome({ status, text: "a reason" });
    expect(result).toBeInstanceOf(ServerRefused);
    expect(result).toMatchObject({ status, isNotFound: status === 404 });
    expect((result as Error).message.includes("a reason")).toBe(status !== 400);
    expect(sent).toHaveLength(1);
  }
});

test("a server that is not there has received nothing", async () => {
  const nobody = new ServerClient("http://127.0.0.1:9/", null);
  const error = await nobody.transact("ns", "read", STATEMENTS, LONG_MS).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(NoAnswer);
  expect(error).toMatchObject({ mayHaveArrived: false });
});

test("rebuilding tables ignores references between them, and reading takes no lock", async () => {
  const sqls = async (mode: "read" | "rebuild") => {
    const { sent } = await outcome({ status: 500, text: "" }, LONG_MS, mode);
    const { requests } = JSON.parse(sent[0]?.body ?? "");
    const { batch } = requests.find(({ type }: { type: string }) => type === "batch");
    return batch.steps.map(({ stmt }: { stmt: { sql?: string } }) => stmt.sql);
  };
  expect((await sqls("rebuild"))[0]).toBe("PRAGMA foreign_keys=off");
  expect((await sqls("read"))[0]).toBe("BEGIN DEFERRED");
});
