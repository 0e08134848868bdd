/** A workspace with a sealing key, as one process has it open. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { newSealKey, readSealKey } from "../../src/core/datadir/seal-key.ts";
import type { StoredSeal } from "../../src/core/rows/log/seals.ts";
import { SealKeyring } from "../../src/core/seals/keyring.ts";
import { WorkspaceSealer } from "../../src/core/seals/sealer.ts";
import type { Principal, Reply } from "../../src/core/writer/contract.ts";
import { createWorkspaceFile, openWorkspaceFile } from "../../src/core/writer/file.ts";
import { WorkspaceWriter } from "../../src/core/writer/perform.ts";
import { verifierKey } from "../../src/log/note.ts";
import { writeData } from "../../src/ops/data/write.ts";
import type { Connection } from "../../src/store/connection.ts";
import type { TemporaryDirectory } from "../temporary.ts";

export const WORKSPACE_ID = "ws_01h455vb4pex5vsknk084sn02q";

export const PRINCIPAL: Principal = {
  actor: "usr_01h455vb4pex5vsknk084sn02q",
  workspaceId: WORKSPACE_ID,
  scope: "full",
  agents: null,
};

export interface SealedWorkspace {
  workspaceId: string;
  path: string;
  sealFile: string;
  keyFile: string;
  keyPem: string;
  publicKey: Uint8Array;
  connection: Connection;
  writer: WorkspaceWriter;
  sealed: StoredSeal[];
}

/** Creates the workspace of a directory, with its own key. */
export async function sealedWorkspace(directory: TemporaryDirectory): Promise<SealedWorkspace> {
  const keyFile = directory.join("seal.key");
  if (!existsSync(keyFile)) writeFileSync(keyFile, newSealKey());
  const { publicBytes } = readSealKey({ kind: "file", path: keyFile });
  await createWorkspaceFile(directory.join("w.db"), {
    workspaceId: WORKSPACE_ID,
    name: "sealed",
    actor: "cli",
    sealKey: verifierKey(`test.example/${WORKSPACE_ID}`, publicBytes),
  });
  return openSealed(directory);
}

/** Opens the workspace of a directory, as another process would. */
export async function openSealed(directory: TemporaryDirectory): Promise<SealedWorkspace> {
  const [path, sealFile, keyFile] = [directory.join("w.db"), directory.join("w.log"), directory.join("seal.key")];
  const connection = openWorkspaceFile(path);
  const sealed: StoredSeal[] = [];
  const sealer = new WorkspaceSealer({
    keyring: new SealKeyring({ kind: "file", path: keyFile }),
    file: sealFile,
    onSealed: (seal) => sealed.push(seal),
  });
  const writer = new WorkspaceWriter(connection, { sealer });
  await sealer.load(connection);
  const { publicBytes } = readSealKey({ kind: "file", path: keyFile });
  const keyPem = readFileSync(keyFile, "utf8");
  return {
    workspaceId: WORKSPACE_ID,
    path,
    sealFile,
    keyFile,
    keyPem,
    publicKey: publicBytes,
    connection,
    writer,
    sealed,
  };
}

/** Writes entries, all in one transaction. */
export function writeSome({ writer }: SealedWorkspace, count: number, agentId = "alpha"): Promise<Reply[]> {
  return writer.perform(
    Array.from({ length: count }, (_, index) => ({
      operation: "data.write",
      principal: PRINCIPAL,
      run: (tx, context) =>
        writeData(tx, context, { agentId, key: `key/${index}`, value: `value ${index}`, metadata: {} }),
    })),
  );
}
