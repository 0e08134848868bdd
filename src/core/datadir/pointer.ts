/**
 * Which log is that of the installation, and which engine has the databases: `installation.json` in the data directory. It
 * is no evidence: `governd verify` recognises the log by itself.
 */
import { readFileSync } from "node:fs";
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Failure, orNull, systemCode, systemReason } from "../../failure.ts";
import { only, StoredWorkspaceId } from "../../schemas.ts";
import type { DataDirectory } from "./layout.ts";
import { replaceFile } from "./private-files.ts";

const FORMAT = "governd.installation/1";

const Pointer = only({
  format: Type.Literal(FORMAT),
  /** The id of the log of the installation. */
  installation_id: StoredWorkspaceId,
  /** With `libsql-server` the files are copies of what is on the server, or are being moved there. */
  engine: Type.Union([Type.Literal("embedded"), Type.Literal("libsql-server")]),
});

export type Pointer = Omit<Static<typeof Pointer>, "format">;

/**
 * Reads the pointer of a data directory; null before its first start.
 * @throws {Failure} `data_directory_unusable` when it cannot be read, `newer_database` when a newer governd wrote it
 */
export function readPointer({ pointer: path }: Pick<DataDirectory, "pointer">): Pointer | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw new Failure("data_directory_unusable", `${path} cannot be read: ${systemReason(error)}.`, { cause: error });
  }
  const found: unknown = orNull(SyntaxError, () => JSON.parse(text));
  if (Value.Check(Pointer, found)) return { installation_id: found.installation_id, engine: found.engine };
  if (isNewer(found)) {
    throw new Failure("newer_database", `${path} was written by a newer governd. Nothing was changed.`);
  }
  throw new Failure("data_directory_unusable", `${path} is damaged. Restore it from a backup. Nothing was changed.`);
}

/** Writes the pointer, which is on disk when this returns. */
export function writePointer({ pointer: path }: Pick<DataDirectory, "pointer">, pointer: Pointer): void {
  replaceFile(path, `${JSON.stringify({ format: FORMAT, ...pointer }, null, 2)}\n`);
}

const isNewer = (found: unknown): boolean =>
  Value.Check(Type.Object({ format: Type.String({ pattern: "^governd\\.installation/(?!1$)\\d+$" }) }), found);
