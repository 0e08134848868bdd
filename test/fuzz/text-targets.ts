/** Readers of short texts: queries, settings, keys, times, cursors, and what threads say to each other. */

import { matchesNone, parseIfMatch } from "../../src/api/entity-tag.ts";
import { parseQuery } from "../../src/api/query.ts";
import { parseTimestamp } from "../../src/api/timestamp.ts";
import { decodeCursor, decodeExportCursor, encodeCursor, encodeExportCursor } from "../../src/core/lists.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import { FIRST_MOMENT_MS, IdSource, LAST_MOMENT_MS, RandomPool } from "../../src/ids.ts";
import { makeWorkspaceSecret, workspaceOfSecret } from "../../src/ops/directory/workspace-secret.ts";
import { Problem } from "../../src/problem.ts";
import { parseBody, readBody } from "../../src/serve/http/pipeline/body.ts";
import { ReplyReader, writeReplies } from "../../src/serve/threads/reply-text.ts";
import { DEFINITIONS, variableOf } from "../../src/settings/definitions.ts";
import { resolveSettings, settingsAsToml, showSettings } from "../../src/settings/resolve.ts";
import type { Seeded } from "../seeded.ts";
import { mutateBytes, mutateText, randomJson } from "./mutate.ts";
import { attempt, requireEqual, type Target } from "./target.ts";

function query(random: Seeded): void {
  const text = mutateText(random, "agent_id=a&key=%C3%A9+%2B%26&limit=10&cursor=abc-_&prefix=%F0%9F%99%82&x");
  const found = attempt(() => parseQuery(text), Problem);
  if (found === undefined) return;
  // It takes one question mark off the beginning.
  const parsed = new URLSearchParams(`?${text}`);
  if (text.isWellFormed()) requireEqual(text, [...found], [...parsed]);
}

async function body(random: Seeded): Promise<void> {
  const bytes = Buffer.from(mutateBytes(random, `{"agent_id":"a","value":${randomJson(random)}}`));
  const maxBodyBytes = random.pick([10, 100, 100_000]);
  const mediaType = random.chance(0.7)
    ? "application/json"
    : mutateText(random, 'application/json; charset="utf-8"').replace(/[^\t\x20-\x7e]/g, "?");
  const request = new Request("http://localhost/", {
    method: "POST",
    headers: { "content-type": mediaType, "content-length": `${bytes.length}` },
    body: bytes,
  });
  let read: Uint8Array;
  try {
    read = await readBody(request, { maxBodyBytes });
  } catch (error) {
    if (error instanceof Problem) return;
    throw error;
  }
  requireEqual("within the limit", read.length <= maxBodyBytes, true);
  requireEqual("as it was sent", Buffer.from(read).equals(bytes), true);
  attempt(() => parseBody(read, request.headers), Problem);
}

function apiKeys(random: Seeded): void {
  const pool = new RandomPool((bytes) => random.fill(bytes));
  const workspaceId = new IdSource(() => random.below(2 ** 40), pool).next("ws");
  const key = makeWorkspaceSecret("gov_", workspaceId, pool);
  requireEqual("a key", workspaceOfSecret("gov_", key), workspaceId);
  const at = random.below(key.length);
  const changed = key.slice(0, at) + random.pick([..."0aZ_ \n\u0000é"]) + key.slice(at + 1);
  if (changed !== key) requireEqual(`the changed key ${changed}`, workspaceOfSecret("gov_", changed), null);
  workspaceOfSecret("gov_", mutateText(random, key));
}

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;

function timestamps(random: Seeded): void {
  const moment = new Date(random.between(-60_000_000, 250_000_000) * 1_000_000 + random.below(1_000)).toISOString();
  const text = mutateText(random, random.chance(0.5) ? moment : moment.replace("Z", "+05:30"));
  const ms = parseTimestamp(text);
  if (ms === null) return;
  requireEqual(`the form of ${text}`, RFC3339.test(text), true);
  // Date reads at most three decimals, and not the years before 100 in every form.
  const decimals = /\.(\d+)/.exec(text)?.[1] ?? "";
  const exact = Date.parse(text.toUpperCase());
  if (decimals.length <= 3) requireEqual(text, ms, Math.min(Math.max(exact, FIRST_MOMENT_MS), LAST_MOMENT_MS));
}

function cursors(random: Seeded): void {
  const filters = { list: "data.list", agentId: random.pick(["a", "b"]), prefix: "" };
  const position = random.pick([random.below(1_000), "key", "ключ", "\u0000", -1, 2 ** 53 - 1]);
  const cursor = encodeCursor(filters, position);
  requireEqual("the position", decodeCursor(filters, cursor), position);
  requireEqual("of other filters", decodeCursor({ ...filters, agentId: "c" }, cursor), null);
  const changed = mutateText(random, cursor);
  const found = decodeCursor(filters, changed);
  if (found !== null) requireEqual("the one form of a position", encodeCursor(filters, found), changed);
  const exported = { scope: { scope: "workspace" }, format: "json", window: {} } as const;
  const resumption = `${encodeExportCursor(exported, random.below(99), "2026-01-31T08:00:00.000Z")}.${random.below(9)}`;
  requireEqual("an export's", decodeExportCursor(exported, resumption) === null, false);
  decodeExportCursor(exported, mutateText(random, resumption));
}

function entityTags(random: Seeded): void {
  const text = mutateText(random, random.pick(['"v1", W/"v2" ,"v3"', "*", '""']));
  const tags = parseIfMatch(text);
  if (tags === null) requireEqual(`the malformed ${text} names nothing`, matchesNone(text, "v1"), false);
  else if ("versions" in tags) for (const tag of tags.versions) requireEqual(text, matchesNone(text, tag), true);
}

const VALUES = [
  "",
  "off",
  "true",
  "1",
  "0",
  "-1",
  "10s",
  "1h30m",
  "127.0.0.1:8443",
  "[::1]:1",
  "https://example.com/",
  "64KiB",
  "1e9",
  "./x",
  "a,b",
  "auto",
  "99999999999999999999",
];
const WORLD = { cwd: "/home/op", cores: 4 };

function settings(random: Seeded): void {
  const names = DEFINITIONS.map(({ name }) => name);
  const value = () => (random.chance(0.7) ? random.pick(VALUES) : mutateText(random, random.pick(VALUES)));
  const flags = Object.fromEntries(names.filter(() => random.chance(0.03)).map((name) => [name, value()]));
  const environment = Object.fromEntries(
    names.filter(() => random.chance(0.03)).map((name) => [variableOf(name), value()]),
  );
  const defaults = resolveSettings({ flags: {}, environment: {}, file: null, world: WORLD });
  if (!defaults.ok) throw new Error("the defaults are mistaken");
  const toml = settingsAsToml(showSettings(defaults.settings, defaults.origins));
  const text = random.chance(0.5)
    ? mutateText(random, toml)
    : names
        .filter(() => random.chance(0.1))
        .map((name) => `${name} = ${random.chance(0.5) ? JSON.stringify(value()) : randomJson(random)}`)
        .join("\n");
  const file = { path: "/etc/governd/governd.toml", directory: "/etc/governd", text };
  const resolution = resolveSettings({ flags, environment, file, world: WORLD });
  if (!resolution.ok) return;
  const shown = showSettings(resolution.settings, resolution.origins);
  // A secret is not shown, and so cannot be read back.
  if (shown.some(({ value: one }) => /^\*+$/.test(String(one)))) return;
  const again = resolveSettings({
    flags: {},
    environment: {},
    file: { ...file, text: settingsAsToml(shown) },
    world: WORLD,
  });
  if (!again.ok) throw new Error(`what is shown cannot be read: ${again.mistakes.join("; ")}`);
  requireEqual(
    "read back as shown",
    showSettings(again.settings, again.origins).map(({ name, value: one }) => [name, one]),
    shown.map(({ name, value: one }) => [name, one]),
  );
}

function replies(random: Seeded): void {
  const messages = Array.from({ length: random.below(5) }, (): Reply => {
    const pieces = Array.from({ length: 1 + random.below(4) }, () => randomJson(random));
    const reply: Reply = {
      answer: { kind: "json", status: 200, body: random.chance(0.3) ? pieces : randomJson(random) },
      auditId: random.chance(0.8) ? "aud_1" : null,
    };
    if (reply.answer.kind === "json" && random.chance(0.3)) reply.answer.etag = "v1";
    if (random.chance(0.2)) reply.answer = { kind: "problem", code: "internal", detail: mutateText(random, "a\tb\nc") };
    if (random.chance(0.7)) reply.result = "allowed";
    if (reply.result !== undefined && random.chance(0.3)) reply.blockedBy = "policy:block_pii";
    return reply;
  });
  const texts = writeReplies(
    messages.map((_, id) => ({ id })),
    messages,
  );
  const reader = new ReplyReader();
  const read = [...texts].flatMap((text) => reader.read(text));
  const expected = messages.map((reply, id) => ({ id, reply: JSON.parse(JSON.stringify(reply)) as Reply }));
  requireEqual("replies", read, expected);
}

export const TEXT_TARGETS: Record<string, Target> = {
  query,
  body,
  apiKeys,
  timestamps,
  cursors,
  entityTags,
  settings,
  replies,
};
