/** Which folder may import which, and what only one place may do. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SOURCE = join(import.meta.dir, "../src");
/** Files side by side in one folder. */
const MAX_FILES = 24;

/**
 * The rooms from the bottom floor to the top, and which others each may import from. Every room may import the words that
 * all share, `*`, which are the files beside the rooms.
 */
const MAY_IMPORT: ReadonlyMap<string, readonly string[]> = new Map([
  ["*", []],
  ["log", []],
  ["store", []],
  ["oidc", []],
  ["screen", []],
  ["search", []],
  ["settings", ["log", "oidc"]],
  ["core", ["log", "store", "screen", "search", "settings"]],
  ["api", ["core", "ops"]],
  ["follow", ["core", "log", "store", "search", "settings"]],
  ["verify", ["core", "log", "store", "screen"]],
  ["ops", ["api", "core", "log", "store", "oidc", "screen", "search", "settings", "verify", "follow", "engine-libsql"]],
  ["backup", ["core", "log", "store", "ops", "verify"]],
  [
    "serve",
    ["api", "core", "log", "store", "oidc", "screen", "search", "settings", "ops", "follow", "backup", "engine-libsql"],
  ],
  ["engine-libsql", ["core", "store", "settings", "ops", "backup", "serve"]],
  [
    "cli",
    [
      ...["api", "core", "log", "store", "screen", "settings", "ops", "verify", "follow", "backup", "serve"],
      "engine-libsql",
    ],
  ],
  ["web", ["ops", "screen", "oidc"]],
  ["main.ts", ["cli"]],
]);

/** The files of an operation that face HTTP. */
const FACES_HTTP = /^ops\/([^/]+\/)+([a-z]+-)?(routes|schema)\.ts$/;

interface Source {
  path: string;
  text: string;
  room: string;
  /** Paths below src, and names of packages. */
  imports: string[];
}

const SOURCES: Source[] = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path) && !path.endsWith(".d.ts"))
  .map((path) => {
    const text = readFileSync(join(SOURCE, path), "utf8");
    return { path, text, room: roomOf(path), imports: importsOf(path, text) };
  });

/** Returns the room of a path below src. */
function roomOf(path: string): string {
  if (path === "main.ts") return path;
  return path.includes("/") ? (path.split("/")[0] as string) : "*";
}

function importsOf(path: string, text: string): string[] {
  const found = text.matchAll(/(?:^(?:import|export)\b[^;]*?from\s*|^import\s*|\bimport\()"([^"]+)"/gm);
  return Array.from(found, ([, name]) => {
    const target = name as string;
    return target.startsWith(".") ? relative(SOURCE, join(SOURCE, dirname(path), target)) : target;
  });
}

/** Returns the code of a file without its comments. */
const codeOf = ({ text }: Source) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

const paths = (sources: readonly Source[]) => sources.map(({ path }) => path).sort();
const saying = (pattern: RegExp) => SOURCES.filter((source) => pattern.test(codeOf(source)));
const importing = (name: RegExp) => SOURCES.filter((source) => source.imports.some((one) => name.test(one)));

test("rooms import only what the table allows, and the table allows nothing that no room imports", () => {
  const arrows = new Set(
    SOURCES.flatMap(({ room, imports }) =>
      imports
        .filter((target) => /\.tsx?$/.test(target) && !target.startsWith(".."))
        .map((target) => `${room} -> ${roomOf(target)}`),
    ),
  );
  const allowed = [...MAY_IMPORT].flatMap(([room, others]) => others.map((other) => `${room} -> ${other}`));
  const shared = [...MAY_IMPORT.keys()].flatMap((room) => [`${room} -> ${room}`, `${room} -> *`]);
  expect([...arrows].filter((arrow) => !shared.includes(arrow)).sort()).toEqual(allowed.sort());
});

/** The lists of operations, of policies, of detectors and of causes, which the dashboard shares with the daemon. */
const SHARED_LIST = [
  "operations.ts",
  "operation-facts.ts",
  "details.ts",
  "agent-id.ts",
  "json.ts",
  "sink.ts",
  "trail-filter.ts",
  "screen/policies.ts",
  "screen/retention.ts",
  "screen/history.ts",
  "screen/checkpoint-schedule.ts",
  "screen/screening.ts",
  "screen/limits.ts",
  "screen/modes.ts",
  "screen/detectors.ts",
  "oidc/causes.ts",
];

test("the dashboard takes types and lists from the daemon, and none of its runtime", () => {
  const web = SOURCES.filter(({ room, path }) => room === "web" || SHARED_LIST.includes(path));
  const taken = web.flatMap(({ path, text }) =>
    importsOf(path, text.replace(/^(import|export) type\b[^;]*;/gm, ""))
      .filter((target) => target.endsWith(".ts") && !target.startsWith("web/"))
      .filter((target) => !SHARED_LIST.includes(target))
      .map((target) => `${path} -> ${target}`),
  );
  expect(taken).toEqual([]);
  const runtime = /\b(Bun|Buffer|process)\.|"(node|bun):/;
  expect(paths(web.filter((source) => runtime.test(codeOf(source))))).toEqual([]);
});

test("no imports form a cycle", () => {
  const imports = new Map(SOURCES.map((source) => [source.path, source.imports]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) cycles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (done.has(path) || way.includes(path)) return;
    for (const target of imports.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of imports.keys()) visit(path, []);
  expect(cycles).toEqual([]);
});

/** What is not needed to start, by entry points. */
const LOADED_LATER: readonly (readonly [what: string, entries: readonly string[], unwanted: RegExp])[] = [
  [
    "threads start without the verifier and the schema compiler, which few of them need",
    ["serve/threads/worker.ts", "serve/threads/reader-worker.ts"],
    /^verify\/|^@sinclair\/typebox/,
  ],
  [
    "the daemon's main thread starts without what only other threads do: screen, and connect to receivers",
    ["main.ts", "cli/program.ts", "cli/commands/serve.ts"],
    /^screen\/examine\.ts$|^(libphonenumber-js|ibantools|stdnum)\b|^follow\/sinks\/(https|syslog|file)\.ts$|^@huggingface\//,
  ],
  [
    "commands that screen nothing start without screening, and without the API",
    ["account", "check", "compact", "health", "key", "seal-key", "workspace"].map((name) => `cli/commands/${name}.ts`),
    /^screen\/examine\.ts$|^elysia$/,
  ],
];

test.each(LOADED_LATER)("%s", (_, entries, unwanted) => {
  const loaded = new Set<string>();
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    const source = SOURCES.find((one) => one.path === path);
    if (source === undefined) return;
    // Imports of types, and imports by a call, load nothing at the start.
    const atStart = source.text.replace(/^(import|export) type\b[^;]*;|\bimport\(/gm, "");
    for (const target of importsOf(path, atStart)) load(target);
  };
  for (const entry of entries) load(entry);
  expect(loaded.size).toBeGreaterThan(entries.length);
  expect([...loaded].filter((path) => unwanted.test(path))).toEqual([]);
});

test("no folder has too many files side by side", () => {
  const files = new Map<string, number>();
  for (const { path } of SOURCES) files.set(dirname(path), (files.get(dirname(path)) ?? 0) + 1);
  const wide = [...files].filter(([, count]) => count > MAX_FILES).map(([folder]) => folder);
  expect(wide).toEqual([]);
});

/** Operations on accounts, on a log itself, and on keys and members, which its people manage. */
const ON_ACCESS = /^ops\/(accounts|directory|keys|members|sinks)\//;

test("operations of one kind do not know those of another", () => {
  const crossing = SOURCES.filter(({ path }) => path.startsWith("ops/")).flatMap(({ path, imports }) => {
    const own = path.split("/").slice(0, 2).join("/");
    return (
      imports
        .filter((target) => target.startsWith("ops/") && !target.startsWith(`${own}/`))
        .filter((target) => !(ON_ACCESS.test(path) && ON_ACCESS.test(target)))
        // They share the schemas of an entry and of a finding.
        .filter((target) => !/[/-]schema\.ts$/.test(target))
        .map((target) => `${path} -> ${target}`)
    );
  });
  expect(crossing).toEqual([]);
});

test("only the store knows the database driver, and one file the client of a libSQL server", () => {
  expect(paths(importing(/^libsql(\/|$)/)).filter((path) => !path.startsWith("store/"))).toEqual([]);
  expect(paths(importing(/^@libsql\//))).toEqual(["engine-libsql/server.ts"]);
});

test("only the store runs checkpoints of a write-ahead log, and proves them", () => {
  expect(paths(saying(/wal_checkpoint/i))).toEqual(["store/checkpoint.ts", "store/connection.ts"]);
  // No commit may run a checkpoint by itself.
  expect(paths(saying(/wal_autocheckpoint = 0/))).toEqual(["store/connection.ts"]);
});

test("only HTTP code imports Elysia", () => {
  const outside = importing(/^(elysia|@elysiajs\/)/).filter(
    ({ path }) => !/^(api|serve\/http)\//.test(path) && !FACES_HTTP.test(path),
  );
  expect(paths(outside)).toEqual([]);
});

test("the process ends only in main.ts", () => {
  expect(paths(saying(/\bprocess\.(exit|abort|reallyExit)\s*\(/))).toEqual(["main.ts"]);
});

test("the environment is read only where governd's settings are loaded and the runtime's are set", () => {
  expect(paths(saying(/\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/))).toEqual([
    "cli/runtime-settings.ts",
    "settings/load.ts",
  ]);
});

test("requests are sent in one place, which names the program, except those that are passed on for a client", () => {
  const sending = paths(saying(/(?<![.#\w])fetch\((?!request\))|\bfrom "node:https?"/)).filter(
    (path) => !path.startsWith("web/"),
  );
  expect(sending).toEqual([
    "engine-libsql/cluster/forwarding.ts",
    "follow/sinks/https.ts",
    "outbound.ts",
    "serve/http/documents/api/page.ts",
  ]);
});

test("the clock is read in one place and injected", () => {
  // Code for the browser reads the browser's clock.
  const inDaemon = paths(saying(/\bDate\.now\(|\bnew Date\(\s*\)/)).filter((path) => !path.startsWith("web/"));
  expect(inDaemon).toEqual(["ids.ts"]);
});

/** Files whose randomness appears in nothing that is stored, or which a standard requires to be fresh each time. */
const OWN_RANDOMNESS = [
  // The name of a temporary file, which is renamed into place.
  "core/datadir/private-files.ts",
  // Secret keys of a verification, so that nobody can prepare collisions.
  "verify/rows/expected/versions.ts",
  "verify/rows/expected/replay.ts",
  // Serial numbers of certificates.
  "serve/tls/issue.ts",
];

test("randomness is drawn in one place and injected", () => {
  const drawing = saying(/\bMath\.random\(|\bgetRandomValues\(|\brandomUUID\(|\brandomBytes\(\d/);
  expect(paths(drawing).filter((path) => !OWN_RANDOMNESS.includes(path))).toEqual(["ids.ts"]);
});

test("operations are performed and events appended in one place", () => {
  expect(paths(saying(/\bappendEvent\(/))).toEqual([
    "core/writer/append.ts",
    "core/writer/file.ts",
    "core/writer/recorder.ts",
  ]);
  expect(paths(saying(/INSERT INTO events\b/))).toEqual(["core/writer/append.ts"]);
});

test("the verifier derives from effects what changes rows, and knows no operation by its name", () => {
  const naming = saying(/["'`](agent|audit|checkpoint|config|data|key|log|member|seal|workspace)\.[a-z_]+["'`]/);
  expect(paths(naming.filter(({ room }) => room === "verify"))).toEqual([]);
});

test("nothing bypasses the logger and the terminal, except the message that the runtime is too old", () => {
  expect(paths(saying(/\bconsole\.\w+\(/)).filter((path) => path !== "main.ts")).toEqual([]);
});

/** Loaded by `require` in the compiled binary alone. */
const REQUIRED = "search/embedded.ts";

/** The text of each file that may import something of src, by its path. */
const TEXTS = new Map(
  ["src", "test", "scripts", "bench"]
    .map((folder) => join(SOURCE, "..", folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((path) => join(folder, path)))
    .filter((path) => /\.(tsx?|mjs)$/.test(path) && !path.endsWith(".d.ts"))
    .map((path) => [path, readFileSync(path, "utf8")]),
);

const DECLARED =
  /^export\s+(?:abstract\s+|async\s+)*(?:interface|type|class|function\*?|const|let|enum)\s+([A-Za-z_$][\w$]*)/gm;
const PASSED_ON = /^export\s+(?:type\s+)?\{([^}]*)\}/gm;
const STATIC = /^(?:import|export)\s+(?:type\s+)?([^;"']*?)\s*from\s*"(\.[^"]+)"/gm;
const DYNAMIC = /\bimport\(\s*"(\.[^"]+)"\s*\)/g;

/** Returns the names between the braces of an import or an export, each as the other file and as this one calls it. */
const namesIn = (list: string): [there: string, here: string][] =>
  list
    .split(",")
    .map((one) => one.trim().replace(/^type\s+/, ""))
    .filter((one) => one !== "")
    .map((one) => one.split(/\s+as\s+/))
    .map(([there, here = there]) => [there as string, here as string]);

/** Yields what a file imports, as `path name`. From a module that it imports whole, it may take every word in it. */
function* takenBy(path: string, text: string): Generator<string> {
  const pathOf = (specifier: string) => join(dirname(path), specifier);
  const words = new Set(text.match(/[\w$]+/g));
  for (const [, clause, specifier] of text.matchAll(STATIC)) {
    const target = pathOf(specifier as string);
    const [, braces] = /\{([^}]*)\}/.exec(clause as string) ?? [];
    for (const [name] of namesIn(braces ?? "")) yield `${target} ${name}`;
    if (clause?.includes("*")) for (const word of words) yield `${target} ${word}`;
  }
  for (const [, specifier] of text.matchAll(DYNAMIC))
    for (const word of words) yield `${pathOf(specifier as string)} ${word}`;
}

test("what is exported is imported by another file", () => {
  const taken = new Set([...TEXTS].flatMap(([path, text]) => [...takenBy(path, text)]));
  const unused = SOURCES.filter(({ path }) => path !== REQUIRED).flatMap(({ path, text }) => {
    const declared = Array.from(text.matchAll(DECLARED), ([, name]) => name as string);
    const passedOn = Array.from(text.matchAll(PASSED_ON), ([, list]) => namesIn(list as string)).flat();
    // A name in quotes is looked up in the whole module.
    const exported = [...declared, ...passedOn.map(([, here]) => here).filter((here) => !here.startsWith('"'))];
    return exported.filter((name) => !taken.has(`${join(SOURCE, path)} ${name}`)).map((name) => `${path}: ${name}`);
  });
  expect(unused).toEqual([]);
});
