/** The commands of docs/auditing.md print what the page shows, on evidence like that of the page. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatSignature } from "../../src/log/note.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { stampedText, timestampLine } from "../../src/log/timestamp.ts";
import { TestTimestampAuthority } from "../anchors/authority.ts";
import { tamper } from "../corpus/base.ts";
import { Witness } from "../corpus/witness.ts";
import { ended } from "../ended.ts";
import { eventually } from "../eventually.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";
import { type MadeWorkspace, makeWorkspace } from "./governd.ts";
import { GOVERND, governdProcess, type RunningDaemon, startGovernd } from "./governd-process.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const ROOT = join(import.meta.dir, "../..");
const PAGE = readFileSync(join(ROOT, "docs/auditing.md"), "utf8");
const temporary = temporaryDirectory();
const place = (...names: string[]) => join(temporary.path, ...names);

/** The directory in which the commands of a section run, and the ids that replace those on the page. */
interface Scene {
  directory: string;
  workspaceId: string;
  eventId?: string;
}
const scenes = new Map<string, Scene>();

function scene(section: string, workspaceId: string): string {
  const directory = place(`scene-${scenes.size}`);
  mkdirSync(directory);
  copyFileSync(join(ROOT, "tools/verify.py"), join(directory, "verify.py"));
  scenes.set(section, { directory, workspaceId });
  return directory;
}

const databaseOf = (data: string, { workspace_id: id }: MadeWorkspace) => place(data, "workspaces", `${id}.db`);
const sealsOf = (data: string, { workspace_id: id }: MadeWorkspace) => place(data, "seals", `${id}.log`);
const keyOf = (data: string) => place(data, "keys", "seal.pub");

async function command(...words: string[]): Promise<void> {
  const { code, err } = await governdProcess(words);
  if (code !== 0) throw new Error(`${words.join(" ")}: ${err}`);
}

/** Sends requests with the key of one workspace. */
class Client {
  constructor(
    readonly daemon: RunningDaemon,
    readonly made: MadeWorkspace,
  ) {}

  ask = async (path: string, body?: object): Promise<string> => (await this.#response(path, body)).text();

  async #response(path: string, body?: object, method = "POST"): Promise<Response> {
    const init = body === undefined ? {} : { method, body: JSON.stringify(body) };
    const response = await this.daemon.ask(path, { apiKey: this.made.api_key, ...init });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response;
  }

  /** Gives an agent a config under which nothing that it overwrites is kept, so that the events can be pruned. */
  async keepNoHistory(agentId: string): Promise<void> {
    await this.#response(`/v1/config/${agentId}`, { policies: { history_days: 0 } }, "PUT");
  }

  async write(agent_id: string, key: string): Promise<void> {
    await this.ask("/v1/data/write", { agent_id, key, value: "v" });
  }

  export(more: object = {}): Promise<string> {
    return this.ask("/v1/audit/export", { scope: "workspace", format: "ndjson", ...more });
  }

  async exportWithCursor(): Promise<{ whole: string; cursor: string }> {
    const response = await this.#response("/v1/audit/export", { scope: "workspace", format: "ndjson" });
    return { cursor: response.headers.get("x-export-cursor") ?? "", whole: await response.text() };
  }
}

/** What the requests of the page returned. */
const requested = { whole: "", export: "", resumed: "", checkpoint: "", firstHash: "", seal: "", hash: "" };

/** Of each block of the page that these tests send to a daemon, something that no other block has. */
const REQUESTS = ["> export.ndjson", "> whole.ndjson", "/v1/tlog/checkpoint"];

function requests(): string[] {
  const blocks = [...PAGE.matchAll(/^( *)```sh\n((?:(?!```)[\s\S])*?curl[\s\S]*?)^ *```$/gm)].map(
    ([, , block = ""]) => block,
  );
  return REQUESTS.map((own) => {
    const [block, ...more] = blocks.filter((text) => text.includes(own));
    if (block === undefined || more.length > 0) throw new Error(`not one block of the page has ${own}`);
    return block;
  });
}

/** Runs the requests of the page against a daemon. */
async function runRequests(
  { daemon, made, ask }: Client,
  { interrupted, cursor, whole }: { interrupted: string; cursor: string; whole: string },
): Promise<void> {
  copyFileSync(join(place("data"), "tls", "ca.crt"), join(interrupted, "ca.crt"));
  const port = new URL(daemon.url).port;
  const [toExport, toResume, toTiles] = requests().map(
    (block) =>
      `KEY=${made.api_key}\n${block
        .replace("curl …", 'curl --cacert ca.crt -H "X-API-Key: $KEY" -H "Content-Type: application/json"')
        .replaceAll(/https:\/\/(governd\.example|localhost):8443/g, `https://localhost:${port}`)
        .replace(/"7vN9Bv1MjBD_….400"/, `"${cursor}.400"`)}`,
  ) as [string, string, string];
  await shell(toResume, interrupted);
  requested.whole = whole;
  requested.resumed = readFileSync(join(interrupted, "whole.ndjson"), "utf8");
  await shell(toExport, interrupted);
  requested.export = readFileSync(join(interrupted, "export.ndjson"), "utf8");
  const printed = await shell(toTiles, interrupted);
  const end = printed.lastIndexOf("\n", printed.length - 2) + 1;
  requested.checkpoint = printed.slice(0, end);
  requested.firstHash = printed.slice(end).trim();
  requested.seal = await ask("/v1/audit/seal");
  requested.hash = JSON.parse(whole.split("\n")[1] as string).hash;
}

/** Does some work with a running daemon, and stops it, so that everything is sealed. */
async function beside(
  data: string,
  made: MadeWorkspace,
  work: (client: Client) => Promise<void>,
  words: readonly string[] = [],
): Promise<void> {
  await using daemon = await startGovernd(place(data), words);
  await work(new Client(daemon, made));
  await daemon.stop();
}

/** Makes a log of 402 events, its exports, a pruning and a forgery. */
async function makeLargeLog(): Promise<void> {
  const made = await makeWorkspace(place("data"));
  const id = made.workspace_id;
  const window = scene("Is anything missing?", id);
  const interrupted = scene("An export that was interrupted", id);
  const pruned = scene("A log whose beginning was pruned", id);
  const byHand = scene("Standard clients", id);
  const failed = scene("Read a failure", id);
  const before = (place_: string) => copyFileSync(keyOf("data"), join(place_, "seal.pub"));
  let resume = { interrupted, cursor: "", whole: "" };
  await beside("data", made, async (client) => {
    const edges: string[] = [];
    for (let seq = 2; seq < 402; seq++) {
      if (seq === 60 || seq === 120) {
        await Bun.sleep(20);
        edges.push(new Date().toISOString());
        await Bun.sleep(20);
      }
      const agent = seq % 3 === 0 ? "billing" : "support-bot";
      await (seq === 5 || seq === 6 ? client.keepNoHistory(agent) : client.write(agent, `key/${seq % 40}`));
    }
    const [start_time, end_time] = edges;
    const text = await client.export({ start_time, end_time });
    writeFileSync(join(window, "window.ndjson"), text);
    const lines = text.trimEnd().split("\n");
    const head = JSON.parse(lines.at(-11) as string).hash;
    const cut = [...lines.slice(0, -10), JSON.stringify({ type: "trailer", event_count: 51, head })];
    writeFileSync(join(window, "cut.ndjson"), `${cut.join("\n").replace('"event_count":60', '"event_count":51')}\n`);
    const { whole, cursor } = await client.exportWithCursor();
    const whole_ = whole.split("\n");
    writeFileSync(join(interrupted, "part.ndjson"), `${whole_.slice(0, 401).join("\n")}\n${whole_[401]?.slice(0, 50)}`);
    for (const directory of [pruned, byHand]) writeFileSync(join(directory, "export.ndjson"), whole);
    (scenes.get("A log whose beginning was pruned") as Scene).eventId = JSON.parse(whole_[201] as string).id;
    resume = { interrupted, cursor, whole };
  });
  for (const directory of [window, pruned, failed]) before(directory);
  cpSync(place("data"), join(pruned, "data"), { recursive: true });
  const forged = join(failed, `${id}.db`);
  copyFileSync(databaseOf("data", made), forged);
  tamper(forged, (connection) => connection.run("UPDATE events SET result = 'blocked' WHERE seq = 3"));
  await beside("data", made, (client) => runRequests(client, resume));
}

/** Makes a log that is restored: once with the lost seals named, and once without. */
async function makeRestoredLog(): Promise<void> {
  const made = await makeWorkspace(place("lost"));
  const directory = scene("A log that was restored", made.workspace_id);
  await beside("lost", made, (client) => client.write("support-bot", "kept"));
  await command("backup", place("backups"), "--data-dir", place("lost"));
  const [backup] = [...new Bun.Glob("*/manifest.json").scanSync(place("backups"))];
  await beside("lost", made, async (client) => {
    for (const key of ["a", "b", "c"]) await client.write("support-bot", key);
  });
  copyFileSync(sealsOf("lost", made), join(directory, "kept.log"));
  copyFileSync(keyOf("lost"), join(directory, "seal.pub"));
  for (const [data, name, ...seals] of [
    ["restored", `${made.workspace_id}.db`, "--seals", place("lost")],
    ["unnamed", "unnamed.db"],
  ] as const) {
    await command(
      "restore",
      "--keep-rights",
      place("backups", backup as string, ".."),
      "--data-dir",
      place(data),
      ...seals,
    );
    await beside(data, made, (client) => client.write("support-bot", "later"));
    copyFileSync(databaseOf(data, made), join(directory, name));
  }
}

/** Makes a log whose sealing key is rotated, and a receipt that a witness has cosigned. */
async function makeRotatedLog(): Promise<void> {
  const made = await makeWorkspace(place("rotated"));
  const rotated = scene("A key that was changed", made.workspace_id);
  const witnessed = scene("Seals kept elsewhere", made.workspace_id);
  for (const directory of [rotated, witnessed]) copyFileSync(keyOf("rotated"), join(directory, "first.pub"));
  await command("rotate-seal-key", "--data-dir", place("rotated"));
  const unshown = scene("Verify", made.workspace_id);
  let receipt = "";
  await beside("rotated", made, async (client) => {
    const seal = await client.ask("/v1/audit/seal");
    for (const name of ["kept-seal.txt", "kept-seals.txt"]) writeFileSync(join(unshown, name), seal);
    const text = await client.export();
    for (const directory of [rotated, unshown]) writeFileSync(join(directory, "export.ndjson"), text);
    const { public_key } = JSON.parse(text.split("\n")[0] as string);
    writeFileSync(join(unshown, "seal.vkey"), `${public_key}\n`);
    const { id } = JSON.parse(text.split("\n")[1] as string);
    receipt = await client.ask(`/v1/audit/${id}/receipt`);
    writeFileSync(join(unshown, "receipt.tlog-proof"), await client.ask(`/v1/audit/${id}/receipt?format=tlog-proof`));
  });
  for (const directory of [rotated, unshown]) writeFileSync(join(directory, "receipt.txt"), receipt);
  copyFileSync(keyOf("rotated"), join(unshown, "seal.pub"));
  copyFileSync(databaseOf("rotated", made), join(unshown, `${made.workspace_id}.db`));
  const policy = [`log ${readFileSync(join(unshown, "seal.vkey"), "utf8").trim()}`];
  for (const name of ["w1", "w2"]) {
    const witness = new Witness(`${name}.example`);
    policy.push(`witness ${name} ${witness.key}`);
    writeFileSync(join(witnessed, `${name}.vkey`), `${witness.key}\n`);
    if (name === "w2") continue;
    const [head = "", ...seal] = receipt.split("\n\n");
    writeFileSync(join(witnessed, "receipt.txt"), `${head}\n\n${witness.cosign(seal.join("\n\n"))}`);
    await makeStamped(scene("Time stamps", made.workspace_id), `${head}\n\n`, seal.join("\n\n"));
  }
  writeFileSync(join(witnessed, "policy.txt"), [...policy, "group ours any w1 w2", "quorum ours", ""].join("\n"));
}

/** Makes a data directory with a state root. */
async function makeProvable(): Promise<void> {
  const made = await makeWorkspace(place("proved"));
  const directory = scene("Prove what was stored", made.workspace_id);
  const work = async (client: Client) => {
    for (const key of ["customers/41", "customers/42", "refunds/limit"]) await client.write("support-bot", key);
    // The five events so far, and the root of their state. Asking for a seal is no event.
    const size = async () => Number((await client.ask("/v1/audit/seal")).split("\n")[1]);
    await eventually("the state root is sealed", async () => (await size()) >= 6);
  };
  await beside("proved", made, work, ["--seal-interval", "5s", "--state-roots", "daily"]);
  cpSync(place("proved"), join(directory, "data"), { recursive: true });
  copyFileSync(keyOf("proved"), join(directory, "seal.pub"));
}

/** Makes a receipt with a time stamp. */
async function makeStamped(directory: string, head: string, seal: string): Promise<void> {
  await using authority = new TestTimestampAuthority(place("authority"));
  const line = timestampLine("tsa.example.org", await authority.token(stampedText(parseSeal(seal))));
  writeFileSync(join(directory, "receipt.txt"), `${head}${seal}${formatSignature(line)}`);
  copyFileSync(authority.rootFile, join(directory, "tsa-root.pem"));
  copyFileSync(keyOf("rotated"), join(directory, "first.pub"));
}

/** Whether the programs that the page's commands use are installed. */
const HAS_PROGRAMS = ["python3", "curl", "jq", "xxd", "openssl"].every((name) => Bun.which(name) !== null);

beforeAll(async () => {
  if (!HAS_PROGRAMS) return;
  await makeLargeLog();
  await makeRestoredLog();
  await makeRotatedLog();
  await makeProvable();
}, PROCESS_TEST_MS);

/** A command of the page and what the page shows of its output. */
interface Shown {
  section: string;
  line: string;
  output: string;
}

function shownCommands(): Shown[] {
  const found: Shown[] = [];
  for (const part of PAGE.split(/^###? /m)) {
    const section = part.slice(0, part.indexOf("\n"));
    for (const [, block = ""] of part.matchAll(/^```\n(\$ [\s\S]*?)^```$/gm)) {
      for (const text of block.split(/^\$ /m).slice(1)) {
        const end = text.indexOf("\n");
        found.push({ section, line: text.slice(0, end), output: text.slice(end + 1) });
      }
    }
  }
  return found;
}

/** Runs a line in a shell in which `governd` is this program. Returns what it printed. */
async function shell(line: string, directory: string): Promise<string> {
  const governd = `governd() { ${GOVERND.map((word) => `'${word}'`).join(" ")} "$@"; }`;
  const child = Bun.spawn(["bash", "-c", `${governd}\n${line}`], {
    cwd: directory,
    env: { PATH: process.env.PATH, GOVERND_DATA_DIR: "data", PYTHONDONTWRITEBYTECODE: "1" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const { out, err } = await ended(child);
  return out + err;
}

/** Replaces what differs from run to run: ids, times, hashes, numbers of epochs, and how many seals were hit. */
const plain = (text: string): string =>
  text
    .replaceAll(/\b(ws|aud)_[0-9a-z]{26}\b/g, "$1_ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[0-9:.]+Z/g, "TIME")
    .replaceAll(/\b[0-9a-f]{64}\b/g, "HASH")
    .replaceAll(/\b1[7-9]\d{13}\b/g, "EPOCH")
    .replaceAll(/\d+ root_mismatch/g, "N root_mismatch");

/** Returns the text as a pattern in which a line `…` stands for any lines. */
function pattern(text: string): RegExp {
  const lines = plain(text)
    .trimEnd()
    .split("\n")
    .map((line) => (line.trim() === "…" ? "(?:.*\\n)+?" : `${RegExp.escape(line)}\n`));
  return new RegExp(`^${lines.join("")}$`);
}

describe.skipIf(!HAS_PROGRAMS)("docs/auditing.md", () => {
  test("its commands print what it shows", async () => {
    const commands = shownCommands();
    expect(new Set(commands.map(({ section }) => section)).size).toBeGreaterThan(6);
    const wrong: object[] = [];
    const soon = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    for (const { section, line, output } of commands) {
      const { directory, workspaceId, eventId = "" } = scenes.get(section) as Scene;
      const actual = line
        .replaceAll(/\bws_[0-9a-z]{26}\b/g, workspaceId)
        .replaceAll(/\baud_[0-9a-z]{26}\b/g, eventId)
        .replace("2027-01-01", soon);
      const printed = await shell(actual, directory);
      if (!(output === "" ? printed === "" : pattern(output).test(plain(printed))))
        wrong.push([section, actual, ...printed.split("\n")]);
    }
    expect(wrong).toEqual([]);
  });

  test("its requests are answered as it says", () => {
    expect(requested.resumed).toBe(requested.whole);
    expect(requested.export.split("\n").slice(1, 401)).toEqual(requested.whole.split("\n").slice(1, 401));
    expect(requested.checkpoint).toBe(requested.seal);
    expect(requested.firstHash).toBe(requested.hash);
  });

  test("so do the commands whose output is not shown, and those of the page of the formats", async () => {
    const pages = [PAGE, readFileSync(join(ROOT, "docs/audit-format.md"), "utf8")];
    const blocks = pages.flatMap((page) =>
      [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block),
    );
    // `as` is a function of the page that runs curl.
    const others = blocks.filter((block) => !/curl|^(sed -n 2p|as) /.test(block));
    expect(others.length).toBe(4);
    const printed: string[] = [];
    for (const block of others) {
      const section = block.includes("openssl ts") ? "Time stamps" : "Verify";
      const { directory, workspaceId } = scenes.get(section) as Scene;
      const actual = block.replaceAll(/\bws_[0-9a-z]{26}\b/g, workspaceId);
      printed.push(await shell(`set -e\n${actual}\necho it ended well`, directory));
    }
    // Behind it are the warnings of programs.
    for (const text of printed) expect(text).toContain("it ended well\n");
    const { directory } = scenes.get("Verify") as Scene;
    const { hash, details_commitment } = JSON.parse(
      readFileSync(join(directory, "export.ndjson"), "utf8").split("\n")[1] as string,
    );
    expect(printed.at(-1)?.split("\n").slice(0, 2)).toEqual([`${hash}  -`, `${details_commitment}  -`]);
  });

  test("the hash of an event by hand", async () => {
    const block = /^```sh\n(sed -n 2p export\.ndjson \| jq[\s\S]*?)^```$/m.exec(PAGE)?.[1] as string;
    const { directory } = scenes.get("Standard clients") as Scene;
    const [computed, stated] = (await shell(block, directory)).trimEnd().split("\n");
    expect(computed).toBe(`${stated}  -`);
    expect(stated).toMatch(/^[0-9a-f]{64}$/);
  });
});
