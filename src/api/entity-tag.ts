/** `If-Match` and `If-None-Match` (RFC 9110 sections 8.8.3, 13.1.1 and 13.1.2). */
import type { VersionCondition } from "../operation-facts.ts";

/** One list item: an entity tag, then a comma or the end. Optional whitespace around both. */
const ITEM = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)")?[ \t]*(,|$)/y;

interface Tag {
  weak: boolean;
  opaque: string;
}

/**
 * Returns the condition that `If-Match` states. Weak tags are left out, since the strong comparison of If-Match never
 * matches them. Returns null when the header is malformed.
 */
export function parseIfMatch(header: string): VersionCondition | null {
  if (header.trim() === "*") return { exists: true };
  const tags = parseList(header);
  return tags === null ? null : { versions: tags.filter((tag) => !tag.weak).map((tag) => tag.opaque) };
}

/** Reports whether `If-None-Match` names this entity tag (weak comparison). A malformed header names none. */
export function matchesNone(header: string, etag: string): boolean {
  if (header.trim() === "*") return true;
  return parseList(header)?.some((tag) => tag.opaque === etag) ?? false;
}

function parseList(header: string): Tag[] | null {
  const tags: Tag[] = [];
  ITEM.lastIndex = 0;
  for (;;) {
    const match = ITEM.exec(header);
    if (match === null) return null;
    // Empty list items are legal and mean nothing (RFC 9110 section 5.6.1.2).
    if (match[2] !== undefined) tags.push({ weak: match[1] !== undefined, opaque: match[2] });
    if (match[3] === "") return tags.length === 0 ? null : tags;
  }
}
