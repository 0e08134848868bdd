/** The rules of the house: what each folder may know, and what only one place may do. */
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";

const SOURCE = join(import.meta.dir, "../src");
const MAX_LINES = 320;
/** Tables, and one state machine whose parts mean nothing alone. */
const MAY_BE_LONG = [
  "policy/pii/address-words.ts",
  "policy/pii/formats.ts",
  "policy/pii/labels.ts",
  "policy/secrets/token-table.ts",
  "log/verify.ts",
  "evidence/replay.ts",
];

/** Small modules that know nobody and that everybody may use. */
const COMMON = ["ids", "json", "failure", "version", "histogram", "cell-rate", "network"];

/** Which folders (and single files) of src each one may import from, besides itself and COMMON. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  ids: [],
  json: [],
  failure: [],
  version: [],
  histogram: [],
  "cell-rate": [],
  network: [],
  log: [],
  policy: [],
  store: [],
  // Word vectors, ranking: pure.
  search: [],
  // An anchor is named by a key in the settings.
  settings: ["anchors", "log"],
  tls: ["datadir", "settings"],
  datadir: ["settings", "store"],
  control: ["store", "datadir", "workspace"],
  // Cursors, written by operations and read by routes.
  lists: ["workspace"],
  // Where an export goes on, likewise.
  "export-cursor": ["lists", "log", "workspace"],
  state: ["store", "log", "search", "policy"],
  // Signing the head of a workspace's log.
  seals: ["log", "state", "store", "datadir", "settings"],
  // Carrying seals elsewhere: commands, web hooks, witnesses.
  anchors: ["log"],
  workspace: ["store", "log", "state", "seals"],
  evidence: ["store", "log", "state", "policy", "workspace", "seals", "worker-entry"],
  operations: [
    "export-cursor",
    "seals",
    "workspace",
    "state",
    "log",
    "policy",
    "search",
    "store",
    "lists",
    "evidence",
  ],
  routes: ["export-cursor", "http", "workspace", "lists", "policy"],
  threads: ["seals", "operations", "workspace", "state", "store", "search", "log", "policy", "worker-entry"],
  // What people need and programs do not: its routes are served by http beside those of the features.
  account: ["control", "http"],
  http: ["workspace", "lists", "routes", "account"],
  // What a daemon shows to whoever watches it.
  metrics: ["http", "threads", "anchors"],
  // A data directory copied, and put back.
  backup: ["datadir", "store", "evidence", "control", "workspace", "seals", "log"],
  // The dashboard runs in a browser and is bundled apart; it speaks to the daemon over HTTP alone.
  web: [],
  "worker-entry": [],
  // Erasing is an operation that the command line performs itself.
  cli: [
    "operations",
    "metrics",
    "anchors",
    "search",
    "backup",
    "seals",
    "policy",
    "settings",
    "datadir",
    "control",
    "account",
    "tls",
    "http",
    "threads",
    "workspace",
    "store",
    "log",
    "evidence",
    "state",
  ],
  main: ["cli"],
};

/** Of a feature, what faces HTTP is one room and what runs on the workspace's thread another. */
const FACES_HTTP = /^features\/[^/]+\/(routes|(\w+-)?schema|policies)\.ts$/;

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

function roomOf(path: string): string {
  if (FACES_HTTP.test(path)) return "routes";
  if (path.startsWith("features/")) return "operations";
  return (path.split("/")[0] as string).replace(/\.tsx?$/, "");
}

function importsOf(path: string, text: string): string[] {
  const found = text.matchAll(/(?:^(?:import|export)\b[^;]*?from\s*|^import\s*|\bimport\()"([^"]+)"/gm);
  return Array.from(found, ([, name]) => {
    const target = name as string;
    return target.startsWith(".") ? relative(SOURCE, join(SOURCE, dirname(path), target)) : target;
  });
}

/** What a file says besides its comments. */
const codeOf = ({ text }: Source) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");

const paths = (sources: readonly Source[]) => sources.map(({ path }) => path).sort();
const saying = (pattern: RegExp) => SOURCES.filter((source) => pattern.test(codeOf(source)));
const importing = (name: RegExp) => SOURCES.filter((source) => source.imports.some((one) => name.test(one)));

test("every folder has its rule", () => {
  expect([...new Set(SOURCES.map(({ room }) => room))].filter((room) => !(room in MAY_IMPORT))).toEqual([]);
});

test("nobody imports what it may not know", () => {
  const forbidden = SOURCES.flatMap(({ path, room, imports }) => {
    const allowed = new Set([room, ...COMMON, ...(MAY_IMPORT[room] ?? [])]);
    return imports
      .filter((target) => target.endsWith(".ts") && !target.startsWith(".."))
      .filter((target) => !allowed.has(roomOf(target)))
      .map((target) => `${path} -> ${target}`);
  });
  expect(forbidden).toEqual([]);
});

test("features do not know each other", () => {
  const crossing = SOURCES.filter(({ path }) => path.startsWith("features/")).flatMap(({ path, imports }) => {
    const own = path.split("/").slice(0, 2).join("/");
    return (
      imports
        .filter((target) => target.startsWith("features/") && !target.startsWith(`${own}/`))
        // The shapes of an entry and of a finding are words that features share.
        .filter((target) => !target.endsWith("/schema.ts"))
        .map((target) => `${path} -> ${target}`)
    );
  });
  expect(crossing).toEqual([]);
});

test("only the store knows the database driver", () => {
  expect(paths(importing(/^(libsql|@libsql\/)/)).filter((path) => !path.startsWith("store/"))).toEqual([]);
});

test("Elysia stays in the HTTP side", () => {
  const outside = importing(/^(elysia|@elysiajs\/)/).filter(
    ({ room }) => room !== "http" && room !== "routes",
  );
  expect(paths(outside)).toEqual([]);
});

test("the process ends only in main.ts", () => {
  expect(paths(saying(/\bprocess\.(exit|abort|reallyExit)\s*\(/))).toEqual(["main.ts"]);
});

test("the environment is read only by the settings", () => {
  expect(paths(saying(/\bprocess\.env\b|\bBun\.env\b|\bimport\.meta\.env\b/))).toEqual(["settings/load.ts"]);
});

test("the clock is read in one place, and handed on", () => {
  // The browser has its own.
  const inDaemon = paths(saying(/\bDate\.now\(|\bnew Date\(\s*\)/)).filter(
    (path) => !path.startsWith("web/"),
  );
  expect(inDaemon).toEqual(["ids.ts"]);
});

/** Randomness that shows in nothing that is stored, or that a standard wants to be fresh each time. */
const OWN_RANDOMNESS = [
  // The name of a draft beside the file that it becomes.
  "datadir/private-files.ts",
  // Secrets of a verification that is under way, so that nobody can write collisions for them.
  "evidence/key-table.ts",
  "evidence/multiset.ts",
  "evidence/replay.ts",
  // Serial numbers of certificates.
  "tls/issue.ts",
];

test("randomness is drawn in one place, and handed on", () => {
  const drawing = saying(/\bMath\.random\(|\bgetRandomValues\(|\brandomUUID\(|\brandomBytes\(\d/);
  expect(paths(drawing).filter((path) => !OWN_RANDOMNESS.includes(path))).toEqual(["ids.ts"]);
});

test("operations are performed and events appended in one place", () => {
  expect(paths(saying(/\bappendEvent\(/))).toEqual([
    "workspace/append.ts",
    "workspace/file.ts",
    "workspace/perform.ts",
  ]);
  expect(paths(saying(/INSERT INTO events\b/))).toEqual(["workspace/append.ts"]);
});

test("nothing is written past the logger and the terminal, but that the runtime is too old for them", () => {
  expect(paths(saying(/\bconsole\.\w+\(/)).filter((path) => path !== "main.ts")).toEqual([]);
});

test("files hold one idea", () => {
  const long = SOURCES.filter(({ text }) => text.split("\n").length > MAX_LINES);
  expect(paths(long).filter((path) => !MAY_BE_LONG.includes(path))).toEqual([]);
});
