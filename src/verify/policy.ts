/** Trust policies after C2SP tlog-policy: the logs and the witnesses that an auditor knows, and the quorum of witnesses. */
import { isUtf8 } from "node:buffer";
import { NoteError, parseVerifierKey, type VerifierKey } from "../log/note.ts";
import { parseWitnessKey } from "../log/witness.ts";
import type { Group, Quorum } from "./quorum.ts";

export interface Policy {
  logs: readonly VerifierKey[];
  witnesses: readonly VerifierKey[];
  /** Null when the policy requires no witness. */
  quorum: Quorum | null;
}

/** A text is not a policy. The message begins with the number of the line. */
export class PolicyError extends Error {
  override readonly name = "PolicyError";
}

/** The name that stands for no witness. */
const NONE = "none";

/** Parses a policy. @throws {PolicyError} when it is malformed */
export function parsePolicy(bytes: Uint8Array): Policy {
  // Names are octets, whatever they encode. Either way, different octets are different texts.
  const lines = Buffer.from(bytes)
    .toString(isUtf8(bytes) ? "utf8" : "latin1")
    .split("\n");
  const policy = new PolicyReader();
  let number = 0;
  try {
    for (const line of lines) {
      number += 1;
      policy.line(line);
    }
    return policy.finish();
  } catch (error) {
    if (error instanceof PolicyError) throw new PolicyError(`line ${number}: ${error.message}`);
    throw error;
  }
}

/** Reads a policy line by line. */
class PolicyReader {
  readonly #logs: VerifierKey[] = [];
  readonly #witnesses = new Map<string, VerifierKey>();
  readonly #groups = new Map<string, Group>();
  /** The members of all groups. */
  readonly #members = new Set<string>();
  #quorum: string | null = null;

  line(text: string): void {
    const control = [...text].find((one) => (one < " " && one !== "\t") || one === "\x7f");
    if (control === "\r") throw new PolicyError("it ends with a carriage return: end lines with a line feed alone");
    if (control !== undefined) throw new PolicyError("it has a control character");
    const [word = "#", ...items] = text.split(/[ \t]+/).filter((item) => item !== "");
    if (word === "log") this.#log(items);
    else if (word === "witness") this.#witness(items);
    else if (word === "group") this.#group(items);
    else if (word === "quorum") this.#setQuorum(items);
    else if (!word.startsWith("#")) throw new PolicyError("a line begins with log, witness, group, quorum or #");
  }

  finish(): Policy {
    const name = this.#quorum;
    if (name === null) throw new PolicyError('the policy ends here and has no quorum: for none, write "quorum none"');
    const [logs, witnesses] = [this.#logs, [...this.#witnesses.values()]];
    if (name === NONE) return { logs, witnesses, quorum: null };
    const last = this.#groups.get(name) ?? { name, needed: 1, members: [name] };
    const groups = [...this.#groups.values(), last];
    return { logs, witnesses, quorum: { called: `members of the quorum ${name}`, witnesses: this.#witnesses, groups } };
  }

  #log(items: readonly string[]): void {
    const [text = ""] = items;
    expect(items, [1, 2], "log <verifier key> [<address>]");
    const key = readKey(() => parseVerifierKey(text), "a log's is name+hash+key of type 1 (Ed25519)");
    refuseKnown(key, this.#logs);
    this.#logs.push(key);
  }

  #witness(items: readonly string[]): void {
    const [name = "", text = ""] = items;
    expect(items, [2, 3], "witness <name> <verifier key> [<address>]");
    this.#requireNew(name);
    const key = readKey(() => parseWitnessKey(text), "a witness's is name+hash+key of type 4 or 6");
    refuseKnown(key, [...this.#witnesses.values()]);
    this.#witnesses.set(name, key);
  }

  #group(items: readonly string[]): void {
    const [name = "", threshold = "", ...members] = items;
    expect(items, [3, Number.POSITIVE_INFINITY], "group <name> <all, any or a number> <member>…");
    this.#requireNew(name);
    for (const member of members) {
      this.#requireDefined(member);
      if (this.#members.has(member)) throw new PolicyError(`"${member}" is listed already: a name is a member once`);
      this.#members.add(member);
    }
    const isNumber = /^[1-9][0-9]*$/.test(threshold);
    const needed = threshold === "all" ? members.length : threshold === "any" ? 1 : isNumber ? Number(threshold) : 0;
    if (needed < 1 || needed > members.length) {
      throw new PolicyError(
        `the threshold is all, any, or a number from 1 to ${members.length}, the number of members`,
      );
    }
    this.#groups.set(name, { name, needed, members });
  }

  #setQuorum(items: readonly string[]): void {
    const [name = ""] = items;
    expect(items, [1, 1], "quorum <name>");
    if (this.#quorum !== null) throw new PolicyError("a policy has one quorum, and this is a second");
    if (name !== NONE) this.#requireDefined(name);
    this.#quorum = name;
  }

  #isDefined(name: string): boolean {
    return this.#witnesses.has(name) || this.#groups.has(name);
  }

  #requireNew(name: string): void {
    if (name === NONE) throw new PolicyError(`"${NONE}" is no name for a witness or a group`);
    if (this.#isDefined(name)) throw new PolicyError(`an earlier line defines "${name}"`);
  }

  #requireDefined(name: string): void {
    if (!this.#isDefined(name)) throw new PolicyError(`no earlier line defines "${name}"`);
  }
}

function expect(items: readonly string[], [least, most]: readonly [number, number], form: string): void {
  if (items.length < least || items.length > most) throw new PolicyError(`the form is: ${form}`);
}

function readKey(read: () => VerifierKey, form: string): VerifierKey {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoteError) throw new PolicyError(`${error.message}; ${form}`);
    throw error;
  }
}

function refuseKnown({ publicKey }: VerifierKey, known: readonly VerifierKey[]): void {
  const isKnown = known.some((key) => Buffer.from(key.publicKey).equals(publicKey));
  if (isKnown) throw new PolicyError("an earlier line has the same key");
}
