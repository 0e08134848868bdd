/** Seals on their way to other places: queue, command, webhook, witnesses. */

import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { makeBackup } from "../../src/backup/make.ts";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { readSealKey, sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { newestSeal } from "../../src/core/rows/log/seals.ts";
import { treeReader } from "../../src/core/rows/log/tree.ts";
import { parseSealFile } from "../../src/core/seals/seal-file.ts";
import { type AnchorLag, AnchorQueue } from "../../src/follow/anchors/queue.ts";
import {
  type AnchoredSeal,
  AnchorFailed,
  type AnchorTarget,
  commandTarget,
  webhookTarget,
} from "../../src/follow/anchors/targets.ts";
import { witnessTarget } from "../../src/follow/anchors/witness.ts";
import { RandomPool, systemClock } from "../../src/ids.ts";
import { parseVerifierKey } from "../../src/log/note.ts";
import { consistencyProof } from "../../src/log/proof.ts";
import { parseSeal } from "../../src/log/seal.ts";
import { checkCosignature, parseWitness, parseWitnessKey } from "../../src/log/witness.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { systemTimer } from "../../src/timer.ts";
import { FilledDirectory } from "../backup/data-directory.ts";
import { eventually } from "../eventually.ts";
import { PATIENCE_MS } from "../patience.ts";
import { sealedWorkspace, writeSome } from "../seals/support.ts";
import { restoreWhole } from "../support/restore.ts";
import { temporaryDirectory } from "../temporary.ts";
import { TestWitness } from "./witness.ts";

/** For a delivery that ends without an abort. */
const unhurried = () => AbortSignal.timeout(PATIENCE_MS);

const seal = (size: number, workspaceId = "ws_a"): AnchoredSeal => ({ workspaceId, size, note: `${size}` });

/** A target that fails on demand. */
class Flaky implements AnchorTarget {
  readonly kind = "command";
  readonly place = null;
  readonly name = "flaky";
  readonly delivered: AnchoredSeal[] = [];
  failing = false;
  async deliver(taken: AnchoredSeal): Promise<void> {
    await Bun.sleep(1);
    if (this.failing) throw new AnchorFailed("not now");
    this.delivered.push(taken);
  }
}

function queueOf(target: AnchorTarget) {
  const failures: string[] = [];
  const recoveries: AnchorLag[] = [];
  const queue = new AnchorQueue(
    target,
    {
      onFailure: (_target, reason) => void failures.push(reason),
      onRecovery: (_target, lag) => void recoveries.push(lag),
    },
    systemClock,
    { timer: (_, work) => systemTimer(1, work), random: new RandomPool() },
  );
  return { queue, failures, recoveries };
}

describe("the queue", () => {
  test("tries again until the target takes it, the newest seal of each workspace alone", async () => {
    const target = new Flaky();
    target.failing = true;
    const { queue, failures, recoveries } = queueOf(target);
    for (const one of [seal(1), seal(2), seal(5, "ws_b"), seal(3)]) queue.offer(one);
    await eventually("three failures", () => failures.length >= 3);
    expect(queue.lag).toMatchObject({ waiting: 2, delivered: 0 });
    expect(queue.lag.sinceMs).toBeNumber();
    target.failing = false;
    await eventually("nothing waits", () => queue.lag.waiting === 0);
    expect(target.delivered.map(({ size }) => size).sort()).toEqual([3, 5]);
    expect(failures.every((reason) => reason === "not now")).toBe(true);
    expect(recoveries).toHaveLength(1);
    await queue[Symbol.asyncDispose]();
  });

  test("stops, whatever the target does", async () => {
    const hanging: AnchorTarget = {
      kind: "command",
      place: null,
      name: "hanging",
      deliver: (_seal, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
    };
    const { queue } = queueOf(hanging);
    queue.offer(seal(1));
    // This delivery ends only when it is aborted.
    await queue[Symbol.asyncDispose]();
    expect(queue.lag).toMatchObject({ waiting: 1, failed: 0, delivered: 0 });
  });
});

describe("a command", () => {
  test("gets the seal on its standard input, and nothing of the daemon's environment", async () => {
    using directory = temporaryDirectory();
    const program = directory.join("take-seal");
    writeFileSync(program, `#!/bin/sh\ncat > ${directory.join("taken")}\nenv > ${directory.join("env")}\n`);
    chmodSync(program, 0o700);
    process.env.GOVERND_SEAL_KEY = "secret";
    try {
      await commandTarget(program).deliver({ workspaceId: "ws_a", size: 7, note: "the seal\n" }, unhurried());
    } finally {
      delete process.env.GOVERND_SEAL_KEY;
    }
    expect(readFileSync(directory.join("taken"), "utf8")).toBe("the seal\n");
    const environment = readFileSync(directory.join("env"), "utf8");
    expect(environment).toContain("GOVERND_WORKSPACE_ID=ws_a");
    expect(environment).toContain("GOVERND_SEAL_SIZE=7");
    expect(environment).not.toContain("secret");
  });

  test("that fails or is not there is a failed delivery", async () => {
    const deliver = (program: string) => commandTarget(program).deliver(seal(1), unhurried());
    await expect(deliver("/bin/false")).rejects.toThrow("exit code 1");
    await expect(deliver("/nowhere/at-all")).rejects.toThrow("cannot start the program");
  });
});

test("a webhook gets the seal; anything but 2xx is tried again", async () => {
  const bodies: string[] = [];
  const answers = [500, 302, 204];
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      bodies.push(`${request.headers.get("idempotency-key")} ${await request.text()}`);
      return new Response(null, { status: answers.shift() ?? 204, headers: { location: "/elsewhere" } });
    },
  });
  const target = webhookTarget(`http://127.0.0.1:${server.port}/take?token=secret`);
  expect(target.name).not.toContain("secret");
  const { queue, failures } = queueOf(target);
  queue.offer(seal(4));
  await eventually("it is delivered", () => queue.lag.delivered === 1);
  expect(bodies).toEqual(["ws_a-4 4", "ws_a-4 4", "ws_a-4 4"]);
  expect(failures).toEqual(["the server returned 500", "the server returned 302"]);
  await queue[Symbol.asyncDispose]();
});

describe("a witness", () => {
  test.each(["ed25519", "ml-dsa-44"] as const)(
    "cosigns with %s what continues, and the cosignature is kept with the seal and in its file",
    async (algorithm) => {
      using directory = temporaryDirectory();
      await using witness = new TestWitness(algorithm);
      const made = await sealedWorkspace(directory);
      const origin = `test.example/${made.workspaceId}`;
      witness.trust(origin, made.publicKey);
      const kept: Promise<void>[] = [];
      const deps = {
        proveConsistency: (_id: string, from: number, to: number) =>
          consistencyProof(from, to, treeReader(made.connection)),
        keep: ({ size, note }: AnchoredSeal) => void kept.push(made.writer.addCosignatures(size, note)),
      };
      const key = parseWitnessKey(witness.verifierKey);
      const seals = async (target: AnchorTarget) => {
        await writeSome(made, 3);
        await made.writer.seal();
        const stored = await newestSeal(made.connection);
        if (stored === null) throw new Error("no seal");
        await target.deliver({ workspaceId: made.workspaceId, ...stored }, unhurried());
        await Promise.all(kept);
      };
      const target = witnessTarget(parseWitness(`${witness.verifierKey} ${witness.url}/`), deps);
      await seals(target);
      await seals(target);
      // After a restart the daemon does not know the witness's state. The witness returns it with its 409.
      await seals(witnessTarget(parseWitness(`${witness.verifierKey} ${witness.url}`), deps));
      expect(witness.statuses).toEqual([200, 200, 409, 200]);
      expect(witness.state.get(origin)?.size).toBe(10);
      const cosigned = parseSeal((await newestSeal(made.connection))?.note ?? "");
      expect(cosigned.note.signatures).toHaveLength(2);
      const [, line] = cosigned.note.signatures;
      expect(checkCosignature(cosigned, line as never, key)).toBeGreaterThan(0n);
      const { seals: filed } = parseSealFile(readFileSync(made.sealFile, "utf8"));
      expect(filed.map(({ seal: { size } }) => size)).toEqual([4, 4, 7, 7, 10, 10]);
      expect(filed.at(-1)?.seal.note.signatures).toHaveLength(2);
      expect(existsSync(made.sealFile)).toBe(true);
      made.writer.close();
    },
  );

  test("cosigns the new origin of a restored log after it has cosigned events that are lost", async () => {
    using from = await FilledDirectory.make(1);
    await using witness = new TestWitness();
    const [id] = from.ids as [string];
    const restored = dataDirectory(from.join("restored"));
    let directory = from.data;
    const inFile = <T>(work: (connection: Connection) => Promise<T>) => {
      const connection = openConnection(workspaceFile(directory, id), { readOnly: true });
      return work(connection).finally(() => connection.close());
    };
    const cosigned: number[] = [];
    const target = witnessTarget(parseWitness(`${witness.verifierKey} ${witness.url}`), {
      proveConsistency: (_id, first, to) => inFile((connection) => consistencyProof(first, to, treeReader(connection))),
      keep: ({ size }) => void cosigned.push(size),
    });
    const deliver = async () => {
      const stored = await inFile(newestSeal);
      await target.deliver({ workspaceId: id, size: 0, note: "", ...stored }, unhurried());
    };
    const publicKey = readSealKey(sealKeySource(from.data, null)).publicBytes;
    witness.trust(`localhost/${id}`, publicKey);
    await from.write(id, 2);
    await deliver();
    const { path } = await makeBackup({
      ...{ source: from.data, destination: from.destination, keep: null, clock: systemClock },
    });
    await from.write(id, 5, "lost");
    await deliver();
    const { epochs } = await restoreWhole(path, restored.root, { seals: [from.data.root] });
    directory = restored;
    await expect(deliver()).rejects.toThrow("does not know this origin");
    const { name } = parseVerifierKey(epochs.find((one) => one.workspace_id === id)?.verifier_key ?? "");
    witness.trust(name, publicKey);
    await deliver();
    const origin = expect.stringMatching(new RegExp(`^localhost/${id}/[0-9]{15}$`));
    expect([name, cosigned, witness.statuses]).toEqual([origin, [4, 9, 5], [200, 200, 404, 200]]);
    expect([witness.state.get(name)?.size, witness.state.get(`localhost/${id}`)?.size]).toEqual([5, 9]);
  });

  test("that refuses is a failed delivery, with what to do", async () => {
    using directory = temporaryDirectory();
    await using witness = new TestWitness();
    const made = await sealedWorkspace(directory);
    await made.writer.seal();
    const stored = await newestSeal(made.connection);
    const submit = (size: number) =>
      witnessTarget(parseWitness(`${witness.verifierKey} ${witness.url}`), {
        proveConsistency: async () => [],
        keep: () => {},
      }).deliver({ workspaceId: made.workspaceId, size, note: stored?.note ?? "" }, unhurried());
    await expect(submit(1)).rejects.toThrow("does not know this origin");
    const origin = `test.example/${made.workspaceId}`;
    witness.trust(origin, new Uint8Array(32).fill(1));
    await expect(submit(1)).rejects.toThrow("does not know the sealing key");
    witness.trust(origin, made.publicKey);
    witness.state.set(origin, { size: 99, root: "" });
    await expect(submit(1)).rejects.toThrow("cosigned 99 events");
    expect(witness.statuses).toHaveLength(3);
    made.writer.close();
  });
});
