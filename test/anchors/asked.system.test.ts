/** `verify` asks a witness, over HTTPS, for the newest seal of a log. It need not trust whoever hands over the file. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { workspaceFile } from "../../src/core/datadir/layout.ts";
import { readSealKey, sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { newestSeal } from "../../src/core/rows/log/seals.ts";
import { treeReader } from "../../src/core/rows/log/tree.ts";
import { witnessTarget } from "../../src/follow/anchors/witness.ts";
import { formatVerifierKey, parseVerifierKey, verifierKey } from "../../src/log/note.ts";
import { consistencyProof } from "../../src/log/proof.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { addCheckpointBody, parseWitness } from "../../src/log/witness.ts";
import { openConnection } from "../../src/store/connection.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { governd } from "../cli/governd.ts";
import { governdProcess } from "../cli/governd-process.ts";
import { PATIENCE_MS, PROCESS_TEST_MS } from "../patience.ts";
import { TestAuthority } from "../tls/authority.ts";
import { TestWitness } from "./witness.ts";

let from: FilledDirectory;
let witness: TestWitness;
/** A second witness that knows nothing of these logs. */
let stranger: TestWitness;
let key: string;

/** Has a witness cosign the newest seal of a log. */
async function cosign(id: string): Promise<void> {
  const connection = openConnection(workspaceFile(from.data, id), { readOnly: true });
  try {
    const stored = await newestSeal(connection);
    const note = stored?.note ?? "";
    witness.trust(parseSeal(note).origin, readSealKey(sealKeySource(from.data, null)).publicBytes);
    const target = witnessTarget(parseWitness(`${witness.verifierKey} ${witness.url}`), {
      proveConsistency: (_id, first, to) => consistencyProof(first, to, treeReader(connection)),
      keep: () => {},
    });
    await target.deliver({ workspaceId: id, size: stored?.size ?? 0, note }, AbortSignal.timeout(PATIENCE_MS));
  } finally {
    connection.close();
  }
}

/** Verifies evidence as a process that trusts the witnesses' certificate. Returns the code and what is said of each. */
async function verify(
  path: string,
  words: string[] = ["--witness-key", witness.verifierKey],
  url = witness.monitoringUrl,
) {
  const env = { NODE_EXTRA_CA_CERTS: from.join("ca.crt") };
  const options = ["--json", "--public-key", key, "--witness-url", url, ...words];
  const { code, out, err } = await governdProcess(["verify", path, ...options], { env });
  const sources: Said[] = out === "" ? [] : JSON.parse(out).sources;
  return { code, err, problems: sources.flatMap(({ problems }) => problems), sources };
}

interface Said {
  workspace_id: string;
  anchored_through: number | null;
  witnesses: { through: number }[];
  problems: { code: string; message: string }[];
}

const [first, second] = [() => from.ids[0] as string, () => from.ids[1] as string];
const databaseOf = (id: string) => workspaceFile(from.data, id);

beforeAll(async () => {
  from = await FilledDirectory.make(2);
  const authority = await TestAuthority.make("witnesses");
  writeFileSync(from.join("ca.crt"), authority.cert);
  const pair = await authority.issue("witness", { usage: "server" });
  witness = new TestWitness("ml-dsa-44", pair);
  stranger = new TestWitness("ed25519", pair);
  key = from.join("seal.vkey");
  const { publicBytes } = readSealKey(sealKeySource(from.data, null));
  writeFileSync(key, formatVerifierKey(verifierKey("any", publicBytes)));
  for (const id of from.ids) await from.write(id);
  cpSync(databaseOf(first()), from.join("older.db"));
  await from.write(first(), 4, "more");
  await cosign(first());
}, PROCESS_TEST_MS);

afterAll(async () => {
  for (const one of [witness, stranger]) await one[Symbol.asyncDispose]();
  from[Symbol.dispose]();
});

test("a log is compared with the newest seal that the witness cosigned", async () => {
  const { code, sources } = await verify(databaseOf(first()));
  const size = witness.state.get(`localhost/${first()}`)?.size ?? 0;
  expect([code, sources[0]?.anchored_through, sources[0]?.witnesses[0]?.through]).toEqual([0, size - 1, size - 1]);
});

test("a log whose end was cut off is tampered with, although all of its own seals fit", async () => {
  const alone = await governd(["verify", from.join("older.db"), "--public-key", key]);
  expect(alone.code).toBe(0);
  const { code, problems } = await verify(from.join("older.db"));
  expect([code, problems[0]?.code]).toEqual([1, "seal_beyond_log"]);
});

test("a witness that never saw the log, does not answer, or is not the given one establishes nothing", async () => {
  const unknown = await verify(databaseOf(second()));
  expect([unknown.code, unknown.problems.map(({ code }) => code)]).toEqual([2, ["seal_missing", "witness_missing"]]);
  expect(unknown.problems[0]?.message).toContain(`has cosigned no seal of localhost/${second()}`);
  const nobody = await verify(databaseOf(first()), undefined, "https://127.0.0.1:1/prefix");
  expect([nobody.code, nobody.problems[0]?.message]).toEqual([2, expect.stringContaining("cannot be reached")]);
  const other = await verify(databaseOf(first()), ["--witness-key", stranger.verifierKey]);
  expect([other.code, other.problems[0]?.message]).toEqual([2, expect.stringContaining("no given witness")]);
  const elsewhere = await verify(databaseOf(first()), undefined, witness.monitoringUrl.replace("/prefix", "/other"));
  expect([elsewhere.code, elsewhere.problems[0]?.message]).toEqual([2, expect.stringContaining("it returned 405")]);
});

test("another log's checkpoint, and a wrong cosignature, are not taken for the log's", async () => {
  const hash = (id: string) => new Bun.SHA256().update(`localhost/${id}`).digest("hex");
  const own = witness.checkpoints.get(hash(first())) as string;
  const answers: [string, string][] = [
    ["it is of another log", own.replaceAll(first(), second())],
    ["is not right", own.replace(/\n([A-Za-z0-9+/]{43}=)\n/, `\n${Buffer.alloc(32).toString("base64")}\n`)],
    ["empty line before its signatures", "<html>\n"],
    ["too long", "x".repeat(300_000)],
  ];
  try {
    for (const [message, answer] of answers) {
      witness.checkpoints.set(hash(first()), answer);
      const { code, problems } = await verify(databaseOf(first()));
      expect([code, problems[0]?.message]).toEqual([2, expect.stringContaining(message)]);
    }
  } finally {
    witness.checkpoints.set(hash(first()), own);
  }
});

test("a policy names the witness, and a log of another name is not asked for", async () => {
  const { publicBytes } = readSealKey(sealKeySource(from.data, null));
  const judge = async (origin: string) => {
    const log = formatVerifierKey(verifierKey(origin, publicBytes));
    const policy = from.join("policy.txt");
    writeFileSync(policy, `log ${log}\nwitness w ${witness.verifierKey}\nquorum w\n`);
    const env = { NODE_EXTRA_CA_CERTS: from.join("ca.crt") };
    const options = ["--json", "--policy", policy, "--witness-url", witness.monitoringUrl];
    const { code, out } = await governdProcess(["verify", databaseOf(first()), ...options], { env });
    return { code, problems: JSON.parse(out).sources[0].problems };
  };
  expect(await judge(`localhost/${first()}`)).toEqual({ code: 0, problems: [] });
  const renamed = await judge(`other.example/${first()}`);
  expect([renamed.code, renamed.problems[0].message]).toEqual([
    2,
    expect.stringContaining("lists no log of this name"),
  ]);
});

test("in a directory, the log of the installation vouches for logs that no witness knows", async () => {
  const apart = await verify(from.data.root, ["--witness-key", witness.verifierKey, "--witness-quorum", "1"]);
  const lacking = apart.sources.filter(({ problems }) => problems.some(({ code }) => code === "seal_missing"));
  expect([apart.code, lacking.map(({ workspace_id }) => workspace_id).sort()]).toEqual([
    ...[2, [from.installation, second()].sort()],
  ]);
  await cosign(from.installation);
  const { sources } = await verify(from.data.root);
  const anchored = sources.filter(({ anchored_through }) => anchored_through !== null);
  expect(anchored.map(({ workspace_id }) => workspace_id).sort()).toEqual([from.installation, first()].sort());
  const open = sources.filter(({ problems }) => problems.some(({ code }) => code === "seal_missing"));
  expect(open).toEqual([]);
});

test("exports and receipts are compared with it, too, if it covers the same events", async () => {
  const vectors = join(import.meta.dir, "../vectors");
  const seal = readFileSync(join(vectors, "seal.txt"), "utf8");
  const { publicKey } = parseVerifierKey(readFileSync(join(vectors, "seal.vkey"), "utf8").trim());
  witness.trust(parseSeal(seal).origin, publicKey);
  const body = addCheckpointBody(0, [], seal);
  expect((await fetch(`${witness.url}/add-checkpoint`, { method: "POST", body })).status).toBe(200);
  const words = ["--public-key", join(vectors, "seal.vkey"), "--witness-key", witness.verifierKey];
  const judged = async (name: string) => {
    const { code, sources, problems } = await verify(join(vectors, name), words);
    return [code, sources[0]?.anchored_through, problems[0]?.message ?? null];
  };
  expect(await judged("sealed.ndjson")).toEqual([0, 20, null]);
  expect(await judged("receipt.txt")).toEqual([0, expect.any(Number), null]);
  expect(await judged("sealed-window.json")).toEqual([
    2,
    null,
    expect.stringContaining("the given seal is another one"),
  ]);
  expect(await judged("export.ndjson")).toEqual([2, null, expect.stringContaining("there is no seal")]);
});

test("damaged evidence is reported as without a witness", async () => {
  const path = from.join("damaged.db");
  const bytes = readFileSync(databaseOf(first()));
  for (const damaged of [bytes.fill(7, 100), bytes.subarray(0, 4000), Buffer.from("no evidence"), Buffer.alloc(0)]) {
    writeFileSync(path, damaged);
    const { code, problems } = await verify(path);
    const alone = await governd(["verify", path, "--json", "--public-key", key, "--witness-key", witness.verifierKey]);
    expect([code, problems]).toEqual([alone.code, JSON.parse(alone.out).sources[0].problems]);
  }
  expect((await verify(from.join("nowhere.db"))).code).toBe(2);
});

test("without the key of a witness, or without https, nothing is asked", async () => {
  for (const words of [
    ["--witness-url", witness.monitoringUrl],
    ["--witness-url", witness.monitoringUrl.replace("https", "http"), "--witness-key", witness.verifierKey],
    ["--witness-url", "w.example", "--witness-key", witness.verifierKey],
  ]) {
    const { code, err } = await governd(["verify", databaseOf(first()), ...words]);
    expect([code, err]).toEqual([2, expect.stringContaining("--witness-url")]);
  }
});
