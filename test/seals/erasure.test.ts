/** Erasure leaves no copy in any file, and everything still verifies. */

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { wholeText } from "../../src/core/long-text.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { verifyWorkspace } from "../../src/verify/workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";
import { PRINCIPAL, type SealedWorkspace, sealedWorkspace } from "./support.ts";

const KEY = "customers/anna-schmidt-4711";
const VALUE = "Anna Schmidt lives in Lindenstrasse 12 and prefers mornings.";
const MARK = "metadata-mark-of-anna";

async function perform<N extends OperationName>({ writer }: SealedWorkspace, name: N, ...inputs: OperationInputs[N][]) {
  const settled = await writer.perform(inputs.map((input) => jobOf({ name, input, principal: PRINCIPAL })));
  return settled.map(({ answer }) =>
    answer.kind === "json"
      ? JSON.parse(wholeText(answer.body))
      : { problem: answer.kind === "problem" ? answer.code : "" },
  );
}

/** The files of the directory that hold a text, in UTF-8. */
function filesWith(directory: TemporaryDirectory, text: string): string[] {
  return readdirSync(directory.path).filter((name) => readFileSync(directory.join(name)).includes(Buffer.from(text)));
}

const agentId = "alpha";
const write = (key: string, value: string) => ({ agentId, key, value, metadata: { note: MARK } });

/** A life in which the key is written, overwritten, seen by checkpoints, read, listed, restored and deleted. */
async function live(made: SealedWorkspace): Promise<void> {
  await perform(made, "data.read", { agentId, key: KEY });
  const fill = (round: number) =>
    perform(
      made,
      "data.write",
      ...Array.from({ length: 120 }, (_, i) => ({
        agentId,
        key: `other/${i}`,
        value: `round ${round} ${"x".repeat((i * 37 + round * 101) % 900)}`,
        metadata: {},
      })),
    );
  await fill(0);
  await perform(made, "data.write", write(KEY, VALUE));
  const [first] = await perform(made, "checkpoint.create", { agentId, label: null, metadata: {} });
  for (let round = 1; round < 8; round++) {
    await fill(round);
    await perform(made, "data.write", write(KEY, `${VALUE} ${"y".repeat(round * 700)}`));
    if (round === 4) {
      await perform(made, "checkpoint.create", { agentId, label: "middle", metadata: {} });
      await made.writer.seal();
    }
  }
  await perform(made, "data.read_full", { agentId, key: KEY });
  await perform(made, "data.list", { agentId, prefix: KEY, page: { limit: 10, offset: 0 }, includeValues: false });
  await perform(made, "data.delete", { agentId, key: KEY });
  await perform(made, "checkpoint.restore", { checkpointId: first.id, restoreConfig: false, restoreData: true });
}

async function expectToVerify({ connection }: SealedWorkspace): Promise<void> {
  const report = await verifyWorkspace(connection, { scope: "workspace" });
  expect(report.problems).toEqual([]);
  expect(report.valid).toBe(true);
}

describe("erasing", () => {
  test("a key leaves no byte of it in any file, and the log verifies", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    await live(made);
    expect(filesWith(directory, VALUE)).not.toEqual([]);
    const [answer] = await perform(made, "data.erase", { agentId, key: KEY });
    expect(answer).toMatchObject({ deleted: 1 });
    expect(answer.erased_events).toBe(12);
    for (const text of [VALUE, KEY, MARK]) expect(filesWith(directory, text)).toEqual([]);
    await expectToVerify(made);
    await made.writer.seal();
    // Written again, it is a new entry like any other.
    await perform(made, "data.write", write(KEY, "anew"));
    await expectToVerify(made);
    made.writer.close();
    expect(filesWith(directory, VALUE)).toEqual([]);
  });

  test("a prefix takes every key with it, and no other", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    await live(made);
    await perform(made, "data.write", write("customers/bert", "Bert"), write("customer", "kept"));
    await perform(made, "data.delete_prefix", { agentId, prefix: "customers/b" });
    const [answer] = await perform(made, "data.erase", { agentId, prefix: "customers/" });
    expect(answer).toMatchObject({ deleted: 1 });
    for (const text of [VALUE, KEY, "customers/"]) expect(filesWith(directory, text)).toEqual([]);
    const [kept] = await perform(made, "data.read", { agentId, key: "customer" });
    expect(kept.value).toBe("kept");
    await expectToVerify(made);
    made.writer.close();
  });

  test("its event states how much was erased and does not name the key", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    await perform(made, "data.write", write(KEY, VALUE));
    await perform(made, "data.erase", { agentId, key: KEY });
    const rows = made.connection.all<[string, string]>(
      "SELECT operation, details FROM events WHERE agent_id = ? ORDER BY seq",
      [agentId],
    );
    expect(rows).toEqual([
      ["data.write", null as never],
      ["data.erase", '{"entries":1,"erased":[[1,1]],"events":1,"versions":1}'],
    ]);
    made.writer.close();
  });

  test("what was only asked for is erased too; nothing at all is not found, and is not named", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    await perform(made, "data.read", { agentId: "nobody", key: KEY });
    const [answer] = await perform(made, "data.erase", { agentId: "nobody", key: KEY });
    expect(answer).toMatchObject({ deleted: 0, erased_events: 1 });
    const [again] = await perform(made, "data.erase", { agentId: "nobody", key: KEY });
    expect(again).toEqual({ problem: "entry_not_found" });
    expect(filesWith(directory, "anna-schmidt")).toEqual([]);
    await expectToVerify(made);
    made.writer.close();
  });

  test("writes that were blocked are erased too, unless their event does not name the key", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    const email = "anna.schmidt@example.com";
    await perform(made, "config.update", { agentId, config: { policies: { block_pii: true } } });
    await perform(made, "data.write", write(KEY, `Mail ${email}`), write(email, "Anna"));
    const named = () =>
      made.connection
        .all<[string | null]>("SELECT details FROM events WHERE operation = 'data.write' ORDER BY seq")
        .map(([details]) => details && (JSON.parse(details) as { key?: string }).key);
    expect(named()).toEqual([KEY, undefined as never]);
    const [answer] = await perform(made, "data.erase", { agentId, key: KEY });
    expect(answer).toMatchObject({ deleted: 0, erased_events: 1 });
    expect(named()).toEqual([null, undefined as never]);
    expect(filesWith(directory, KEY)).toEqual([]);
    await expectToVerify(made);
    made.writer.close();
  });

  test("a reader that holds the log back delays the last bytes, no longer than it reads", async () => {
    using directory = temporaryDirectory();
    const made = await sealedWorkspace(directory);
    await perform(made, "data.write", write(KEY, VALUE));
    const { openConnection } = await import("../../src/store/connection.ts");
    const reader = openConnection(made.path, { readOnly: true });
    reader.exec("BEGIN");
    reader.get("SELECT count(*) FROM entries");
    await perform(made, "data.erase", { agentId, key: KEY });
    expect(filesWith(directory, VALUE)).not.toEqual([]);
    reader.exec("ROLLBACK");
    await made.writer.seal();
    expect(filesWith(directory, VALUE)).toEqual([]);
    reader.close();
    made.writer.close();
  });
});
