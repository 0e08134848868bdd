/** Whom an address stands for, when what comes from it is counted. */

/** Groups of an IPv6 address that name a network: whoever has one address there has all of them. */
const NETWORK_GROUPS = 4;

/** Whom an address counts for: itself, or its /64 of IPv6. */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.startsWith("::ffff:")) return address.replace(/^::ffff:/, "");
  const [head = "", tail] = address.split("::");
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const missing = tail === undefined ? 0 : 8 - front.length - back.length;
  const groups = [...front, ...new Array<string>(Math.max(0, missing)).fill("0"), ...back];
  return `${groups.slice(0, NETWORK_GROUPS).join(":")}::/64`;
}
