/** The newest seals that witnesses have cosigned, which are read from them and not from the operator (C2SP tlog-witness). */
import { SHA256 } from "bun";
import { Failure, orNull } from "../../failure.ts";
import { NoteError } from "../../log/note.ts";
import { parseOrigin, parseSeal, type Seal } from "../../log/seal.ts";
import { cosignedAt } from "../../log/witness.ts";
import { readAtMost, sendRequest } from "../../outbound.ts";
import type { Trust } from "../../verify/trust.ts";

/** The longest checkpoint that is read, bytes, and how long a witness may take, ms. */
const MAX_CHECKPOINT_BYTES = 256 * 1024;
const ANSWER_MS = 30_000;

/** What a witness says of a log: the newest seal that it cosigned, or why there is none. */
type Told = { seal: Seal } | { never: string } | { failed: string };

export class AskedWitnesses {
  constructor(
    private readonly prefixes: readonly string[],
    private readonly trust: Trust,
  ) {}

  /** Returns what each witness says of the log with this origin. */
  sealsOf(origin: string): Promise<Told[]> {
    const { logs = null } = this.trust;
    if (logs !== null && !logs.has(parseOrigin(origin).base)) {
      return Promise.resolve([{ failed: `no witness was asked for ${origin}: the policy lists no log of this name` }]);
    }
    return Promise.all(this.prefixes.map((prefix) => this.#ask(prefix, origin)));
  }

  async #ask(prefix: string, origin: string): Promise<Told> {
    const { host } = new URL(prefix);
    const failed = (why: string): Told => ({ failed: `the witness at ${host} was asked for ${origin}: ${why}` });
    const hash = new SHA256().update(origin).digest("hex");
    let text: string;
    try {
      const url = `${prefix.replace(/\/$/, "")}/${hash}/checkpoint`;
      const response = await sendRequest(url, { redirect: "manual", signal: AbortSignal.timeout(ANSWER_MS) });
      const bytes = await readAtMost(response, MAX_CHECKPOINT_BYTES);
      if (response.status === 404) return { never: `the witness at ${host} has cosigned no seal of ${origin}` };
      if (response.status !== 200) return failed(`it returned ${response.status}`);
      if (bytes === null) return failed("its answer is too long for a checkpoint");
      text = bytes.toString();
    } catch (error) {
      return failed(`it cannot be reached (${reasonOf(error)})`);
    }
    try {
      return this.#read(text, origin);
    } catch (error) {
      if (error instanceof NoteError) return failed(`its answer is no seal that counts: ${error.message}`);
      throw error;
    }
  }

  /** @throws NoteError when the text is not a seal of this log that a given witness has cosigned */
  #read(text: string, origin: string): Told {
    const seal = parseSeal(text);
    if (seal.origin !== origin) throw new NoteError("it is of another log");
    if (!(this.trust.witnesses ?? []).some((key) => cosignedAt(seal, key) !== null))
      throw new NoteError("no given witness has cosigned it");
    return { seal };
  }
}

/**
 * Reads `--witness-url`. Returns null without one.
 * @throws {Failure} `usage` when one is no https address, or no witness is given whose cosignature would count
 */
export function askedWitnesses(prefixes: readonly string[], trust: Trust): AskedWitnesses | null {
  if (prefixes.length === 0) return null;
  const wrong = prefixes.find((prefix) => orNull(Error, () => new URL(prefix))?.protocol !== "https:");
  if (wrong !== undefined) throw new Failure("usage", "--witness-url must be an https address.");
  if ((trust.witnesses ?? []).length > 0) return new AskedWitnesses(prefixes, trust);
  throw new Failure("usage", "--witness-url needs the key of the witness: --witness-key, or a witness in --policy.");
}

function reasonOf(error: unknown): string {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return [name, code].filter((part) => typeof part === "string").join(" ");
}
