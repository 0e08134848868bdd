/**
 * The sign-ins at the issuer that a browser has begun, such as in several tabs: a cookie each, which holds its secret and
 * is named by its state. So none touches another one, and only the browser that began a sign-in can finish it.
 */
import { cookies, PROTECTED } from "../../../api/session.ts";

const NAME = "__Host-governd_issuer_";
/** What is enough of a state to tell the sign-ins of one browser apart. */
const STATE_CHARACTERS = 16;
/** The most sign-ins that wait for one browser. The oldest is forgotten first. */
const MAX_BEGUN = 8;

/** The issuer sends the browser back, so the browser must send the cookie with a request that another site began. */
const ATTRIBUTES = `${PROTECTED}; SameSite=Lax`;

const nameOf = (state: string): string => NAME + state.slice(0, STATE_CHARACTERS);

const cleared = (name: string): string => `${name}=; ${ATTRIBUTES}; Max-Age=0`;

export class BegunSignIns {
  readonly #secrets: ReadonlyMap<string, string>;

  /** `headers` are those of the browser's request. */
  constructor(headers: Headers) {
    this.#secrets = new Map(cookies(headers).filter(([name]) => name.startsWith(NAME)));
  }

  /** Returns the secret of the sign-in with this state; null when this browser did not begin it. */
  secretOf(state: string): string | null {
    return this.#secrets.get(nameOf(state)) ?? null;
  }

  /** Returns the cookies for another sign-in. Browsers send the oldest cookie first (RFC 6265 section 5.4). */
  begun(state: string, secret: string, seconds: number): string[] {
    const old = [...this.#secrets.keys()].slice(0, Math.max(0, this.#secrets.size + 1 - MAX_BEGUN));
    return [`${nameOf(state)}=${secret}; ${ATTRIBUTES}; Max-Age=${seconds}`, ...old.map(cleared)];
  }

  /** Returns the cookies when the sign-in with this state is over. */
  ended(state: string): string[] {
    return this.secretOf(state) === null ? [] : [cleared(nameOf(state))];
  }
}
