/** Public IP addresses and MAC addresses. */
import { type Hit, hitOf } from "../check.ts";
import { isAlphanumeric, isDigit, matchEnd } from "../text/ascii.ts";

const IPV4 = /(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}/y;
const VERSION_BEFORE =
  /(?:\bv|version|ver\.?|release|build|chrome|firefox|safari|edge|edg|opr|webkit|mozilla|agent|driver|firmware|oid|section|chapter|bump|upgrade[ds]?|update[ds]?|from|@|\^|~|==|>=|<=|\/)[\s"':=/-]{0,3}$/i;
/** "CUDA 12.4.1.8" */
const PRODUCT_BEFORE = /(?:^|[^\p{L}])[A-Z][A-Za-z]{2,15} $/u;
const ADDRESS_BEFORE = /(?:ip|addr|address|client|host|server|from|login|remote|peer|source|src|dst|visitor)\W{0,6}$/i;
/** Words for a change from one version to another. */
const CHANGE_BEFORE = /(?:upgrad|downgrad|updat|migrat|bump)\w*\s(?:\S{1,24}\s){0,4}$/i;
/** How the object identifiers of certificates and directories begin (X.660). */
const OBJECT_IDENTIFIER = /^(?:2\.5|1\.[23]|2\.16|2\.23)\./;
/** Public resolvers and common examples. */
const WELL_KNOWN: ReadonlySet<string> = new Set(
  "8.8.8.8 8.8.4.4 1.1.1.1 1.0.0.1 9.9.9.9 208.67.222.222 208.67.220.220 4.4.4.4 4.2.2.2 1.2.3.4 5.6.7.8".split(" "),
);

const LONGEST_CHANGE = 56;

/** A public IPv4 address that begins at `at`. */
export function ipv4(text: string, at: number): Hit | null {
  if (at > 0 && (text[at - 1] === "." || isAlphanumeric(text.charCodeAt(at - 1)))) return null;
  const end = matchEnd(IPV4, text, at);
  if (end < 0 || isAlphanumeric(text.charCodeAt(end))) return null;
  if (text[end] === "." && isDigit(text.charCodeAt(end + 1))) return null;
  const address = text.slice(at, end);
  if (!isPublicV4(address) || WELL_KNOWN.has(address)) return null;
  if (CHANGE_BEFORE.test(text.slice(Math.max(0, at - LONGEST_CHANGE), at))) return null;
  const before = text.slice(Math.max(0, at - 24), at);
  if (before.endsWith("@") && isUnlikeVersion(address) && /[a-z]@$/i.test(before)) return hitOf("ip_address", at, end);
  const isOther =
    OBJECT_IDENTIFIER.test(address) ||
    (PRODUCT_BEFORE.test(before) && isLikeVersion(address)) ||
    (VERSION_BEFORE.test(before) && !/:\/\/$/.test(before));
  return isOther && !ADDRESS_BEFORE.test(before) ? null : hitOf("ip_address", at, end);
}

/** Two numbers of one digit, and none of three. */
const isLikeVersion = (address: string): boolean =>
  address.split(".").filter((part) => part.length === 1).length > 1 && !/\d{3}/.test(address);

/** `ubuntu@54.93.118.207`: versions of four numbers have small ones. */
const isUnlikeVersion = (address: string): boolean => address.split(".").filter((part) => part.length > 1).length > 2;

/** Not in the special-purpose registry (RFC 6890 and its successors). */
function isPublicV4(address: string): boolean {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  if (a === 0 || a === 10 || a === 127 || a >= 224) return false;
  if (a === 100 && b >= 64 && b <= 127) return false;
  if (a === 169 && b === 254) return false;
  if (a === 172 && b >= 16 && b <= 31) return false;
  if (a === 192 && (b === 168 || (b === 0 && (c === 0 || c === 2)) || (b === 88 && c === 99))) return false;
  if (a === 198 && (b === 18 || b === 19 || (b === 51 && c === 100))) return false;
  if (a === 203 && b === 0 && c === 113) return false;
  // Four small numbers are a version or an outline, hardly ever a host.
  return !(a < 10 && b < 10 && c < 10 && d < 10);
}

const IPV6 = /(?:[0-9a-f]{1,4}:){2,7}(?::?[0-9a-f]{1,4}){0,6}(?:::)?|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}/iy;

/** An IPv6 address (RFC 4291) whose first group begins at `at`: of global unicast, or one that is written in full. */
export function ipv6(text: string, at: number): Hit | null {
  if (text.charCodeAt(at + 4) !== 0x3a) return null;
  if (/[0-9A-Za-z:.]/.test(text[at - 1] ?? "")) return null;
  const end = matchEnd(IPV6, text, at);
  if (end < 0) return null;
  const address = text.slice(at, end);
  if (isAlphanumeric(text.charCodeAt(end)) || !isGlobalV6(address)) return null;
  return hitOf("ip_address", at, end);
}

/** Outside global unicast, fewer groups than this may be something else, such as a time. */
const MOST_SHORT_GROUPS = 5;

function isGlobalV6(address: string): boolean {
  const groups = address.split(":");
  const first = Number.parseInt(groups[0] as string, 16);
  const isUnicast = first >= 0x2000 && first <= 0x3fff;
  // Unique local, link-local and multicast addresses are private.
  if (!isUnicast && (groups.length < MOST_SHORT_GROUPS || first >= 0xfc00 || first < 0x100)) return false;
  // Eight pairs of digits are bytes.
  if (!isUnicast && groups.filter((group) => group.length > 2).length < 2) return false;
  const compressed = address.includes("::");
  if (address.indexOf("::") !== address.lastIndexOf("::")) return false;
  if (compressed ? groups.length > 9 || groups.length < 4 : groups.length !== 8) return false;
  // Documentation (RFC 3849, RFC 9637) and the public resolvers.
  return !/^2001:0?db8:|^3fff:|^2001:4860:4860:|^2606:4700:4700:/i.test(address);
}

const MAC =
  /[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4}(?![0-9a-f])(?!\1[0-9a-f])|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![0-9a-f.])/iy;
/**
 * Of no device: all zeros, what Android gives in place of its own, those of IANA (RFC 9542: redundant routers,
 * documentation) and of HSRP; everybody, and the groups of IP, bridges, Cisco, clocks and substations.
 */
const SHARED_MAC = /^(?:0[02]0{10}|00005e|00000c(?:07ac|9ff)|f{12}|01005e|3333|0180c2|01000c|011b19|010ccd)/;
/** Three groups of four digits may also be something else. */
const MAC_BEFORE = /mac|hardware|physical|ether|hwaddr|bssid|bluetooth|wifi|nic/i;
/** The name of a device's own address right before it. */
const OWN_MAC_BEFORE =
  /(?<!(?:group|cast|dst|dest|destination)[ _.-]?)mac(?:[ _-]?addr(?:ess)?)?(?:["']?\s?[:=]\s?["']?|\s(?:is\s)?)$/i;

/** A MAC address (IEEE 802: six octets) that begins at `at`. */
export function macAddress(text: string, at: number): Hit | null {
  if (/[0-9A-Za-z]$|[0-9a-f][:-]$/i.test(text.slice(Math.max(0, at - 2), at))) return null;
  const end = matchEnd(MAC, text, at);
  if (end < 0) return null;
  const address = text.slice(at, end).replace(/[:.-]/g, "").toLowerCase();
  if (SHARED_MAC.test(address)) return null;
  const before = text.slice(Math.max(0, at - 32), at);
  // The lowest bit of the first octet is set for a group; somebody may still have written one for a device.
  if ((Number.parseInt(address.slice(0, 2), 16) & 1) === 1)
    return OWN_MAC_BEFORE.test(before) ? hitOf("mac_address", at, end) : null;
  return text[at + 4] === "." && !MAC_BEFORE.test(before) ? null : hitOf("mac_address", at, end);
}
