/**
 * Random identifiers pass both policies, alone and as a member of JSON: an agent that stores the id of a run must not
 * lose its state by chance.
 */
import { expect, test } from "bun:test";
import { decide } from "../../src/screen/decide.ts";
import { policiesOf } from "../../src/screen/policies.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { SEED } from "../seed.ts";
import { Seeded } from "../seeded.ts";

const BOTH = policiesOf({ policies: { block_pii: true, block_secrets: true } });
const COUNT = effort({ usual: 1_000, long: 100_000 });
/** The members in whose values identifiers stand. */
const NAMES = ["id", "request_id", "trace_id", "parent", "commit", "digest"];

const HEX = "0123456789abcdef";
const DECIMAL = "0123456789";
const LOWER = "abcdefghijklmnopqrstuvwxyz";
const UPPER = LOWER.toUpperCase();
const ALPHANUMERIC = DECIMAL + UPPER + LOWER;
const BASE64URL = `${ALPHANUMERIC}-_`;
const CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** From 2023-01-01 to 2033, ms. Snowflakes of this time have 19 digits. */
const TIMES_MS = [1_672_531_200_000, 2_000_000_000_000] as const;
const TWITTER_EPOCH_MS = 1_288_834_974_657n;
const KSUID_EPOCH_MS = 1_400_000_000_000;

const text = (random: Seeded, alphabet: string, length: number): string => {
  let made = "";
  for (let i = 0; i < length; i++) made += alphabet[random.below(alphabet.length)];
  return made;
};
const hex = (random: Seeded, length: number) => text(random, HEX, length);
const timeMs = (random: Seeded): number =>
  TIMES_MS[0] + Math.floor((random.next() / 2 ** 32) * (TIMES_MS[1] - TIMES_MS[0]));
const base64 = (random: Seeded, bytes: number) => Buffer.from(random.bytes(bytes)).toString("base64");

function inBase(value: bigint, alphabet: string, length: number): string {
  let made = "";
  for (let rest = value; made.length < length; rest /= BigInt(alphabet.length)) {
    made = (alphabet[Number(rest % BigInt(alphabet.length))] as string) + made;
  }
  return made;
}

/** RFC 9562 section 4: the version and the variant stand in fixed places. */
function uuid(version: string, digits: string, random: Seeded): string {
  const variant = "89ab"[random.below(4)] as string;
  const all = `${digits.slice(0, 12)}${version}${digits.slice(13, 16)}${variant}${digits.slice(17, 32)}`;
  return `${all.slice(0, 8)}-${all.slice(8, 12)}-${all.slice(12, 16)}-${all.slice(16, 20)}-${all.slice(20)}`;
}

/** The identifiers of every usual kind. */
const KINDS: Readonly<Record<string, (random: Seeded) => string>> = {
  "UUID v1": (random) => {
    // 100 ns since 1582-10-15 (RFC 9562 section 5.1).
    const ticks = (BigInt(timeMs(random)) * 10_000n + 122_192_928_000_000_000n).toString(16).padStart(16, "0");
    return uuid("1", `${ticks.slice(8)}${ticks.slice(4, 8)}${ticks.slice(0, 4)}${hex(random, 16)}`, random);
  },
  "UUID v4": (random) => uuid("4", hex(random, 32), random),
  "UUID v4 in capitals": (random) => uuid("4", hex(random, 32), random).toUpperCase(),
  "UUID v4 without hyphens": (random) => uuid("4", hex(random, 32), random).replaceAll("-", ""),
  "UUID v7": (random) => uuid("7", timeMs(random).toString(16).padStart(12, "0") + hex(random, 20), random),
  ULID: (random) => inBase(BigInt(timeMs(random)), CROCKFORD, 10) + text(random, CROCKFORD, 16),
  nanoid: (random) => text(random, BASE64URL, 21),
  KSUID: (random) => {
    const seconds = BigInt(Math.floor((timeMs(random) - KSUID_EPOCH_MS) / 1_000));
    return inBase((seconds << 128n) | BigInt(`0x${hex(random, 32)}`), ALPHANUMERIC, 27);
  },
  "Mongo ObjectId": (random) => Math.floor(timeMs(random) / 1_000).toString(16) + hex(random, 16),
  CUID2: (random) => text(random, LOWER, 1) + text(random, DECIMAL + LOWER, 23),
  "Stripe customer": (random) => `cus_${text(random, ALPHANUMERIC, 14)}`,
  "Stripe payment": (random) => `pi_3${text(random, ALPHANUMERIC, 23)}`,
  "Stripe event": (random) => `evt_1${text(random, ALPHANUMERIC, 23)}`,
  call_: (random) => `call_${text(random, ALPHANUMERIC, 24)}`,
  toolu_: (random) => `toolu_01${text(random, ALPHANUMERIC, 22)}`,
  msg_: (random) => `msg_01${text(random, ALPHANUMERIC, 22)}`,
  thread_: (random) => `thread_${text(random, ALPHANUMERIC, 24)}`,
  run_: (random) => `run_${text(random, ALPHANUMERIC, 24)}`,
  "chatcmpl-": (random) => `chatcmpl-${text(random, ALPHANUMERIC, 29)}`,
  "git SHA-1": (random) => hex(random, 40),
  "git SHA-1, short": (random) => hex(random, random.between(7, 12)),
  "SHA-256 in hex": (random) => hex(random, 64),
  "SHA-256 in hex, named": (random) => `sha256:${hex(random, 64)}`,
  "SHA-256 in Base64": (random) => base64(random, 32),
  "SHA-256 in Base64, named": (random) => `sha256-${base64(random, 32)}`,
  "trace id": (random) => hex(random, 32),
  "span id": (random) => {
    // One without a letter can be the valid number of a payment card, which nobody can tell apart.
    const id = hex(random, 16);
    return /[a-f]/.test(id) ? id : `a${id.slice(1)}`;
  },
  "W3C traceparent": (random) => `00-${hex(random, 32)}-${hex(random, 16)}-0${random.below(2)}`,
  "X-Ray trace id": (random) => `1-${Math.floor(timeMs(random) / 1_000).toString(16)}-${hex(random, 24)}`,
  snowflake: (random) =>
    (((BigInt(timeMs(random)) - TWITTER_EPOCH_MS) << 22n) | BigInt(random.below(2 ** 22))).toString(),
};

function findings(value: string, ids: string[] = []): string | null {
  const decision = decide(BOTH, { key: "state", value, metadata: { ids } });
  return decision.allowed
    ? null
    : `${[value, ...ids].join(" ")}: ${decision.findings.map(({ detector, field }) => `${detector} in ${field}`).join(", ")}`;
}

test.each(Object.keys(KINDS))(
  "%s",
  (kind) => {
    const random = new Seeded(SEED);
    const make = KINDS[kind] as (random: Seeded) => string;
    const blocked: string[] = [];
    const pass = (value: string, ids?: string[]) => {
      const found = findings(value, ids);
      if (found !== null) blocked.push(found);
    };
    for (let count = 0; count < COUNT; count++) {
      const id = make(random);
      pass(id, [id, make(random), make(random), make(random)]);
      for (const name of NAMES) pass(`{"${name}": "${id}"}`);
      pass(
        JSON.stringify({ [NAMES[count % NAMES.length] as string]: make(random), next: id, calls: [make(random), id] }),
      );
    }
    expect(blocked.slice(0, 20), `${blocked.length} of ${COUNT * 8}`).toEqual([]);
  },
  PROCESS_TEST_MS,
);

test(
  "an identifier in which the name of a secret stands by chance, and the next one in a list",
  () => {
    const random = new Seeded(SEED);
    const kinds = ["cus_", "call_", "run_", "chatcmpl-"];
    const words = ["Pw", "Pass", "pass"];
    const blocked: string[] = [];
    for (let count = 0; count < COUNT; count++) {
      const prefix = random.pick(kinds);
      const word = random.pick(words);
      // In capitals, since the word begins where the case changes.
      const first = text(random, UPPER, 20);
      const at = random.below(20 - word.length + 1);
      const found = findings(
        JSON.stringify([
          `${prefix}${first.slice(0, at)}${word}${first.slice(at + word.length)}`,
          prefix + text(random, ALPHANUMERIC, 20),
        ]),
      );
      if (found !== null) blocked.push(found);
    }
    expect(blocked.slice(0, 20), `${blocked.length} of ${COUNT}`).toEqual([]);
  },
  PROCESS_TEST_MS,
);

test("an identifier whose bytes are a few characters of UTF-8 by chance", () => {
  // Its bytes are those of `oϪ=RY45NUK;`, in which a vehicle's registration would stand.
  expect(findings("6fcfaa3d525934354e554b3b")).toBeNull();
});

test("an identifier with the form and the check number of a Moldovan account", () => {
  expect(findings("md13evptxysggumkowb80cly")).toBeNull();
});
