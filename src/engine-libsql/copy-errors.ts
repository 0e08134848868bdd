/** Why a working copy cannot be brought up to date. */

import { Unreachable } from "../core/writer/storage-failure.ts";
import { CLOSED_FORMAT } from "../store/location.ts";
import { otherGovernd } from "../store/migrate.ts";

/** The namespace is empty or missing. */
export class NamespaceMissing extends Error {
  override readonly name = "NamespaceMissing";
}

/**
 * Another governd has written the server's database, newer or from before 0.1.0, or the database was moved back to a
 * file. Nothing was written.
 */
export class UnknownNamespace extends Unreachable {
  override readonly name = "UnknownNamespace";
  readonly isNewer: boolean;

  constructor(namespace: string, found: number, newest: number) {
    super(
      found === CLOSED_FORMAT
        ? `the namespace ${namespace} is closed: its database went home with governd migrate --to embedded`
        : `the namespace ${namespace} was written by ${otherGovernd(found, newest)}`,
    );
    this.isNewer = found > newest;
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
