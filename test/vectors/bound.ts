/**
 * Exports of the present format, of a small log that the product writes: whole, a window, one agent's chain, and with
 * erasures after the last event.
 */
import type { OperationInputs } from "../../src/operations.ts";
import { streamExport } from "../../src/ops/audit/export.ts";
import { WORKSPACE } from "../log/sample.ts";
import type { SealingKey } from "../log/sealed.ts";
import { WrittenLog } from "./written-log.ts";

/** Every file and its text. */
export const boundVectors = (key: SealingKey): Promise<Record<string, string>> => WrittenLog.make(key, writeVectors);

async function writeVectors(log: WrittenLog): Promise<Record<string, string>> {
  const exported = async (
    format: "json" | "ndjson",
    scope: OperationInputs["audit.export"]["scope"],
    window: OperationInputs["audit.export"]["window"] = {},
    midway?: () => Promise<unknown>,
  ): Promise<string> => {
    const answer = await log.perform("audit.export", { scope, format, window });
    if (answer.kind !== "stream" || answer.body.kind !== "export") throw new Error("no export");
    await midway?.();
    return (await Array.fromAsync(streamExport(log.connection, answer.body, WORKSPACE))).join("");
  };
  const write = (agentId: string, name: string) => ({ agentId, key: name, value: `of ${name}`, metadata: {} });
  for (let at = 0; at < 6; at++) await log.perform("data.write", write(at % 2 === 0 ? "alpha" : "beta", `k${at}`));
  await log.perform("data.write", { ...write("beta", "ending"), expiry: { afterMs: 3_600_000 } });
  const parts = ["both/1", "both/2"].map((name) => ({ name: "data.write", input: write("alpha", name) }) as const);
  await log.perform("data.batch", { agentId: "alpha", atomic: true, parts });
  return {
    "bound.ndjson": await exported("ndjson", { scope: "workspace" }),
    "bound-window.json": await exported(
      "json",
      { scope: "workspace" },
      { startMs: log.nowMs - 5000, endMs: log.nowMs - 1000 },
    ),
    "bound-agent.ndjson": await exported("ndjson", { agentId: "beta" }),
    "bound-empty.json": await exported("json", { agentId: "alpha" }, { endMs: log.nowMs - 3_600_000 }),
    "bound-erased.ndjson": await exported("ndjson", { scope: "workspace" }, {}, async () => {
      await log.perform("data.erase", { agentId: "beta", key: "k3" });
      await log.writer.seal();
    }),
  };
}
