/**
 * The format of exports, which docs/audit-format.md specifies. An export holds events as the API shows them (present.ts),
 * with what is needed to verify them away from the database.
 */

/** The format that every export names. */
export const EXPORT_FORMAT = "governd.audit-export/1";

/** The longest line or event that is read, characters. A workspace cannot write one nearly as long. */
export const MAX_RECORD_CHARS = 16 * 1024 * 1024;

/** The file is not an export of this format. The message is for the person who has the file. */
export class ExportFormatError extends Error {
  override readonly name: string = "ExportFormatError";
}

/** An export of this format with something in it that the format does not allow: it was changed. */
export class ExportMalformed extends ExportFormatError {
  override readonly name = "ExportMalformed";
}
