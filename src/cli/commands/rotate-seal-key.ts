/**
 * `governd rotate-seal-key`: a new key seals from now on. In each workspace the old key announces it:
 * an event names the new key, and a last seal by the old one covers that event. Only then does the new
 * key take the old one's place. Interrupted and run again, it goes on where it stopped.
 */
import { existsSync, readFileSync, rmSync } from "node:fs";
import type { Command } from "commander";
import { listWorkspaces } from "../../control/workspaces.ts";
import { cliPrincipal, withWriter } from "../../daemon/recorder.ts";
import type { DataDirectory } from "../../datadir/layout.ts";
import { createPrivateFile, replaceFile } from "../../datadir/private-files.ts";
import {
  newSealKey,
  publicPem,
  readSealKey,
  type SealKey,
  type SealKeySource,
  sealKeySource,
} from "../../datadir/seal-key.ts";
import { Failure } from "../../failure.ts";
import { sha256Hex } from "../../log/hash.ts";
import { sameHash } from "../../log/merkle.ts";
import { parseVerifierKey, verifierKey } from "../../log/note.ts";
import { loadSettings } from "../../settings/load.ts";
import { sealingKey } from "../../state/seals.ts";
import { consult, directoryOf } from "../administer.ts";
import { addSettingOptions, settingFlags } from "../options.ts";
import type { Session } from "../session.ts";
import { printResult } from "../terminal.ts";

interface RotateOptions {
  newKey?: string;
  json?: boolean;
}

const DESCRIPTION = `give all workspaces a new key that signs their seals

In every workspace the old key announces the new one, so that auditors can follow from one to the
other. A daemon may run meanwhile. With seal_key set, the new key is brought with --new-key and put in
the old one's place by you; without it, both happens here.`;

export function addRotateSealKey(program: Command, session: Session): void {
  const rotate = program
    .command("rotate-seal-key")
    .summary("give all workspaces a new key that signs their seals")
    .description(DESCRIPTION)
    .option("--new-key <file>", "the new private key (Ed25519, PKCS #8 PEM), with seal_key set")
    .option("--json", "print JSON")
    .action((options: RotateOptions) => rotateSealKey(session, options));
  addSettingOptions(rotate, ["data_dir", "encryption_key_file", "seal_key"]);
}

async function rotateSealKey({ terminal }: Session, options: RotateOptions): Promise<void> {
  const { settings } = loadSettings(settingFlags({ ...options }));
  const directory = directoryOf(settings);
  const oldSource = sealKeySource(directory, settings.seal_key);
  const isOwn = settings.seal_key === null;
  if (isOwn !== (options.newKey === undefined)) {
    throw new Failure(
      "usage",
      isOwn
        ? "--new-key is for a key that the setting seal_key names; this one is made here."
        : "The key is kept elsewhere (seal_key): make the new one there and bring it with --new-key.",
    );
  }
  // The old key in memory outlives its file: a workspace may be made while the files change.
  const old: SealKeySource = { kind: "pem", pem: pemOf(oldSource) };
  const newSource = newKeySource(directory, options.newKey);
  const next = readSealKey(newSource);
  let announced = await announceEverywhere(directory, old, next, options);
  if (isOwn) {
    replaceFile(directory.sealKey, pemOf(newSource));
    replaceFile(directory.sealPublicKey, publicPem(next));
    rmSync(nextKeyFile(directory));
    announced += await announceEverywhere(directory, old, next, options);
  }
  const fingerprint = sha256Hex(next.publicBytes);
  await printResult(
    terminal,
    options.json ?? false,
    { fingerprint, public_key: publicPem(next), announced },
    [
      `The new key is announced in ${announced} workspaces.`,
      `Fingerprint (SHA-256)  ${fingerprint}`,
      "",
      publicPem(next).trimEnd(),
      ...(isOwn
        ? []
        : ["", "Put it in the place of the old one (seal_key) now; until then nothing is sealed."]),
    ],
  );
}

/** Waits here until it is announced everywhere: what a run that was cut off leaves behind. */
const nextKeyFile = (directory: DataDirectory): string => `${directory.sealKey}.next`;

function newKeySource(directory: DataDirectory, file: string | undefined): SealKeySource {
  if (file !== undefined) return { kind: "file", path: file };
  const path = nextKeyFile(directory);
  if (!existsSync(path)) createPrivateFile(path, newSealKey());
  return { kind: "file", path };
}

function pemOf(source: SealKeySource): string {
  readSealKey(source);
  return source.kind === "pem" ? source.pem : readFileSync(source.path, "utf8");
}

/** Announces the key in every workspace that does not name it yet; answers how many those were. */
async function announceEverywhere(
  directory: DataDirectory,
  old: SealKeySource,
  next: SealKey,
  options: RotateOptions,
): Promise<number> {
  const ids = consult({ ...options }, ({ connection }) => listWorkspaces(connection).map(({ id }) => id));
  let announced = 0;
  for (const id of ids) {
    await withWriter(directory, old, id, async (writer, connection) => {
      const text = await sealingKey(connection);
      const named = text === null ? null : parseVerifierKey(text);
      if (named === null || sameHash(named.publicKey, next.publicBytes)) return;
      await writer.rotateSealKey(cliPrincipal(id), verifierKey(named.name, next.publicBytes));
      announced += 1;
    });
  }
  return announced;
}
