/**
 * The manifest of a backup: every file with its length and SHA-256. It is written last, so a directory without a
 * manifest is not a backup.
 */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Failure, orNull as orNullOn, systemReason } from "../failure.ts";
import { parseStrictJson } from "../log/json-scan.ts";
import { Hash, orNull, StoredWorkspaceId } from "../schemas.ts";

/** The name of the manifest format. */
export const BACKUP_FORMAT = "governd.backup/1";
export const MANIFEST_FILE = "manifest.json";

/** The paths of files in a backup, relative and with `/`. A manifest must not have any other path. */
const FILE_PATH =
  /^(?:installation\.json|workspaces\/ws_[0-7][0-9a-hjkmnp-tv-z]{25}\.db|seals\/ws_[0-7][0-9a-hjkmnp-tv-z]{25}\.log|(?:keys|tls)\/[A-Za-z0-9_][A-Za-z0-9._-]{0,99})$/;

const Moment = Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$" });
const Count = Type.Integer({ minimum: 0 });

const ManifestFile = Type.Object({
  path: Type.String({ pattern: FILE_PATH.source }),
  size: Count,
  sha256: Hash,
  /** Identifies the state of the source file. A source in the same state is not copied again. */
  source_state: orNull(Type.String()),
});

const ManifestWorkspace = Type.Object({
  workspace_id: StoredWorkspaceId,
  /** The last event and its hash. */
  head_seq: Count,
  head_hash: Hash,
  /** The last event under a seal. */
  sealed_through: orNull(Count),
});

const Manifest = Type.Object({
  format: Type.Literal(BACKUP_FORMAT),
  governd: Type.String(),
  /**
   * When copying started and ended. The log of the installation is from the start, each workspace from a moment in between.
   */
  created_at: Moment,
  completed_at: Moment,
  schema: Count,
  /** False when the signing key is kept outside the data directory. */
  has_seal_key: Type.Boolean(),
  workspaces: Type.Array(ManifestWorkspace),
  /** Workspaces that the backup lacks, and why. */
  left_out: Type.Array(Type.Object({ workspace_id: StoredWorkspaceId, reason: Type.String() })),
  files: Type.Array(ManifestFile),
});

/** A decoder that keeps a byte order mark, which is not valid in JSON. */
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const Made = Type.Pick(Manifest, ["format", "created_at"]);
const LeftOut = Type.Pick(Manifest, ["left_out"]);

export type Manifest = Static<typeof Manifest>;
export type ManifestFile = Static<typeof ManifestFile>;
export type ManifestWorkspace = Static<typeof ManifestWorkspace>;

/** A manifest with the SHA-256 of its text. */
export type ReadManifest = { manifest: Manifest; digest: string };

/**
 * Reads the manifest of a backup.
 * @throws {Failure} `backup_unusable` when it is missing, damaged, or in an unknown format
 */
export function readManifest(directory: string): ReadManifest {
  const path = join(directory, MANIFEST_FILE);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const reason = `${MANIFEST_FILE} cannot be read (${systemReason(error)})`;
    throw new Failure("backup_unusable", `${directory} is not a complete backup: ${reason}.`, { cause: error });
  }
  const manifest = parse(text);
  if (manifest === null) {
    const advice = "Use another backup, or the newer governd.";
    throw new Failure("backup_unusable", `${path} is damaged, or a newer governd wrote it. ${advice}`);
  }
  return { manifest, digest: createHash("sha256").update(text).digest("hex") };
}

/** Returns the manifest of a backup, or null when {@link readManifest} would fail. */
export function readManifestIfGood(directory: string): Manifest | null {
  try {
    return readManifest(directory).manifest;
  } catch (error) {
    if (error instanceof Failure) return null;
    throw error;
  }
}

/**
 * Returns when a backup was begun, RFC 3339, even if the rest of its manifest is not valid.
 * @throws {Failure} `backup_unusable` when the manifest does not state it
 */
export function readBackupTime(directory: string): string {
  const manifest = readLoosely(directory);
  if (Value.Check(Made, manifest)) return manifest.created_at;
  throw new Failure("backup_unusable", `${join(directory, MANIFEST_FILE)} does not say when the backup was made`);
}

/** Returns the workspaces that a backup lacks according to its manifest; none if it is not a backup. */
export function workspacesLeftOut(directory: string): string[] {
  const manifest = readLoosely(directory);
  return Value.Check(LeftOut, manifest) ? manifest.left_out.map(({ workspace_id: id }) => id) : [];
}

/** Returns the manifest without checking its form; null when there is none, or it is not JSON. */
const readLoosely = (directory: string): unknown =>
  orNullOn(Error, () => parseStrictJson(UTF_8.decode(readFileSync(join(directory, MANIFEST_FILE)))));

function parse(text: string): Manifest | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null; // The error message may quote the file.
  }
  if (!Value.Check(Manifest, value)) return null;
  const paths = value.files.map(({ path }) => path);
  return new Set(paths).size === paths.length ? value : null;
}
