/** Which witnesses must have cosigned a log: those of a policy's quorum, or a number of those that were given. */
import { hexId, type VerifierKey } from "../log/note.ts";
import type { Witnessing } from "./events/witnesses.ts";

/** Some witnesses or groups, of which so many must have cosigned. */
export interface Group {
  name: string;
  needed: number;
  members: readonly string[];
}

export interface Quorum {
  /** What a report calls its members. */
  called: string;
  /** By the names that groups use. */
  witnesses: ReadonlyMap<string, VerifierKey>;
  /** Each after its members. The last one is the quorum. */
  groups: readonly Group[];
}

/** The quorum of `needed` witnesses, whichever they are. */
export function anyOf(witnesses: readonly VerifierKey[], needed: number): Quorum {
  const named = new Map(witnesses.map((key) => [`${key.name}+${hexId(key.keyId)}`, key]));
  return { called: "witnesses", witnesses: named, groups: [{ name: "all", needed, members: [...named.keys()] }] };
}

/** Returns what a quorum lacks, in words; null when it is reached. */
export function lackOf({ called, witnesses, groups }: Quorum, cosigned: readonly Witnessing[]): string | null {
  const keys = new Set(cosigned.map(({ name, key_id }) => `${name}+${key_id}`));
  const met = new Set<string>();
  for (const [name, key] of witnesses) if (keys.has(`${key.name}+${hexId(key.keyId)}`)) met.add(name);
  let lack: string | null = null;
  for (const { name, needed, members } of groups) {
    const found = members.filter((member) => met.has(member));
    if (found.length >= needed) met.add(name);
    const names = found.map((member) => witnesses.get(member)?.name ?? member).join(", ");
    const by = names === "" ? "" : ` (${names})`;
    const words = `${found.length} of the ${needed} required ${called} have cosigned a seal of this log${by}`;
    lack = found.length >= needed ? null : words;
  }
  return lack;
}
