/** Logs in which an event changes a key that could not be changed so: both verifiers say that it is impossible. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { ForgedWorkspace } from "../support/forged-workspace.ts";
import { bodyOf } from "../support/open-workspace.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { compared, SecondVerifier } from "../verify/second-verifier.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const second = new SecondVerifier();
afterAll(() => second[Symbol.asyncDispose]());

const HOUR_MS = 3_600_000;
const NETWORKS = ["192.0.2.7"];

type Change = "key.rotate" | "key.change" | "key.revoke";

async function create({ workspace }: ForgedWorkspace, expiresInMs: number | null = null): Promise<string> {
  const wish = { label: null, scope: "full", agents: null, networks: null, expiresInMs } as const;
  return bodyOf(await workspace.perform("key.create", wish)).id;
}

/** Changes a key that may be changed so, and makes the event and the rows say that it was another one. */
async function forge(scene: ForgedWorkspace, operation: Change, keyId: string): Promise<void> {
  const decoy = await create(scene);
  await scene.workspace.perform(operation, { keyId: decoy, networks: NETWORKS, overlapMs: HOUR_MS } as never);
  const columns = operation === "key.rotate" ? "replaced_by, expires_at" : "ended_seq, networks";
  scene.restate(
    operation === "key.rotate" ? { replaces: keyId } : { key_id: keyId },
    `UPDATE keys SET (${columns}) = (SELECT ${columns} FROM keys WHERE id = '${decoy}') WHERE id = '${keyId}'`,
    `UPDATE keys SET (ended_seq, networks, replaced_by, expires_at) = (NULL, NULL, NULL, NULL) WHERE id = '${decoy}'`,
  );
}

/** How the key came that the forged event names. */
const KEYS: Record<string, (scene: ForgedWorkspace) => Promise<string>> = {
  "does not exist": async () => "key_01h455vb4pex5vsknk084sn02y",
  "was revoked": async (scene) => {
    const keyId = await create(scene);
    await scene.workspace.perform("key.revoke", { keyId });
    return keyId;
  },
  "was replaced": async (scene) => {
    const keyId = await create(scene);
    await scene.workspace.perform("key.rotate", { keyId, overlapMs: HOUR_MS });
    return keyId;
  },
  "was replaced, and its overlap is over": async (scene) => {
    const keyId = await create(scene);
    await scene.workspace.perform("key.rotate", { keyId, overlapMs: HOUR_MS });
    scene.pass(HOUR_MS);
    return keyId;
  },
  "has expired": async (scene) => {
    const keyId = await create(scene, HOUR_MS);
    scene.pass(HOUR_MS);
    return keyId;
  },
  "is in force": (scene) => create(scene, HOUR_MS),
};

/** The changes that are possible nevertheless. */
const POSSIBLE: Record<string, readonly Change[]> = {
  "was replaced": ["key.change", "key.revoke"],
  "was replaced, and its overlap is over": ["key.revoke"],
  "has expired": ["key.revoke"],
  "is in force": ["key.rotate", "key.change", "key.revoke"],
};

describe.each(Object.keys(KEYS))("a key that %s", (what) => {
  compared.each(["key.rotate", "key.change", "key.revoke"] as const)("%s", async (operation) => {
    using scene = await ForgedWorkspace.make();
    const keyId = await (KEYS[what] as (scene: ForgedWorkspace) => Promise<string>)(scene);
    expect(await scene.verified(second)).toEqual({ exits: [0, 0], codes: [] });
    await forge(scene, operation, keyId);
    const { exits, codes } = await scene.verified(second);
    if (POSSIBLE[what]?.includes(operation)) expect({ exits, codes }).toEqual({ exits: [0, 0], codes: [] });
    else {
      expect(exits).toEqual([1, 1]);
      expect(codes).toContain("operation_impossible");
    }
  });
});

test("the daemon's own writer refuses what the verifiers call impossible", async () => {
  for (const [what, make] of Object.entries(KEYS)) {
    for (const operation of ["key.rotate", "key.change", "key.revoke"] as const) {
      using scene = await ForgedWorkspace.make();
      const keyId = await make(scene);
      const head = scene.workspace.writer.headSeq;
      const input = { keyId, networks: NETWORKS, overlapMs: HOUR_MS };
      const { answer, auditId } = await scene.workspace.perform(operation, input as never);
      const isPossible = POSSIBLE[what]?.includes(operation) ?? false;
      expect([what, operation, auditId !== null, scene.workspace.writer.headSeq - head]).toEqual([
        ...[what, operation, isPossible, Number(isPossible)],
      ]);
      // A second revocation is answered as the first one.
      const isRepeated = operation === "key.revoke" && what === "was revoked";
      expect([what, operation, answer.kind]).toEqual([what, operation, isPossible || isRepeated ? "json" : "problem"]);
    }
  }
});

compared("a second key with the id of another is impossible", async () => {
  using scene = await ForgedWorkspace.make();
  const [keyId, other] = [await create(scene), await create(scene)];
  scene.restate({ key_id: keyId }, `DELETE FROM keys WHERE id = '${other}'`);
  const { exits, codes } = await scene.verified(second);
  expect([exits, codes]).toEqual([[1, 1], expect.arrayContaining(["operation_impossible"])]);
});
