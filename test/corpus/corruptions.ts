/**
 * The tampered corpus: one directory for each corruption of the same evidence, with what `governd
 * verify` must say of it. To add one, name what is done to the files, what is verified, and the
 * expected result.
 */

import { appendFileSync, copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { newSealKey, publicPem, readSealKey } from "../../src/core/datadir/seal-key.ts";
import { type Connection, openConnection } from "../../src/store/connection.ts";
import { doubled } from "../support/event-rows.ts";
import { OTHER_RANDOM, type Places, placesIn, tamper } from "./base.ts";
import { cutTail, rewriteLog } from "./rewrite.ts";

export interface Corruption {
  /** Also the name of its directory. */
  name: string;
  apply(places: Places): void | Promise<void>;
  /** The words after `governd verify`. */
  verify(places: Places): string[];
  exit: 0 | 1 | 2;
  /** Codes of which one must be among the problems; none for evidence that holds. */
  codes: string[];
}

const TAMPERED = 1;
const UNDETERMINED = 2;

const withKey = (places: Places) => ["--public-key", places.publicKey];
const database = (places: Places) => [places.database, ...withKey(places)];
const directory = (places: Places) => [places.data, ...withKey(places)];

/** A corruption of the database by SQL. */
function sql(name: string, statement: string, codes: string[]): Corruption {
  const change = (connection: Connection) => {
    if (connection.change(statement) === 0) throw new Error(`${name} changes nothing`);
  };
  return { name, apply: (places) => tamper(places.database, change), verify: database, exit: TAMPERED, codes };
}

/** A change of one member of an event. */
const member = (name: string, change: string): Corruption =>
  sql(`event-${name}-edited`, `UPDATE events SET ${change} WHERE seq = 3`, ["hash_mismatch"]);

const MEMBERS: Corruption[] = [
  member("actor", "actor = replace(actor, 'usr_', 'key_')"),
  member("agent", "agent_id = 'gamma'"),
  member("agent-seq", "agent_seq = 4"),
  member("blocked-by", "blocked_by = 'policy:block_pii'"),
  member("config-version", "config_version = 2"),
  member("commitment", "details_commitment = zeroblob(32)"),
  member("operation", "operation = 'data.read'"),
  member("previous-hash", "previous_hash = zeroblob(32)"),
  member("result", "result = 'blocked'"),
  member("timestamp", "time = time - 1000"),
  member("hash", "hash = zeroblob(32)"),
  member("id", `random = ${OTHER_RANDOM}`),
  sql("event-actor-malformed", "UPDATE events SET actor = actor || '\"' WHERE seq = 3", ["event_malformed"]),
  sql("event-id-cut", "UPDATE events SET random = x'01' WHERE seq = 3", ["event_malformed"]),
  sql("event-time-beyond-years", "UPDATE events SET time = 253402300800000 WHERE seq = 3", ["event_malformed"]),
  sql("workspace-edited", "UPDATE head SET workspace_id = 'ws_01h455vb4pex5vsknk084sn02z'", ["hash_mismatch"]),
  sql("format-edited", "UPDATE head SET format = 'governd.audit/2'", ["head_mismatch"]),
];

const ROWS: Corruption[] = [
  sql("details-edited", `UPDATE events SET details = replace(details, '"b"', '"c"') WHERE seq = 3`, [
    "details_mismatch",
  ]),
  sql("salt-edited", `UPDATE events SET details_salt = x'${"ab".repeat(16)}' WHERE seq = 3`, ["details_mismatch"]),
  sql("salt-removed", "UPDATE events SET details_salt = NULL WHERE seq = 3", ["details_mismatch"]),
  {
    name: "details-swapped",
    apply: ({ database: file }) =>
      tamper(file, (connection) => {
        const [a, b] = connection.all<[string, Uint8Array]>(
          "SELECT details, details_salt FROM events WHERE seq IN (2, 3) ORDER BY seq",
        ) as [[string, Uint8Array], [string, Uint8Array]];
        connection.run("UPDATE events SET details = ?, details_salt = ? WHERE seq = 2", b);
        connection.run("UPDATE events SET details = ?, details_salt = ? WHERE seq = 3", a);
      }),
    verify: database,
    exit: TAMPERED,
    codes: ["details_mismatch"],
  },
  sql("event-deleted", "DELETE FROM events WHERE seq = 5", ["seq_gap"]),
  sql("agent-removed", "DELETE FROM events WHERE agent_id = 'beta'", ["seq_gap"]),
  sql("agent-row-removed", "DELETE FROM agents WHERE agent_id = 'beta'", ["content_missing"]),
  {
    name: "event-inserted",
    apply: ({ database: file }) =>
      tamper(file, (connection) => {
        connection.run("UPDATE events SET seq = seq + 100000 WHERE seq > 3");
        connection.run(`${doubled("4", { random: OTHER_RANDOM })} WHERE seq = 3`);
        connection.run("UPDATE events SET seq = seq - 99999 WHERE seq > 100000");
      }),
    verify: database,
    exit: TAMPERED,
    codes: ["hash_mismatch"],
  },
  {
    name: "events-swapped",
    apply: ({ database: file }) =>
      tamper(file, (connection) => {
        connection.run("UPDATE events SET seq = -1 WHERE seq = 2");
        connection.run("UPDATE events SET seq = 2 WHERE seq = 3");
        connection.run("UPDATE events SET seq = 3 WHERE seq = -1");
      }),
    verify: database,
    exit: TAMPERED,
    codes: ["hash_mismatch"],
  },
  sql("entry-edited", `UPDATE entries SET value = '"other"' WHERE key = 'a'`, ["content_mismatch"]),
  sql("entry-salted-again", "UPDATE entries SET salt = zeroblob(16) WHERE key = 'a'", ["content_mismatch"]),
  sql("entry-salt-cut", "UPDATE entries SET salt = substr(salt, 3) WHERE key = 'a'", ["content_mismatch"]),
  sql("mark-removed", "UPDATE entries SET quarantined = NULL WHERE key = 'q/aside'", ["content_mismatch"]),
  sql("mark-removed-from-history", "UPDATE entries SET quarantined = NULL WHERE key = 'q/ended'", ["content_mismatch"]),
  sql("mark-added", "UPDATE entries SET quarantined = 9 WHERE key = 'a'", ["content_mismatch"]),
  sql("mark-added-again", "UPDATE entries SET quarantined = 9 WHERE key = 'q/released'", ["content_mismatch"]),
  sql("entry-removed", "DELETE FROM entries WHERE key = 'k3'", ["content_changed", "row_mismatch"]),
  sql("config-edited", `UPDATE configs SET config = '{"policies":{}}' WHERE version = 1`, ["content_mismatch"]),
  sql("config-salted-again", "UPDATE configs SET salt = printf('%032x', 1) WHERE version = 1", ["content_mismatch"]),
  sql("config-salt-cut", "UPDATE configs SET salt = substr(salt, 3) WHERE version = 1", ["content_mismatch"]),
  sql("config-removed", "DELETE FROM configs WHERE version = 2", ["content_missing"]),
  sql("checkpoint-edited", "UPDATE checkpoints SET label = 'd'", ["content_mismatch"]),
  sql("checkpoint-removed", "DELETE FROM checkpoints", ["content_missing"]),
  sql("tile-edited", "UPDATE tiles SET hashes = zeroblob(8192) WHERE level = 0", ["row_mismatch"]),
  sql("tile-removed", "DELETE FROM tiles WHERE level = 1", ["row_mismatch"]),
  sql("seal-edited", "UPDATE seals SET note = replace(note, 'corpus', 'corpse') WHERE id = 1", [
    "seal_signature",
    "seal_invalid",
  ]),
  sql("seal-size-edited", "UPDATE seals SET size = size + 1 WHERE id = 1", ["seal_invalid"]),
  sql("key-removed", "DELETE FROM seal_keys", ["content_missing"]),
  {
    name: "table-added",
    apply: ({ database: file }) => tamper(file, (connection) => connection.exec("CREATE TABLE more (a)")),
    verify: database,
    exit: TAMPERED,
    codes: ["schema_mismatch"],
  },
];
/** A corruption of the database in several steps. */
function change(
  name: string,
  work: (connection: Connection) => Promise<void>,
  verify: Corruption["verify"],
  codes: string[],
  exit: 0 | 1 | 2 = TAMPERED,
): Corruption {
  return {
    name,
    async apply({ database: file }) {
      const connection = openConnection(file);
      await work(connection);
      connection.truncateLog();
      connection.close();
    },
    verify,
    exit,
    codes,
  };
}

const withSeal = (places: Places) => [places.database, "--seal", places.earlySeal];

const SEALS: Corruption[] = [
  change("log-rewritten", (connection) => rewriteLog(connection, 3), database, ["root_mismatch"]),
  change(
    "log-rewritten-seals-removed",
    async (connection) => {
      await rewriteLog(connection, 3);
      connection.run("DELETE FROM seals");
    },
    withSeal,
    ["anchor_mismatch"],
  ),
  change(
    "log-rewritten-seals-removed-file-kept",
    async (connection) => {
      await rewriteLog(connection, 3);
      connection.run("DELETE FROM seals");
    },
    directory,
    ["root_mismatch"],
  ),
  change("tail-cut", (connection) => cutTail(connection, 100), database, ["seal_beyond_log"]),
  change(
    "tail-cut-seals-removed",
    async (connection) => {
      await cutTail(connection, 3);
      connection.run("DELETE FROM configs");
      connection.run("DELETE FROM seals");
    },
    withSeal,
    ["seal_beyond_log"],
  ),
  change(
    "seals-removed",
    async (connection) => void connection.run("DELETE FROM seals"),
    database,
    ["seal_missing"],
    UNDETERMINED,
  ),
  change(
    "seal-of-another-workspace",
    async (connection) => {
      const note = readFileSync(connectionSibling(connection), "utf8").split("\n\n").slice(0, 2).join("\n\n");
      connection.run("INSERT INTO seals (size, note) SELECT 400, ?", [`${note}\n`]);
    },
    database,
    ["seal_invalid"],
  ),
  {
    name: "file-of-seals-edited",
    apply: ({ sealFile }) =>
      writeFileSync(sealFile, readFileSync(sealFile, "utf8").replace(/^5\n/m, "6\n").replaceAll("\n5\n", "\n6\n")),
    verify: directory,
    exit: TAMPERED,
    codes: ["root_mismatch", "seal_signature"],
  },
  {
    name: "file-of-seals-followed-by-something",
    apply: ({ sealFile }) => appendFileSync(sealFile, "corpus.example/ws_0\n9"),
    verify: directory,
    exit: TAMPERED,
    codes: ["seal_invalid"],
  },
  {
    name: "file-of-seals-cut-off-seals-removed",
    apply({ sealFile, database: file }) {
      tamper(file, (connection) => void connection.run("DELETE FROM seals"));
      truncateSync(sealFile, readFileSync(sealFile).length - 1);
    },
    verify: directory,
    exit: TAMPERED,
    codes: ["seal_invalid"],
  },
  {
    name: "kept-seals-cut-off",
    apply({ sealFile, earlySeal }) {
      const text = readFileSync(sealFile, "utf8");
      writeFileSync(earlySeal, text.slice(0, text.length - 9));
    },
    verify: withSeal,
    exit: UNDETERMINED,
    codes: [],
  },
  {
    name: "wrong-key",
    apply: ({ publicKey, root }) => {
      const file = `${root}/another.key`;
      writeFileSync(file, newSealKey());
      writeFileSync(publicKey, publicPem(readSealKey({ kind: "file", path: file })));
    },
    verify: database,
    exit: UNDETERMINED,
    codes: ["seal_missing"],
  },
  {
    name: "another-workspace-in-its-place",
    apply: ({ database: file, otherDatabase }) => {
      rmSync(file);
      copyFileSync(otherDatabase, file);
    },
    verify: directory,
    exit: TAMPERED,
    codes: ["wrong_workspace"],
  },
];

/** Returns the path of the other workspace's file of seals. */
function connectionSibling(connection: Connection): string {
  const row = connection.get<[number, string, string]>("PRAGMA database_list");
  const file = row?.[2] ?? "";
  return placesIn(file.slice(0, file.indexOf("/data/workspaces/"))).otherSealFile;
}

const lines = (path: string): string[] => readFileSync(path, "utf8").split("\n");

function exported(
  name: string,
  edit: (all: string[], places: Places) => string[],
  codes: string[],
  exit: 0 | 1 | 2 = TAMPERED,
): Corruption {
  return {
    name: `export-${name}`,
    apply: (places) => writeFileSync(places.ndjson, edit(lines(places.ndjson), places).join("\n")),
    verify: (places) => [places.ndjson, ...withKey(places)],
    exit,
    codes,
  };
}

const EXPORTS: Corruption[] = [
  exported("event-missing", (all) => all.toSpliced(5, 1), ["seq_gap", "export_count"]),
  exported("events-reordered", (all) => [...all.slice(0, 4), all[5] ?? "", all[4] ?? "", ...all.slice(6)], [
    "seq_gap",
    "seq_repeated",
  ]),
  exported("event-of-another", (all, places) => all.toSpliced(5, 1, lines(places.otherNdjson)[3] ?? ""), [
    "wrong_workspace",
  ]),
  exported("event-edited", (all) => all.with(4, (all[4] ?? "").replace('"result":"allowed"', '"result":"blocked"')), [
    "hash_mismatch",
  ]),
  exported("without-trailer", (all) => all.slice(0, -2), ["export_incomplete"], UNDETERMINED),
  exported("seal-removed", (all) => all.with(0, (all[0] ?? "").replace(/"seal":"[^"]*"/, '"seal":null')), [
    "seal_invalid",
  ]),
  exported(
    "seal-of-another",
    (all, places) => {
      const seal = /"seal":"[^"]*"/.exec(lines(places.otherNdjson)[0] ?? "")?.[0] ?? "";
      return all.with(0, (all[0] ?? "").replace(/"seal":"[^"]*"/, seal.replaceAll("$", "$$$$")));
    },
    ["seal_invalid", "proof_invalid"],
  ),
];

const FILES: Corruption[] = [
  {
    name: "empty-file",
    apply: ({ database: file }) => truncateSync(file, 0),
    verify: database,
    exit: UNDETERMINED,
    codes: ["not_evidence"],
  },
  {
    name: "empty-log",
    apply: ({ database: file }) =>
      tamper(file, (connection) => {
        for (const table of [
          "events",
          "head",
          "agents",
          "configs",
          "entries",
          "checkpoints",
          "keys",
          "members",
          "invitations",
          "workloads",
          "workspace",
          "tiles",
          "seals",
          "seal_keys",
          "sinks",
        ])
          connection.run(`DELETE FROM ${table}`);
      }),
    verify: database,
    exit: UNDETERMINED,
    codes: ["log_empty"],
  },
  {
    name: "log-emptied-seals-kept",
    apply: ({ database: file }) => tamper(file, (connection) => void connection.run("DELETE FROM events")),
    verify: database,
    exit: TAMPERED,
    codes: ["seal_beyond_log", "head_mismatch"],
  },
  {
    name: "log-file-with-extra-frames",
    apply: ({ database: file }) => {
      writeFileSync(`${file}-wal`, Buffer.alloc(32));
      appendFileSync(`${file}-wal`, Buffer.alloc(24 + 4096, 7));
    },
    verify: database,
    // Frames without valid checksums are not part of the database, so nothing has changed.
    exit: 0,
    codes: [],
  },
  {
    name: "receipt-edited",
    apply: ({ receipt }) => {
      const all = lines(receipt);
      const shown = Buffer.from((all[1] ?? "").slice("extra ".length), "base64").toString();
      const edited = Buffer.from(shown.replace('"result":"allowed"', '"result":"blocked"')).toString("base64");
      writeFileSync(receipt, all.with(1, `extra ${edited}`).join("\n"));
    },
    verify: (places) => [places.receipt, ...withKey(places)],
    exit: TAMPERED,
    codes: ["proof_invalid"],
  },
];

/** Honest evidence must be reported as valid, or the corpus proves nothing. */
const UNTOUCHED: Corruption[] = (
  [
    ["database", (places) => [...database(places), "--seal", places.earlySeal]],
    ["directory", directory],
    ["directory-without-the-file-of-seals", directory, ({ sealFile }) => rmSync(sealFile)],
    ["directory-with-a-stale-file-of-seals", directory, ({ sealFile, earlySeal }) => copyFileSync(earlySeal, sealFile)],
    [
      "directory-with-a-file-of-seals-that-a-crash-cut-off",
      directory,
      ({ sealFile }) => truncateSync(sealFile, readFileSync(sealFile).length - 9),
    ],
    ["file-of-seals-as-seals", (places) => [places.database, "--seal", places.sealFile]],
    ["json", (places) => [places.json, ...withKey(places)]],
    ["ndjson", (places) => [places.ndjson, ...withKey(places)]],
    ["receipt", (places) => [places.receipt, ...withKey(places)]],
    ["agent", (places) => [...database(places), "--agent", "alpha"]],
  ] as [string, Corruption["verify"], Corruption["apply"]?][]
).map(([name, verify, apply = () => {}]) => ({ name: `untouched-${name}`, apply, verify, exit: 0, codes: [] }));

export const CORRUPTIONS: readonly Corruption[] = [...UNTOUCHED, ...MEMBERS, ...ROWS, ...SEALS, ...EXPORTS, ...FILES];
