/** A small workspace made through the real operations, with everything in it that verification looks at. */

import { dirname } from "node:path";
import { wholeText } from "../../src/core/long-text.ts";
import type { Principal, Reply } from "../../src/core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import type { Context, Run } from "../../src/core/writer/operation.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { sweepWorkspace } from "../../src/core/writer/sweep.ts";
import type { JsonObject } from "../../src/json.ts";
import { verifierKey } from "../../src/log/note.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { agentOperations } from "../../src/ops/agents/operations.ts";
import { createCheckpoint, removeCheckpoint } from "../../src/ops/checkpoints/operations.ts";
import { restoreCheckpoint } from "../../src/ops/checkpoints/restore.ts";
import { rollbackConfig, updateConfig } from "../../src/ops/config/operations.ts";
import { deleteData, deletePrefix, eraseData } from "../../src/ops/data/operations.ts";
import { readData } from "../../src/ops/data/read.ts";
import { writeData } from "../../src/ops/data/write.ts";
import { updateWorkspacePolicies } from "../../src/ops/policies/workspace-policies.ts";
import { lookingRun } from "../../src/serve/threads/registry.ts";
import type { Connection } from "../../src/store/connection.ts";
import { filesReleased } from "../released.ts";

export const WORKSPACE_ID = "ws_01h455vb4pex5vsknk084sn02q";
const DAY_MS = 86_400_000;

const PRINCIPAL: Principal = {
  actor: "usr_01h455vb4pex5vsknk084sn02q",
  workspaceId: WORKSPACE_ID,
  scope: "full",
  agents: null,
};

const OPERATIONS = {
  "config.update": updateConfig,
  "config.rollback": rollbackConfig,
  "policies.update": updateWorkspacePolicies,
  "checkpoint.create": createCheckpoint.run,
  "checkpoint.restore": restoreCheckpoint.run,
  "checkpoint.delete": removeCheckpoint,
  "data.write": writeData,
  "data.read": readData.run,
  "data.delete": deleteData,
  "data.delete_prefix": deletePrefix,
  "data.erase": eraseData,
  "agent.suspend": agentOperations["agent.suspend"].run,
};

/** A program, which does not see what is set aside. */
export const PROGRAM: Principal = {
  ...PRINCIPAL,
  actor: "wid_01h455vb4pex5vsknk084sn02q",
  workload: { issuer: "https://id.example.org", subject: "ci" },
};

type AnyRun = Run<never, never>;

/** Whether an operation is a read of an earlier moment, which looks before it runs. */
const isOfPast = (input: unknown): input is OperationInputs["data.read"] =>
  typeof input === "object" && input !== null && "asOf" in input;

type Known = keyof typeof OPERATIONS & OperationName;

/** Drives a workspace file as the daemon would, with a clock of its own: no two moments are the same. */
export class Driver {
  readonly connection: Connection;
  readonly writer: WorkspaceWriter;
  nowMs: number;

  constructor(path: string, nowMs: number) {
    this.nowMs = nowMs;
    this.connection = openWorkspaceFile(path);
    this.writer = new WorkspaceWriter(this.connection, {
      clock: () => this.nowMs++,
      onFailure: (operation, error) => {
        throw new Error(`${operation} failed`, { cause: error });
      },
    });
  }

  static async create(path: string, workspaceId = WORKSPACE_ID): Promise<Driver> {
    const start = Date.UTC(2026, 0, 1);
    const sealKey = verifierKey(`test.example/${workspaceId}`, new Uint8Array(32).fill(7));
    const genesis = { workspaceId, name: "sample", actor: "cli", sealKey };
    await createWorkspaceFile(path, genesis, () => start);
    return new Driver(path, start + 1);
  }

  /** Performs one operation and answers its body. */
  async perform<N extends Known>(name: N, input: OperationInputs[N], principal = PRINCIPAL): Promise<JsonObject> {
    const [settled] = await this.performAll([[name, input]], principal);
    return said(settled as Reply);
  }

  /** Performs an operation that looks first. */
  async looked<N extends "quarantine.preview" | "quarantine.set" | "quarantine.release">(
    operation: N,
    input: OperationInputs[N],
  ): Promise<JsonObject> {
    const job = { operation, principal: PRINCIPAL, run: lookingRun(operation, input) };
    return said((await this.writer.perform([job]))[0] as Reply);
  }

  /** Sets the version that an event wrote aside, unless it is, or is no longer kept. */
  async setAside(agentId: string, eventId: string): Promise<JsonObject> {
    const { digest } = await this.looked("quarantine.preview", { agentId, eventId, effects: null });
    if (digest === undefined) return {};
    return this.looked("quarantine.set", {
      agentId,
      eventId,
      effects: null,
      reason: "a test",
      digest: digest as string,
    });
  }

  /** Performs many operations in one transaction. */
  performAll(operations: readonly (readonly [Known, unknown])[], principal = PRINCIPAL): Promise<Reply[]> {
    const jobs = operations.map(([name, input]) => ({
      operation: name,
      principal,
      run: (tx: Connection, context: Context) =>
        isOfPast(input)
          ? lookingRun("data.read", input)(tx, context)
          : (OPERATIONS[name] as AnyRun)(tx, context, input as never),
    }));
    return this.writer.perform(jobs);
  }

  write(agentId: string, key: string, value: string, metadata: JsonObject = {}): Promise<JsonObject> {
    return this.perform("data.write", { agentId, key, value, metadata });
  }

  passDays(days: number): void {
    this.nowMs += days * DAY_MS;
  }

  sweep(): Promise<void> {
    return sweepWorkspace(this.connection, this.writer);
  }

  /** Closes the file; as the last connection it leaves no WAL. */
  close(): void {
    this.writer.close();
  }
}

const said = ({ answer }: Reply): JsonObject =>
  answer.kind === "json" ? (JSON.parse(wholeText(answer.body)) as JsonObject) : { problem: answer.kind };

/** Makes the sample. Two agents, every kind of operation that leaves something behind. */
export async function makeSampleWorkspace(path: string): Promise<void> {
  const driver = await Driver.create(path);
  await fillAlpha(driver);
  await fillBeta(driver);
  driver.close();
  await filesReleased(dirname(path));
}

async function fillAlpha(driver: Driver): Promise<void> {
  const agentId = "alpha";
  const checkpoint = async (label: string | null, metadata: JsonObject = {}) =>
    (await driver.perform("checkpoint.create", { agentId, label, metadata })).id as string;
  await driver.perform("config.update", { agentId, config: { model: "m-1", policies: { block_pii: true } } });
  await driver.write(agentId, "greeting", "Hello", { source: "test", confidence: 0.5 });
  await driver.write(agentId, "note/1", "first note");
  await driver.write(agentId, "note/2", "zweite Notiz: äöü \u0000 🙂");
  const first = await checkpoint("first", { why: "a" });
  await driver.write(agentId, "greeting", "Hello again");
  await driver.write(agentId, "greeting", "Hello again");
  await driver.perform("data.delete", { agentId, key: "note/1" });
  await driver.write(agentId, "pii", "write to someone@example.com");
  const second = await checkpoint(null);
  await driver.perform("config.update", { agentId, config: { model: "m-2" } });
  await driver.write(agentId, "note/1", "first note, anew");
  await driver.perform("checkpoint.restore", { checkpointId: first, restoreConfig: true, restoreData: true });
  await driver.write(agentId, "note/3", "third");
  await driver.perform("data.delete_prefix", { agentId, prefix: "note/" });
  await driver.write(agentId, "note/2", "second, anew");
  await driver.perform("config.rollback", { agentId, version: "v2" });
  await driver.perform("checkpoint.delete", { checkpointId: second });
  await driver.perform("checkpoint.restore", { checkpointId: first, restoreConfig: false, restoreData: true });
  await driver.perform("data.read", { agentId, key: "greeting" });
  const { audit_id: aside } = await driver.write(agentId, "aside", "for a while");
  await driver.setAside(agentId, aside as string);
  await driver.perform("data.read", { agentId, key: "aside" }, PROGRAM);
  await driver.looked("quarantine.release", { agentId, version: aside as string, reason: "a test" });
  await driver.perform("data.read", { agentId, key: "aside" }, PROGRAM);
  const { audit_id: kept } = await driver.write(agentId, "aside", "for good");
  await driver.setAside(agentId, kept as string);
  await driver.perform("data.write", { agentId, key: "aside", value: "anew", metadata: {} }, PROGRAM);
}

async function fillBeta(driver: Driver): Promise<void> {
  const agentId = "beta";
  await driver.write(agentId, "old/1", "will expire");
  await driver.write(agentId, "greeting", "Hello");
  await driver.perform("checkpoint.create", { agentId, label: "before retention", metadata: {} });
  driver.passDays(3);
  await driver.write(agentId, "greeting", "Hello, later");
  await driver.write(agentId, "late", "x");
  await driver.perform("checkpoint.create", { agentId, label: "later", metadata: {} });
  await driver.perform("config.update", { agentId, config: { policies: { retention_days: 2 } } });
  await driver.perform("checkpoint.create", { agentId, label: "with expired entries", metadata: {} });
  await driver.sweep();
  await driver.write(agentId, "late", "y");
  driver.passDays(3);
  await driver.write(agentId, "late", "an entry anew, the old one being expired");
  await driver.perform("checkpoint.create", { agentId, label: "expired, not swept", metadata: {} });
}
