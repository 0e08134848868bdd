/** A small log that the product writes with a fixed clock, fixed randomness and the vectors' key. */
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { RandomPool } from "../../src/ids.ts";
import { verifierKey } from "../../src/log/note.ts";
import type { OperationInputs, OperationName } from "../../src/operations.ts";
import { cliPrincipal } from "../../src/ops/directory/journal.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import type { Connection } from "../../src/store/connection.ts";
import { typeId, WORKSPACE } from "../log/sample.ts";
import { originOf, type SealingKey } from "../log/sealed.ts";
import { inMemory } from "../temporary.ts";

const PRINCIPAL = { ...cliPrincipal(WORKSPACE), actor: typeId("usr", 1) };

export class WrittenLog {
  readonly principal = PRINCIPAL;
  #nowMs = Date.UTC(2026, 2, 1);

  private constructor(
    readonly connection: Connection,
    readonly writer: WorkspaceWriter,
    private readonly passes: (ms: number) => void,
  ) {}

  /** Returns what `work` makes of an empty log. */
  static async make<T>(key: SealingKey, work: (log: WrittenLog) => Promise<T>): Promise<T> {
    const directory = mkdtempSync(join(inMemory(), "governd-vectors-"));
    try {
      const log = await WrittenLog.#open(join(directory, "log.db"), key);
      const made = await work(log);
      log.writer.close();
      return made;
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  static async #open(path: string, key: SealingKey): Promise<WrittenLog> {
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
    return new WrittenLog(connection, writer, (ms) => {
      nowMs += ms;
    });
  }

  /** The time that its clock shows, ms. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Performs an operation, a second after the one before. */
  async perform<N extends OperationName>(name: N, input: OperationInputs[N]) {
    this.pass(1000);
    const [reply] = await this.writer.perform([jobOf({ name, input, principal: PRINCIPAL })]);
    if (reply === undefined || reply.answer.kind === "problem") throw new Error(`${name}: ${JSON.stringify(reply)}`);
    return reply.answer;
  }

  pass(ms: number): void {
    this.#nowMs += ms;
    this.passes(ms);
  }
}
