/**
 * Host names in settings: those of DNS (RFC 1123 section 2.1), and with underscores, as Docker Compose names services
 * and Windows machines. Clients accept these in certificates, too.
 */
import { isIP } from "node:net";

const MAX_NAME = 253;
const MAX_LABEL = 63;

/** What a name may not contain or look like, and what is then wrong with it. The first that fits is reported. */
const FLAWS: readonly [flaw: RegExp, wrong: string][] = [
  [/^[a-z][a-z0-9+.-]*:\/\//i, "is a URL: give only the host name in it"],
  [/\s/, "contains a space"],
  [/[/?#]/, "contains a path: give only the host name"],
  [/^\[/, "is in brackets: give an IPv6 address without them, and without a port"],
  [/:\d*$/, "contains a port: give only the host name"],
  [/\.$/, "ends with a dot: leave it out"],
  [/\*/, "contains a * that is not the whole first label, as in *.example.org"],
  [/[\u0080-\u{10ffff}]/u, "contains characters outside ASCII: write the name as DNS does, beginning with xn--"],
  [/[^\w.-]/, "contains a character other than letters, digits, hyphens, underscores and dots"],
  [/^\.|\.\./, "has an empty part between dots"],
  [/(?:^|\.)-|-(?:\.|$)/, "has a part that begins or ends with a hyphen"],
  [new RegExp(`[^.]{${MAX_LABEL + 1}}`), `has a part that is longer than ${MAX_LABEL} characters`],
  [new RegExp(`^.{${MAX_NAME + 1}}`), `is longer than ${MAX_NAME} characters`],
  [/(?:^|\.)\d+$/, "ends with a number, as only an IP address does, and is none"],
];

/** Returns what is wrong with a host name, as the rest of a sentence; null when nothing is. Addresses are no names. */
const flawOf = (name: string): string | null => FLAWS.find(([flaw]) => flaw.test(name))?.[1] ?? null;

/** Reports whether the text is a host name. */
export const isHostName = (text: string): boolean => text !== "" && flawOf(text) === null;

/** Returns what is wrong with a name of this server, like {@link flawOf}: a name, an IP address, or `*.` and a name. */
export const flawOfOwnName = (name: string): string | null =>
  isIP(name) !== 0 && !name.includes("%") ? null : flawOf(name.replace(/^\*\./, ""));
