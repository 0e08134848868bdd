/** Why a working copy cannot be brought up to date. */
import { CLOSED_FORMAT } from "../store/place.ts";
import { Unreachable } from "../workspace/storage-failure.ts";

/** There is nothing on the server. */
export class NamespaceMissing extends Error {
  override readonly name = "NamespaceMissing";
}

/** A newer governd has upgraded the database on the server, or it went home to a file. Nothing was written. */
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

/** The server has a commit, and the copy could not take it: it is refreshed before it is used again. */
export class CopyFailed extends Error {
  override readonly name = "CopyFailed";

  constructor(cause: unknown) {
    super("what was committed on the libSQL server could not be written here", { cause });
  }
}

/** Another process changed the file of the copy. */
export class CopyMoved extends Error {}
