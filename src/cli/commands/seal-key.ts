/**
 * `governd key-info` shows the public key that signs seals; `governd rotate-seal-key` replaces the key pair.
 *
 * The old key announces the new one in every workspace: an event names the new key, and a last seal by the old key
 * covers that event. Meanwhile the keys are in three files, so that every workspace has the key that its log names,
 * also when the rotation is interrupted at any point (SealKeyring looks at all three):
 *
 *   seal.key, seal.key.next             the new key was made
 *   seal.key, seal.key.next, .old       .old is a copy of seal.key; workspaces name the old or the new key
 *   seal.key, seal.key.old              seal.key is the new key; workspaces made meanwhile may name the old one
 *   seal.key                            the old key was destroyed
 *
 * An interrupted rotation continues when the command is run again, and the daemon runs it when it starts.
 */
import { existsSync, rmSync } from "node:fs";
import type { Command } from "commander";
import { haveLogsEmptied } from "../../core/datadir/empty-logs.ts";
import { type DataDirectory, presentWorkspaces, workspaceFile } from "../../core/datadir/layout.ts";
import { createPrivateFile, destroyFile, replaceFile } from "../../core/datadir/private-files.ts";
import {
  newSealKey,
  nextKeyFile,
  oldKeyFile,
  publicPem,
  readSealKey,
  type SealKey,
  type SealKeySource,
  sealKeyPem,
  sealKeySource,
} from "../../core/datadir/seal-key.ts";
import { sealingKey } from "../../core/rows/log/seals.ts";
import { Failure } from "../../failure.ts";
import { sameHash } from "../../log/merkle.ts";
import { fingerprintOf, parseVerifierKey, verifierKey } from "../../log/note.ts";
import { ROTATE_SEAL_KEY } from "../../log/seal.ts";
import { cliPrincipal, serverOf, withWriter } from "../../ops/directory/journal.ts";
import { listLogIds } from "../../ops/directory/workspaces.ts";
import { releaseClosed } from "../../store/closing.ts";
import { openConnection } from "../../store/connection.ts";
import { consultInstallation, dataDirectoryOf } from "../data-directory.ts";
import { addCommonOptions, type Session, STORED } from "../session.ts";

/** After this many workspaces, their write-ahead logs are emptied. */
const LOGS_AT_ONCE = 64;

type RotateOptions = { newKey?: string };

const ROTATE_DESCRIPTION = `replace the key that signs the seals of all workspaces

In every workspace the old key announces the new one, so that auditors can follow from one to the other. The
daemon may run meanwhile. When seal_key is set, bring the new key with --new-key and replace the old one yourself;
otherwise this command creates the new key and replaces the old one.`;

export function addKeyInfo(program: Command, session: Session): void {
  const info = program
    .command("key-info")
    .description("show the public key that signs seals, which auditors need; it is not secret")
    .action((options: object) => showKeyInfo(session, options));
  addCommonOptions(info, [...STORED, "seal_key"]);
}

export function addRotateSealKey(program: Command, session: Session): void {
  const rotate = program
    .command("rotate-seal-key")
    .summary("replace the key that signs the seals of all workspaces")
    .description(ROTATE_DESCRIPTION)
    .option("--new-key <file>", "the new private key (Ed25519, PKCS #8 PEM), when seal_key is set")
    .action((options: RotateOptions) => rotateSealKey(session, options));
  addCommonOptions(rotate, [...STORED, "seal_key"]);
}

async function showKeyInfo(session: Session, options: object): Promise<void> {
  const { settings, directory } = dataDirectoryOf(options);
  const key = readSealKey(sealKeySource(directory, settings.seal_key));
  const workspaces: { workspace_id: string; verifier_key: string; current: boolean }[] = [];
  for (const id of await workspaceIds(options)) {
    const named = await namedKey(directory, id);
    if (named === null) continue;
    // False when a key other than the present one must seal the workspace.
    const current = sameHash(parseVerifierKey(named).publicKey, key.publicBytes);
    workspaces.push({ workspace_id: id, verifier_key: named, current });
  }
  const { fingerprint, public_key, lines } = describe(key);
  await session.print({ fingerprint, public_key, workspaces }, [
    ...lines,
    ...workspaces.flatMap((workspace) => [
      "",
      `${workspace.workspace_id}${workspace.current ? "" : "  (sealed by another key than the present one)"}`,
      `  ${workspace.verifier_key}`,
    ]),
  ]);
}

/** Returns the key that a workspace names for its seals; null when it names none, or its file is missing. */
async function namedKey(directory: DataDirectory, workspaceId: string): Promise<string | null> {
  // A node's copy may be missing, or from before a rotation of the key.
  if (directory.server !== null) return await sealingKey(serverOf(directory.server).reader(workspaceId));
  const path = workspaceFile(directory, workspaceId);
  if (!existsSync(path)) return null;
  using connection = openConnection(path, { readOnly: true, encryptionKey: directory.encryptionKey });
  return await sealingKey(connection);
}

async function rotateSealKey(session: Session, options: RotateOptions): Promise<void> {
  const { settings, directory } = dataDirectoryOf(options);
  const isOwn = settings.seal_key === null;
  if (isOwn !== (options.newKey === undefined)) {
    const message = isOwn
      ? "--new-key is only for a key that the setting seal_key names. Without seal_key this command creates the key."
      : "The key is kept outside the data directory (seal_key). Create the new key there and bring it with --new-key.";
    throw new Failure("usage", message);
  }
  const { next, announced } = isOwn
    ? await rotateOwnKey(directory, options)
    : await announceKey(directory, sealKeySource(directory, settings.seal_key), options.newKey as string, options);
  const { fingerprint, public_key, lines } = describe(next);
  await session.print({ fingerprint, public_key, announced }, [
    `The new key is announced in ${announced} workspaces.`,
    ...lines,
    ...(isOwn ? [] : ["", "Now replace the old key (seal_key) with it. Nothing is sealed until then."]),
  ]);
}

/** Announces a key that is kept outside the data directory, as the present one is. */
async function announceKey(directory: DataDirectory, present: SealKeySource, file: string, options: object) {
  readSealKey(present);
  const next = readSealKey({ kind: "file", path: file });
  return { next, announced: await announceEverywhere(directory, present, next, options) };
}

/** Rotates the key in the data directory, or finishes an interrupted rotation. */
async function rotateOwnKey(directory: DataDirectory, options: object) {
  const present: SealKeySource = { kind: "file", path: directory.sealKey };
  const old: SealKeySource = { kind: "file", path: oldKeyFile(directory.sealKey) };
  const nextFile = nextKeyFile(directory.sealKey);
  let announced = 0;
  if (!existsSync(old.path) || existsSync(nextFile)) {
    readSealKey(present);
    createPrivateFile(nextFile, newSealKey());
    createPrivateFile(old.path, sealKeyPem(present));
    const pem = sealKeyPem({ kind: "file", path: nextFile });
    const next = readSealKey({ kind: "pem", pem });
    announced += await announceEverywhere(directory, old, next, options);
    replaceFile(directory.sealKey, pem);
    replaceFile(directory.sealPublicKey, publicPem(next));
    rmSync(nextFile);
  }
  const next = readSealKey(present);
  // A workspace that was created meanwhile may name the old key.
  announced += await announceEverywhere(directory, old, next, options);
  destroyFile(old.path);
  return { next, announced };
}

function describe(key: SealKey) {
  const [fingerprint, public_key] = [fingerprintOf(key.publicBytes), publicPem(key)];
  return { fingerprint, public_key, lines: [`Fingerprint (SHA-256)  ${fingerprint}`, "", public_key.trimEnd()] };
}

/** Announces the key in every workspace that does not name it yet. Returns the number of those workspaces. */
async function announceEverywhere(
  directory: DataDirectory,
  old: SealKeySource,
  next: SealKey,
  options: object,
): Promise<number> {
  let announced = 0;
  let written: string[] = [];
  // The file of a new workspace exists before its row.
  const ids = new Set([...(await workspaceIds(options)), ...presentWorkspaces(directory)]);
  for (const id of ids) {
    await withWriter(directory, old, id, async (writer, connection) => {
      const text = await sealingKey(connection);
      const named = text === null ? null : parseVerifierKey(text);
      if (named === null || sameHash(named.publicKey, next.publicBytes)) return;
      const rotation = { operation: ROTATE_SEAL_KEY, principal: cliPrincipal(id) } as const;
      await writer.announceSealKey(rotation, verifierKey(named.name, next.publicBytes), {});
      announced += 1;
      written.push(id);
    });
    // Each file stays open until its log is empty (src/store/closing.ts).
    if (written.length < LOGS_AT_ONCE) continue;
    await haveLogsEmptied(directory, written);
    releaseClosed();
    written = [];
  }
  return announced;
}

const workspaceIds = (options: object): Promise<string[]> => consultInstallation(options, listLogIds, []);
