/** Why a working copy cannot be brought up to date. */

import { Unreachable } from "../core/writer/storage-failure.ts";
import { CLOSED_FORMAT } from "../store/place.ts";

/** The namespace is empty or missing. */
export class NamespaceMissing extends Error {
  override readonly name = "NamespaceMissing";
}

/**
 * A newer governd has upgraded the server's database, or the database was moved back to a file. Nothing was written.
 */
export class NewerNamespace extends Unreachable {
  override readonly name = "NewerNamespace";

  constructor(namespace: string, found: number, known: number) {
    super(
      found === CLOSED_FORMAT
        ? `the namespace ${namespace} is closed: its database went home with governd migrate --to embedded`
        : `the namespace ${namespace} was upgraded by a newer governd (schema ${found}, this one knows ${known}): run that version on this node, too`,
    );
  }
}

/** The server has a commit that could not be written to the copy. The copy is refreshed before its next use. */
export class CopyFailed extends Error {
  override readonly name = "CopyFailed";

  constructor(cause: unknown) {
    super("what was committed on the libSQL server could not be written here", { cause });
  }
}

/** Another process changed the file of the copy. */
export class CopyMoved extends Error {}
