/** Lists and queries of entries against a plain model: filters, orders, pages, groups. */
import { expect, test } from "bun:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { parseFilter } from "../../src/api/filter.ts";
import { decodeCursor, listFilters } from "../../src/core/lists.ts";
import { entryFilter } from "../../src/core/rows/listing/filter.ts";
import { SearchIndexes } from "../../src/core/rows/search-indexes.ts";
import type { Reply } from "../../src/core/writer/contract.ts";
import { NO_SITE } from "../../src/core/writer/site.ts";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import type { OperationInputs } from "../../src/operations.ts";
import { jobOf, lookOf } from "../../src/serve/threads/registry.ts";
import type { Reader } from "../../src/store/transaction.ts";
import { effort } from "../effort.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { bodyOf, OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

/** Few names and values, so that they meet. */
const name = fc.constantFrom("a", "b", "", "a.b", "\u{1F600}", "__proto__", 'q\\"');
const scalar = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, false, 0, -0, 1, 1.5, -2, 1e300, 5e-324, 2 ** 53 - 1),
  fc.constantFrom("", "a", "b", "1", "\u{1F600}", "\uffff", "\u0000", '"a":1', "\ud7ff"),
);
const { value } = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie("value"), { maxLength: 2 }),
    tie("object"),
  ),
  object: fc.dictionary(name, tie("value"), { maxKeys: 3 }),
}));
const metadata = fc.dictionary(name, value, { maxKeys: 4 });

const path = fc.array(name, { minLength: 1, maxLength: 3 });
const ordered = fc.oneof(
  fc.constantFrom<JsonValue>(0, 1, 1.5, -2, 1e300),
  fc.constantFrom("", "a", "b", "\u{1F600}", "\uffff"),
);
const condition = fc.oneof(
  fc.record({ path, operator: fc.constantFrom("$eq", "$ne"), operand: value }),
  fc.record({ path, operator: fc.constantFrom("$gt", "$gte", "$lt", "$lte"), operand: ordered }),
  fc.record({ path, operator: fc.constant("$in"), operand: fc.array(value, { maxLength: 4 }) }),
  fc.record({ path, operator: fc.constant("$exists"), operand: fc.boolean() }),
);
type Condition = { path: string[]; operator: string; operand: JsonValue };

const nameOf = (names: readonly string[]) => names.map((one) => one.replaceAll(".", "\\.")).join(".");

/** The filter of some conditions as a request has it; later operators on one member replace earlier ones. */
function filterOf(conditions: readonly Condition[]): JsonObject {
  const entries = conditions.map(
    ({ path: names, operator, operand }) => [nameOf(names), { [operator]: operand }] as const,
  );
  return Object.fromEntries(entries);
}

const bytes = (text: string) => Buffer.from(text);
/** Without the sign of zero, which JSON does not keep. */
const plain = (one: unknown): unknown => JSON.parse(JSON.stringify(one));
const isEqual = (one: unknown, other: unknown) => isDeepStrictEqual(plain(one), plain(other));

function holds({ path: names, operator, operand }: Condition, entry: JsonObject): boolean {
  let member: JsonValue | undefined = entry;
  for (const one of names) {
    const isObject: boolean = typeof member === "object" && member !== null && !Array.isArray(member);
    member = isObject && Object.keys(member as object).includes(one) ? (member as JsonObject)[one] : undefined;
  }
  if (operator === "$exists") return (member !== undefined) === operand;
  if (operator === "$ne") return member === undefined || !isEqual(member, operand);
  if (member === undefined) return false;
  if (operator === "$eq") return isEqual(member, operand);
  if (operator === "$in") return (operand as JsonValue[]).some((one) => isEqual(member, one));
  if (typeof member !== typeof operand) return false;
  const sign =
    typeof member === "string"
      ? Buffer.compare(bytes(member), bytes(operand as string))
      : Math.sign((member as number) - (operand as number));
  return { $gt: sign > 0, $gte: sign >= 0, $lt: sign < 0, $lte: sign <= 0 }[operator] as boolean;
}

test("filters match what a plain reading of them matches", () => {
  const numRuns = effort({ usual: 2_000, long: 100_000 });
  fc.assert(
    fc.property(fc.array(condition, { maxLength: 3 }), fc.array(metadata, { maxLength: 8 }), (conditions, entries) => {
      const filter = filterOf(conditions);
      const kept = new Map(conditions.map((one) => [nameOf(one.path), one]));
      const { matches, needles } = entryFilter(parseFilter(filter));
      for (const entry of entries.map((one) => JSON.parse(JSON.stringify(one)) as JsonObject)) {
        const wanted = [...kept.values()].every((one) => holds(one, entry));
        expect(matches(entry)).toBe(wanted);
        if (wanted) for (const needle of needles) expect(JSON.stringify(entry)).toContain(needle);
      }
    }),
    { numRuns },
  );
});

const PREFIXES = ["", "a", "a/", "\u{1F600}"];
const key = fc
  .array(fc.constantFrom("a", "/", "b", "\uffff", "\u{1F600}"), { minLength: 1, maxLength: 5 })
  .map((parts) => parts.join(""));

interface Seen {
  key: string;
  metadata: JsonObject;
  updated_at: string;
  audit_id: string;
  below?: Seen[] | undefined;
}

/** The keys of a row and of what is below it. */
const shown = ({ key: own, below }: Seen): unknown[] => [own, below?.map((entry) => entry.key)];

interface List {
  data: Seen[];
  prefixes?: { prefix: string; entries: number }[];
  total?: number;
  has_more: boolean;
}

/** One page; that of a query is looked for as a reader thread does. */
async function pageOf<N extends "data.list" | "data.query">(
  workspace: OpenWorkspace,
  name: N,
  input: OperationInputs[N],
) {
  if (name === "data.list") return bodyOf(await workspace.perform(name, input));
  const { principal, connection, writer } = workspace;
  const { workspaceId } = writer;
  const nowMs = Date.UTC(2026, 0, 2);
  const indexes = new SearchIndexes(0);
  const apart = <T>(read: (reader: Reader) => Promise<T>) => read(connection);
  const context = {
    workspaceId,
    principal,
    nowMs,
    seesSetAside: false,
    indexes,
    site: NO_SITE,
    apart,
    queryEmbedder: null,
  };
  const found = (await lookOf(name)(connection, context, input)) as JsonValue;
  const [reply] = await writer.perform([jobOf({ name, input, principal }, found)]);
  return bodyOf(reply as Reply);
}

/** Follows the cursors of a list to its end. */
async function allPages<N extends "data.list" | "data.query">(
  workspace: OpenWorkspace,
  operation: N,
  input: Omit<OperationInputs[N], "page">,
  limit: number,
): Promise<List[]> {
  const found: List[] = [];
  for (let after: string | number | undefined; ; ) {
    const page = { limit, offset: 0, ...(after === undefined ? {} : { after }) };
    const body = await pageOf(workspace, operation, { ...input, page } as OperationInputs[N]);
    found.push(body);
    expect(body.has_more).toBe(body.next_cursor !== null);
    if (body.next_cursor === null) return found;
    after = decodeCursor(listFilters(operation, input), body.next_cursor) ?? undefined;
    expect(after).toBeDefined();
  }
}

/** A workspace with entries of these contents, in which several share one moment. */
async function filled(directory: string, contents: ReadonlyMap<string, JsonObject>): Promise<OpenWorkspace> {
  let nowMs = Date.UTC(2026, 0, 1);
  const workspace = await OpenWorkspace.make(directory, () => nowMs);
  const jobs = [...contents].map(([one, data]) =>
    workspace.job("data.write", { agentId: "agent", key: one, value: `"${one}`, metadata: data }),
  );
  for (let at = 0; at < jobs.length; at += 3) {
    nowMs += 1000;
    await workspace.writer.perform(jobs.slice(at, at + 3));
  }
  return workspace;
}

const sorting = fc.record(
  { sort: fc.constant("updated_at" as const), order: fc.constant("desc" as const) },
  { requiredKeys: [] },
);

const inOrder = (entries: Seen[], by: { sort?: string; order?: string }, written: readonly string[]) => {
  const sorted = entries.toSorted((one, other) =>
    by.sort === undefined
      ? Buffer.compare(bytes(one.key), bytes(other.key))
      : written.indexOf(one.key) - written.indexOf(other.key),
  );
  return by.order === "desc" ? sorted.reverse() : sorted;
};

test(
  "pages hold every entry once, in order, and every group with its count",
  async () => {
    const numRuns = effort({ usual: 25, long: 500 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(key, metadata), { maxLength: 24 }),
        fc.array(fc.tuple(sorting, fc.constantFrom(...PREFIXES), fc.integer({ min: 1, max: 9 })), {
          minLength: 4,
          maxLength: 4,
        }),
        fc.option(fc.constantFrom("/", "b", "\u{1F600}"), { nil: undefined }),
        fc.array(condition, { maxLength: 2 }),
        async (pairs, lists, delimiter, conditions) => {
          using directory = temporaryDirectory();
          const contents = new Map(pairs);
          using workspace = await filled(directory.path, contents);
          const written = [...contents.keys()];
          const stored = written.map((one) => ({ key: one, metadata: contents.get(one) }) as Seen);
          const filter = filterOf(conditions);
          const kept = [...new Map(conditions.map((one) => [nameOf(one.path), one])).values()];
          for (const [by, prefix, limit] of lists) {
            const under = stored.filter((entry) => entry.key.startsWith(prefix));
            const groups = new Map<string, number>();
            const single = under.filter((entry) => {
              const at = delimiter === undefined ? -1 : entry.key.indexOf(delimiter, prefix.length);
              const end = at + (delimiter?.length ?? 0);
              if (at < 0 || end === entry.key.length) return true;
              const group = entry.key.slice(0, end);
              groups.set(group, (groups.get(group) ?? 0) + 1);
              return false;
            });
            const input = { agentId: "agent", prefix, includeValues: false, ...by };
            const grouped = delimiter === undefined ? {} : { delimiter };
            const pages = await allPages(workspace, "data.list", { ...input, ...grouped, count: true }, limit);
            const keys = pages.flatMap(({ data }) => data.map((entry) => entry.key));
            expect(keys).toEqual(inOrder(single, by, written).map((entry) => entry.key));
            const sortedGroups = [...groups]
              .map(([one, entries]) => ({ prefix: one, entries }))
              .sort((one, other) => Buffer.compare(bytes(one.prefix), bytes(other.prefix)));
            for (const page of pages) {
              expect(page.total).toBe(single.length);
              expect(page.prefixes).toEqual(delimiter === undefined ? undefined : sortedGroups);
            }
            const matching = under.filter((entry) =>
              kept.every((one) => holds(one, plain(entry.metadata) as JsonObject)),
            );
            const below = delimiter === undefined ? {} : { below: delimiter };
            const wanted = { ...input, ...below, filter: parseFilter(filter) };
            const queried = await allPages(workspace, "data.query", wanted, limit);
            const partsOf = (one: string) =>
              delimiter === undefined
                ? undefined
                : inOrder(stored, {}, written).filter((entry) => entry.key.startsWith(one + delimiter));
            expect(queried.flatMap(({ data }) => data.map(shown))).toEqual(
              inOrder(matching, by, written).map((entry) => shown({ ...entry, below: partsOf(entry.key) })),
            );
          }
        },
      ),
      { numRuns },
    );
  },
  PROCESS_TEST_MS,
);

test.each([true, false])(
  "a query that few of many entries match finds them all; read in the order of the table: %p",
  async (dense) => {
    using directory = temporaryDirectory();
    using workspace = await filled(directory.path, new Map([["first", {}]]));
    // As many entries as are looked at one by one, and some more.
    const count = 10_700;
    workspace.connection.run(
      `INSERT INTO entries (agent, key, value, metadata, salt, written_seq, created_seq, live_from, created_at, updated_at)
       WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
       SELECT agent, printf('k%05d', (n * 7919) % ?), '""', '{"part":' || (n % 1000) || '}', salt,
         written_seq, created_seq, live_from, created_at, n
       FROM numbers, (SELECT * FROM entries)`,
      [count - 1, count],
    );
    workspace.connection.run("UPDATE events SET entries = ?", [dense ? count : 1]);
    const filter = parseFilter({ part: { $gte: 997, $lt: 999 } });
    for (const order of [{}, { order: "desc" as const }]) {
      const matching = Array.from({ length: count }, (_, n) => n).filter((n) => [997, 998].includes(n % 1000));
      const keys = matching.map((n) => `k${String((n * 7919) % count).padStart(5, "0")}`).sort();
      const input = { agentId: "agent", prefix: "", includeValues: false, filter, ...order };
      const found = await allPages(workspace, "data.query", input, 6);
      expect(found.flatMap(({ data }) => data.map((entry) => entry.key))).toEqual(
        "order" in order ? keys.reverse() : keys,
      );
      const byTime = await allPages(workspace, "data.query", { ...input, sort: "updated_at" }, 6);
      const times = byTime.flatMap(({ data }) => data.map((entry) => Date.parse(entry.updated_at)));
      expect(times).toEqual("order" in order ? matching.reverse() : matching);
    }
  },
);
