import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { type Pointer, readPointer } from "../../src/core/datadir/pointer.ts";
import { ownCertificate } from "../../src/serve/tls/own-authority.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";
import { governd, makeWorkspace } from "./governd.ts";
import { governdProcess, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

let temporary: ReturnType<typeof temporaryDirectory>;
let data: string;

beforeEach(() => {
  temporary = temporaryDirectory();
  data = temporary.join("data");
});
afterEach(() => temporary[Symbol.dispose]());

const write = (key: string) => JSON.stringify({ agent_id: "a", key, value: "v" });
const serve = (...words: string[]) => governdProcess(["serve", "--data-dir", data, ...words]);

/** Returns the line that a failed start prints, and expects nothing else. */
async function refusal(...words: string[]): Promise<string> {
  const { code, out, err } = await serve(...words);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  expect(err.trimEnd().split("\n")).toHaveLength(1);
  return err;
}

describe("governd serve", () => {
  test("says where it answers, whom to trust, and what to do first", async () => {
    await using daemon = await startGovernd(data);
    expect(daemon.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(daemon.ready).toMatchObject({ data_dir: data, ca_file: dataDirectory(data).authority });
    expect(daemon.ready.next).toContain("workspace create --name NAME --data-dir");
    expect((await daemon.ask("/healthz")).status).toBe(200);
  });

  test("says the same as text", async () => {
    const child = Bun.spawn(
      [process.execPath, "src/main.ts", "serve", "--data-dir", data, "--listen", "127.0.0.1:0", "--log-format", "text"],
      { stdout: "pipe", stderr: "pipe", env: {} },
    );
    const reader = child.stdout.getReader();
    const decoder = new TextDecoder();
    let value = "";
    while (!value.includes("workspace create")) {
      const piece = await reader.read();
      if (piece.done) break;
      value += decoder.decode(piece.value, { stream: true });
    }
    expect(value).toMatch(/^governd \d+\.\d+\.\d+ listening on https:\/\/127\.0\.0\.1:\d+$/m);
    expect(value).toContain(dataDirectory(data).authority);
    expect(value).toContain("workspace create --name NAME");
    child.kill("SIGINT");
    expect(await child.exited).toBe(0);
  });

  test("honours workspaces and keys that are made and revoked beside it, at once", async () => {
    await using daemon = await startGovernd(data);
    const { workspace_id, api_key } = await makeWorkspace(data);
    const asked = await daemon.ask("/v1/data/write", { method: "POST", apiKey: api_key, body: write("k") });
    expect(asked.status).toBe(200);
    const words = ["key", "create", "--workspace", workspace_id, "--json", "--data-dir", data];
    const second = (await governd(words)).json<{ key_id: string; api_key: string }>();
    const read = () => daemon.ask("/v1/data/read?agent_id=a&key=k", { apiKey: second.api_key });
    expect((await read()).status).toBe(200);
    expect((await governd(["key", "revoke", second.key_id, "--data-dir", data])).code).toBe(0);
    expect((await read()).status).toBe(401);
    const trail = await daemon.ask("/v1/audit?scope=workspace&limit=10", { apiKey: api_key });
    const { data: events } = (await trail.json()) as { data: { operation: string; actor: string }[] };
    expect(events.map(({ operation }) => operation).filter((name) => !name.startsWith("audit."))).toEqual([
      "key.revoke",
      "key.create",
      "key.create",
      "workspace.create",
    ]);
    expect(new Set(events.map(({ actor }) => actor))).toEqual(new Set(["cli"]));
  });

  test("accepts a key that was made before its first start", async () => {
    const { api_key } = await makeWorkspace(data);
    await using daemon = await startGovernd(data);
    expect(daemon.ready.next).toBeUndefined();
    expect((await daemon.ask("/v1/data/list?agent_id=a", { apiKey: api_key })).status).toBe(200);
    expect((await daemon.ask("/v1/data/list?agent_id=a")).status).toBe(401);
  });

  test.each(["SIGTERM", "SIGINT"] as const)("stops on %s in time, having kept what it acknowledged", async (signal) => {
    const { api_key: apiKey } = await makeWorkspace(data);
    await using daemon = await startGovernd(data);
    const acknowledged: string[] = [];
    let going = true;
    const clients = Array.from({ length: 4 }, async (_, client) => {
      for (let i = 0; going; i++) {
        const key = `${client}/${i}`;
        const answer = await daemon
          .ask("/v1/data/write", { method: "POST", apiKey, body: write(key) })
          .catch(() => undefined);
        if (answer?.status === 200) acknowledged.push(key);
      }
    });
    await eventually("some are acknowledged", () => acknowledged.length > 20);
    // The exit code would be another if it took more than its ten seconds.
    const { code, err } = await daemon.stop(signal);
    going = false;
    await Promise.all(clients);
    expect({ code, unexpected: err.includes('"level":"error"') }).toEqual({ code: 0, unexpected: false });
    await using next = await startGovernd(data);
    for (const key of [acknowledged[0], acknowledged.at(-1)]) {
      const read = await next.ask(`/v1/data/read?agent_id=a&key=${encodeURIComponent(key ?? "")}`, { apiKey });
      expect(read.status).toBe(200);
    }
  });

  test("starts again after SIGKILL", async () => {
    const { api_key: apiKey } = await makeWorkspace(data);
    await using daemon = await startGovernd(data);
    await daemon.ask("/v1/data/write", { method: "POST", apiKey, body: write("k") });
    await daemon.stop("SIGKILL");
    await using next = await startGovernd(data);
    expect((await next.ask("/v1/data/read?agent_id=a&key=k", { apiKey })).status).toBe(200);
  });

  test("closes a connection that speaks plain HTTP to the TLS port", async () => {
    await using daemon = await startGovernd(data);
    const answer = await new Promise<string>((resolve) => {
      let text = "";
      const socket = connect(Number(new URL(daemon.url).port), "127.0.0.1", () => {
        socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n");
      });
      socket.on("data", (bytes) => {
        text += bytes.toString("latin1");
      });
      socket.on("error", () => {});
      socket.on("close", () => resolve(text));
    });
    expect(answer).not.toContain("HTTP/1.1 200");
  });

  test("behind a proxy it answers the proxy alone", async () => {
    const words = ["--tls", "off", "--trusted-proxies", "127.0.0.1"];
    await using daemon = await startGovernd(data, words);
    expect(daemon.url).toStartWith("http://");
    expect((await daemon.ask("/v1/data/list?agent_id=a")).status).toBe(403);
    const headers = { "x-forwarded-proto": "https" };
    expect((await daemon.ask("/v1/data/list?agent_id=a", { headers })).status).toBe(401);
  });
});

describe("governd serve refuses", () => {
  test("a port in use", async () => {
    using taken = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
    const line = await refusal("--listen", `127.0.0.1:${taken.port}`);
    expect(line).toStartWith(`governd: 127.0.0.1:${taken.port} is in use by another program.`);
  });

  test("an address that is not this machine's", async () => {
    expect(await refusal("--listen", "192.0.2.1:8443")).toContain("is not an address of this machine");
  });

  test("a data directory of another running daemon, which keeps running", async () => {
    await using daemon = await startGovernd(data);
    expect(await refusal("--listen", "127.0.0.1:0")).toContain("is in use by another running governd");
    expect((await daemon.ask("/healthz")).status).toBe(200);
  });

  test("a certificate that cannot be read", async () => {
    const files = ["--tls", "files", "--tls-cert", temporary.join("no.crt"), "--tls-key", temporary.join("no.key")];
    expect(await refusal("--listen", "127.0.0.1:0", ...files)).toBe(
      `governd: Cannot read the certificate ${temporary.join("no.crt")}: no such file or directory.\n`,
    );
  });

  test("a database that a newer governd wrote, and changes nothing in it", async () => {
    await makeWorkspace(data);
    const { installation_id } = readPointer(dataDirectory(data)) as Pointer;
    const path = workspaceFile(dataDirectory(data), installation_id);
    const database = new Database(path);
    database.run("PRAGMA user_version = 1000");
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    const before = readFileSync(path);
    expect(await refusal("--listen", "127.0.0.1:0")).toContain("was written by a newer governd");
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a directory that is something else's", async () => {
    writeFileSync(temporary.join("letter.txt"), "");
    const { code, err } = await governdProcess(["serve", "--data-dir", temporary.path]);
    expect(code).toBe(2);
    expect(err).toContain("is not a governd data directory");
  });
});

describe("certificates from files", () => {
  /** Resolves when new connections get a certificate for this name. A connection in its handshake may be cut off. */
  const serves = (url: string, name: string) =>
    eventually(`it shows a certificate for ${name}`, async () => {
      const names = await namesAt(url).catch(() => undefined);
      return names?.includes(name) ?? false;
    });

  /** Returns the names in the certificate that a new connection gets. */
  function namesAt(url: string): Promise<string | undefined> {
    return new Promise((resolve, reject) => {
      const { port } = new URL(url);
      const socket = connectTls({ port: Number(port), host: "127.0.0.1", rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().subjectaltname);
        socket.destroy();
      });
      socket.on("error", reject);
    });
  }

  test("are read again on SIGHUP; a pair that cannot be used changes nothing", async () => {
    const source = ensureDataDirectory(temporary.join("source"));
    const cert = temporary.join("server.crt");
    const key = temporary.join("server.key");
    const issue = async (name: string) => {
      await ownCertificate(source, [name], Date.now());
      copyFileSync(source.serverCertificate, cert);
      copyFileSync(source.serverKey, key);
    };
    await issue("one.example");
    await using daemon = await startGovernd(data, ["--tls", "files", "--tls-cert", cert, "--tls-key", key]);
    await serves(daemon.url, "one.example");
    await issue("two.example");
    daemon.signal("SIGHUP");
    // Some connections get the old certificate until only the new listener has the port, which the daemon logs.
    await eventually("it is replaced", () => daemon.said().includes("the certificate was replaced"));
    await serves(daemon.url, "two.example");
    writeFileSync(cert, "nonsense");
    daemon.signal("SIGHUP");
    await eventually("it is refused", () => daemon.said().includes("is not a certificate in PEM"));
    expect(await namesAt(daemon.url)).toContain("two.example");
    expect((await daemon.stop()).code).toBe(0);
  });
});
