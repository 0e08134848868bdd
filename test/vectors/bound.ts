/**
 * Exports of the present format, of a small log that the product writes with a fixed clock, fixed randomness and the
 * vectors' key: whole, a window, one agent's chain, and with erasures after the last event.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { RandomPool } from "../../src/ids.ts";
import { verifierKey } from "../../src/log/note.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { cliPrincipal } from "../../src/ops/directory/journal.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { typeId, WORKSPACE } from "../log/sample.ts";
import { originOf, type SealingKey } from "../log/sealed.ts";
import { inMemory } from "../temporary.ts";

/** Every file and its text. */
export async function boundVectors(key: SealingKey): Promise<Record<string, string>> {
  const directory = mkdtempSync(join(inMemory(), "governd-vectors-"));
  try {
    return await writeVectors(join(directory, "log.db"), key);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

async function writeVectors(path: string, key: SealingKey): Promise<Record<string, string>> {
  let nowMs = Date.UTC(2026, 2, 1);
  const clock = () => nowMs;
  let byte = 0;
  const random = new RandomPool((bytes) => {
    for (let at = 0; at < bytes.length; at++) bytes[at] = byte++ & 0xff;
  });
  const sealKey = verifierKey(originOf(WORKSPACE), key.publicKey);
  await createWorkspaceFile(path, { workspaceId: WORKSPACE, name: "vectors", actor: "cli", sealKey }, clock, random);
  const connection = openWorkspaceFile(path);
  const pem = key.privateKey.export({ format: "pem", type: "pkcs8" }).toString();
  const sealer = new WorkspaceSealer({ keyring: new SealKeyring({ kind: "pem", pem }), file: `${path}.log` });
  const writer = new WorkspaceWriter(connection, { clock, random, sealer });
  const principal = { ...cliPrincipal(WORKSPACE), actor: typeId("usr", 1) };
  const perform = async <N extends OperationName>(name: N, input: OperationInputs[N]) => {
    nowMs += 1000;
    const [reply] = await writer.perform([jobOf({ name, input, principal })]);
    if (reply === undefined || reply.answer.kind === "problem") throw new Error(`${name}: ${JSON.stringify(reply)}`);
    return reply.answer;
  };
  const exported = async (
    format: "json" | "ndjson",
    scope: OperationInputs["audit.export"]["scope"],
    window: OperationInputs["audit.export"]["window"] = {},
    midway?: () => Promise<unknown>,
  ): Promise<string> => {
    const answer = await perform("audit.export", { scope, format, window });
    if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export");
    await midway?.();
    return (await Array.fromAsync(streamExport(connection, answer.body, WORKSPACE))).join("");
  };
  const write = (agentId: string, name: string) => ({ agentId, key: name, value: `of ${name}`, metadata: {} });
  for (let at = 0; at < 6; at++) await perform("data.write", write(at % 2 === 0 ? "alpha" : "beta", `k${at}`));
  await perform("data.write", { ...write("beta", "ending"), expiry: { afterMs: 3_600_000 } });
  const parts = ["both/1", "both/2"].map((name) => ({ name: "data.write", input: write("alpha", name) }) as const);
  await perform("data.batch", { agentId: "alpha", atomic: true, parts });
  const files = {
    "bound.ndjson": await exported("ndjson", { scope: "workspace" }),
    "bound-window.json": await exported("json", { scope: "workspace" }, { startMs: nowMs - 5000, endMs: nowMs - 1000 }),
    "bound-agent.ndjson": await exported("ndjson", { agentId: "beta" }),
    "bound-empty.json": await exported("json", { agentId: "alpha" }, { endMs: nowMs - 3_600_000 }),
    "bound-erased.ndjson": await exported("ndjson", { scope: "workspace" }, {}, async () => {
      await perform("data.erase", { agentId: "beta", key: "k3" });
      await writer.seal();
    }),
  };
  writer.close();
  return files;
}
