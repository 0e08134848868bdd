/** Policies and detectors are described once: nothing beside their lists names one, and nothing skips one. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../../src/json.ts";
import { decide } from "../../src/screen/decide.ts";
import { DETECTORS, type Detector, type DetectorName } from "../../src/screen/detectors.ts";
import {
  allPolicies,
  contentPolicies,
  NO_POLICIES,
  POLICIES,
  type PolicyName,
  policiesOf,
  screeningPolicies,
  stricterPolicies,
} from "../../src/screen/policies.ts";
import type { ContentPolicy, OtherPolicy, Policy } from "../../src/screen/policy.ts";
import { exampleBlocks } from "../support/examples.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { type TemporaryDirectory, temporaryDirectory } from "../temporary.ts";

const ROOT = join(import.meta.dir, "../..");

/** The members of a type that may be left out: of a description, none. */
type Optional<T> = { [M in keyof T]-?: object extends Pick<T, M> ? M : never }[keyof T];
type IsNone<T> = [T] extends [never] ? true : false;
const COMPLETE: [
  IsNone<Optional<Detector>>,
  IsNone<Optional<ContentPolicy<boolean>>>,
  IsNone<Optional<OtherPolicy<boolean>>>,
] = [true, true, true];

test("no fact of a policy or a detector may be left out", () => {
  expect(COMPLETE).toEqual([true, true, true]);
});

describe("a third policy", () => {
  let directory: TemporaryDirectory;
  let workspace: OpenWorkspace;
  const list = POLICIES as Record<string, Policy<JsonValue>>;

  beforeEach(async () => {
    directory = temporaryDirectory();
    workspace = await OpenWorkspace.make(directory.path);
    const block = exampleBlocks().find(({ path }) => path === "src/screen/value-length.ts");
    const path = join(directory.path, "value-length.ts");
    await Bun.write(path, block?.code ?? "");
    list.value_length = (await import(path)).valueLength;
    contentPolicies().push(["value_length" as PolicyName, list.value_length as ContentPolicy<JsonValue>]);
  });
  afterEach(() => {
    delete list.value_length;
    contentPolicies().pop();
    workspace[Symbol.dispose]();
    directory[Symbol.dispose]();
  });

  const agentId = "a";
  const limit = (most: number) =>
    workspace.perform("config.update", { agentId, config: { policies: { value_length: most } } });
  const write = (value: string) => workspace.perform("data.write", { agentId, key: "k", value, metadata: {} });
  const FINDING = { policy: "value_length", detector: "excess", field: "value", start: 4, end: 6 };

  test("is enforced on writes", async () => {
    await limit(4);
    expect(bodyOf(await write("1234")).allowed).toBe(true);
    const body = bodyOf(await write("123456"));
    expect(body).toMatchObject({ allowed: false, blocked_by: "policy:value_length", findings: [FINDING] });
    expect(body.message).toContain("values of this length");
  });

  test("is enforced on restores, and beside the others", async () => {
    await limit(10);
    await write("123456");
    const made = await workspace.perform("checkpoint.create", { agentId, label: null, metadata: {} });
    await write("1");
    await limit(4);
    const checkpointId = bodyOf(made).id;
    const restore = { checkpointId, restoreConfig: false, restoreData: true };
    expect((await workspace.perform("checkpoint.restore", restore)).answer).toMatchObject({
      kind: "problem",
      code: "restore_blocked",
      extra: { blocked_by: "policy:value_length", findings: [FINDING] },
    });
    const config = { policies: { value_length: 4, block_pii: true } };
    await workspace.perform("config.update", { agentId, config });
    expect(bodyOf(await write("anna.berg@posteo.de")).findings).toHaveLength(2);
    await limit(6);
    expect((await workspace.perform("checkpoint.restore", restore)).answer.kind).toBe("json");
  });
});

test("the stricter of two settings is one of them, whatever their order, and off is the weakest", () => {
  const chosen = allPolicies().map(([name, { example, off }]) => ({ name, example, off }));
  for (const { name, example } of chosen) {
    const on = policiesOf({ policies: { [name]: example as JsonValue } });
    expect(stricterPolicies(on, NO_POLICIES)).toEqual(on);
    expect(stricterPolicies(NO_POLICIES, on)).toEqual(on);
    expect(stricterPolicies(on, on)).toEqual(on);
  }
  const keeping = (days: number) => policiesOf({ policies: { retention_days: days } });
  expect(stricterPolicies(keeping(7), keeping(30))).toEqual(keeping(7));
  expect(stricterPolicies(keeping(30), keeping(7))).toEqual(keeping(7));
  const remembering = (days: number) => policiesOf({ policies: { history_days: days } });
  expect(stricterPolicies(remembering(7), remembering(0))).toEqual(remembering(7));
  expect(stricterPolicies(remembering(0), remembering(7))).toEqual(remembering(7));
  const scheduled = (hours: number, kept: number) =>
    policiesOf({ policies: { checkpoint_every_hours: hours, checkpoints_kept: kept } });
  expect(stricterPolicies(scheduled(24, 30), scheduled(6, 7))).toEqual(scheduled(6, 30));
  expect(stricterPolicies(scheduled(6, 7), scheduled(24, 30))).toEqual(scheduled(6, 30));
});

test("no source beside the lists names a policy", () => {
  const names = new RegExp(
    allPolicies()
      .map(([name]) => name)
      // The others are words that mean more than a policy.
      .filter((name) => name.includes("_"))
      .join("|"),
  );
  const own = ["policies.ts", "detectors.ts", "retention.ts", "history.ts", "checkpoint-schedule.ts"].map(
    (name) => `screen/${name}`,
  );
  const naming = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !own.includes(path))
    .filter((path) => {
      const text = readFileSync(join(ROOT, "src", path), "utf8");
      return names.test(text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, ""));
    });
  expect(naming).toEqual([]);
});

/** A text for each detector in which it finds something. Tokens are put together, so that no scanner takes them for leaks. */
const FOUND: Readonly<Record<DetectorName, string>> = {
  email: "write to anna.berg@posteo.de",
  phone: "call +49 30 901820 today",
  credit_card: "paid with 4111 1111 1111 1111",
  iban: "to DE89 3704 0044 0532 0130 00 please",
  bank_account: "account number: 4520139887",
  us_ssn: "her SSN is 536-22-8734.",
  us_itin: "itin 912-70-1234",
  passport: "passport no C01X00T47",
  driver_license: "driving licence MORGA607054SM9IJ",
  national_id: "NIE X1234567L",
  tax_id: "tax id 123456789",
  medical_id: "patient id 94827164",
  date_of_birth: "born on 12 March 1984",
  postal_address: "lives at 201 Hickory Lane, Charlotte, NC 28251",
  ip_address: "login from 85.214.132.117",
  mac_address: "3c:22:fb:9a:01:7e",
  crypto_wallet: "0x52908400098527886E0F7030069857D2E4169EE7",
  vehicle_id: "VIN 1HGCM82633A004352",
  device_id: "imei 490154203237518",
  provider_token: `ghp_${"a1B2c3D4e5F6".repeat(3)}`,
  keyed_token: `algolia api key = ${"9f8e7d6c5b4a3210".repeat(2)}`,
  generic_credential: `password = "Wq8z${"Rt5Lm#1"}"`,
  auth_header: `Authorization: Bearer ${"q7Zt9Xw2Lk".repeat(3)}`,
  connection_string: "postgres://app:Wq8zRt5Lm@db.internal:5432/app",
  webhook_url: `https://hooks.slack.com/services/${"T0A1B2C3D/B4E5F6G7H/k9Lm2Np4Qr6St8Uv"}`,
  jwt: `eyJhbGciOiJIUzI1NiJ9.${"eyJzdWIiOiIxMjM0NTY3ODkwIn0"}.${"dozjgNryP4J3jVmNHl0w5N"}`,
  private_key: `-----BEGIN RSA ${"PRIVATE"} KEY-----\nMIIEowIBAAKCAQEA`,
};

test.each(Object.entries(FOUND))("%s is found", (detector, value) => {
  const { policy, tier } = DETECTORS[detector as DetectorName];
  const decision = decide(policiesOf({ policies: { [policy]: true } }), { key: "k", value, metadata: {} });
  if (decision.allowed) throw new Error("allowed");
  const found = decision.findings.find((one) => one.detector === detector);
  expect(found).toMatchObject({ policy, ...(tier === null ? {} : { tier }) });
});

test("docs/screening.md has the detectors of the list", () => {
  const page = readFileSync(join(ROOT, "docs/screening.md"), "utf8");
  const rows = Array.from(page.matchAll(/^\| `(\w+)` +\| `(\w+)` +\| ([12]?) +\| (.*?) +\|$/gm), ([, ...row]) => row);
  const tierOf = ({ tier }: Detector) => (tier === null ? "" : String(tier));
  expect(rows).toEqual(
    screeningPolicies().flatMap((policy: PolicyName) =>
      Object.entries<Detector>(DETECTORS)
        .filter(([, one]) => one.policy === policy)
        .map(([name, one]) => [policy, name, tierOf(one), one.words]),
    ),
  );
});
