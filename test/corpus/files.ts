/** Attacks on whole files of a data directory: older, foreign and cut ones, and logs that were continued twice. */

import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BACKUP_FORMAT, MANIFEST_FILE } from "../../src/backup/manifest.ts";
import { type DataDirectory, dataDirectory } from "../../src/core/datadir/layout.ts";
import { openConnection } from "../../src/store/connection.ts";
import { type Everything, filesOf } from "./everything.ts";
import type { Tampering, Words } from "./judge.ts";

export interface Attack extends Tampering {
  /** Changes a copy of a directory. Returns what is {@link Given} to verify, unless it is the directory alone. */
  make: (directory: DataDirectory) => unknown;
  /** The directory that is copied; by default the last age. */
  from?: string;
}

/** What is verified, and the kept seals. */
interface Given {
  path: string;
  seals?: readonly string[];
}

/** Returns every attack on whole files. */
export function attacksOn(made: Everything): Attack[] {
  const { main, pruned, installation, kept, live, forks } = made;
  const age = (index: number): DataDirectory => dataDirectory(made.ages[index]?.data ?? "");
  const last = made.ages.length - 1;
  const attack = (kind: string, to: string, exit: Attack["exit"], make: Attack["make"], from?: string): Attack => ({
    ...{ form: "directory", kind, to, exit, make },
    ...(from !== undefined && { from }),
  });
  const put = (from: string, to: string) => {
    for (const end of ["-wal", "-shm"]) rmSync(`${to}${end}`, { force: true });
    copyFileSync(from, to);
  };
  const all = Object.entries({ main, pruned, installation });
  return [
    ...all.flatMap(([name, id]) => [
      ...made.ages.slice(0, last).map((_, index) =>
        attack("older copy", `the file of ${name}, age ${index}`, 1, (directory) => {
          put(filesOf(age(index), id).database, filesOf(directory, id).database);
        }),
      ),
      ...made.ages.slice(0, last).map((_, index) =>
        attack("stale seals", `the file of seals of ${name}, age ${index}`, 0, (directory) => {
          put(filesOf(age(index), id).seals, filesOf(directory, id).seals);
        }),
      ),
      attack("missing", `the file of ${name}`, 1, (directory) => rmSync(filesOf(directory, id).database)),
      attack("missing", `the file of seals of ${name}`, 0, (directory) => rmSync(filesOf(directory, id).seals)),
      attack("missing", `all seals of ${name}`, 2, (directory) => {
        rmSync(filesOf(directory, id).seals);
        using connection = openConnection(filesOf(directory, id).database);
        connection.run("DELETE FROM seals");
        connection.truncateLog();
      }),
      attack("missing", `every trace of ${name}`, 1, (directory) => {
        withoutNotes(directory, installation, id);
        rmSync(filesOf(directory, id).database);
        rmSync(filesOf(directory, id).seals);
      }),
      attack("missing", `the file and the rows of ${name}`, 1, (directory) => {
        withoutNotes(directory, installation, id);
        rmSync(filesOf(directory, id).database);
      }),
      attack("cut off", `the file of ${name}`, "refused", (directory) => {
        const { database } = filesOf(directory, id);
        truncateSync(database, Math.floor(readFileSync(database).length / 8192) * 4096);
      }),
      attack("emptied", `the file of ${name}`, "refused", (directory) => truncateSync(filesOf(directory, id).database)),
      attack("a journal added", `beside the file of ${name}`, 2, (directory) => {
        writeFileSync(`${filesOf(directory, id).database}-journal`, Buffer.from("d9d505f920a163d7", "hex"));
      }),
      attack("garbage added", `a journal that is none, beside the file of ${name}`, 0, (directory) => {
        writeFileSync(`${filesOf(directory, id).database}-journal`, Buffer.alloc(600));
      }),
      attack("garbage added", `the log of ${name}`, 0, (directory) => {
        writeFileSync(`${filesOf(directory, id).database}-wal`, Buffer.alloc(8192, 7));
      }),
      ...all
        .filter(([other]) => other !== name)
        .flatMap(([other, otherId]) => [
          attack("another workspace's", `the file of ${name} is that of ${other}`, 1, (directory) => {
            put(filesOf(age(last), otherId).database, filesOf(directory, id).database);
          }),
          attack("another workspace's", `the seals of ${name} are those of ${other}`, 1, (directory) => {
            put(filesOf(age(last), otherId).seals, filesOf(directory, id).seals);
          }),
          attack("another workspace's", `the log of ${name} is that of ${other}`, "refused", (directory) => {
            const log = `${filesOf(live.data, main).database}-wal`;
            copyFileSync(log, `${filesOf(directory, id === main ? otherId : id).database}-wal`);
          }),
        ]),
    ]),
    attack("added", "a passkey of somebody who has one", 1, (directory) => {
      const columns =
        "account_id, host, created_seq, used_seq, counter, credential_id || 'A', name, public_key, salt FROM passkeys";
      inFile(filesOf(directory, installation).database, `INSERT INTO passkeys SELECT ${OTHER_ID}, ${columns} LIMIT 1`);
    }),
    attack("added", "a workspace that never was", 1, (directory) => {
      const copied = `SELECT ${OTHER_ID}, name, genesis, founder, added_seq, NULL FROM workspaces WHERE id = '${pruned}'`;
      inFile(filesOf(directory, installation).database, `INSERT INTO workspaces ${copied}`);
    }),
    ...["UPDATE passkeys SET public_key = 'pQECAyY'", "DELETE FROM passkeys"].map((sql) =>
      attack("forged", `a manifest, and ${sql}`, 1, (directory) => {
        inFile(filesOf(directory, installation).database, sql);
        const said = { format: BACKUP_FORMAT, created_at: "2020-01-01T00:00:00.000Z" };
        writeFileSync(join(directory.root, MANIFEST_FILE), JSON.stringify(said));
      }),
    ),
    attack("swapped", "the files of two workspaces", 1, (directory) => {
      put(filesOf(age(last), main).database, filesOf(directory, pruned).database);
      put(filesOf(age(last), pruned).database, filesOf(directory, main).database);
    }),
    ...made.ages.slice(0, last).flatMap((_, index) => [
      // It is no evidence.
      attack("older copy", `installation.json, age ${index}`, 0, (directory) =>
        put(age(index).pointer, directory.pointer),
      ),
      attack("older copy", `everything of age ${index}, and a newer seal kept`, 1, (directory) => {
        const { database, seals } = filesOf(directory, main);
        put(filesOf(age(index), main).database, database);
        put(filesOf(age(index), main).seals, seals);
        return { path: database, seals: [kept[index + 1] ?? ""] };
      }),
    ]),
    attack("missing", "the write-ahead log", 1, removeLog(main), live.data.root),
    // A copy that was made before the newest seals looks the same, so only a kept seal proves it.
    attack("older copy", "the write-ahead log", 2, cutLog(main, 0.5), live.data.root),
    attack("cut off", "the write-ahead log", 2, cutLog(main, 0.75), live.data.root),
    ...[0.5, 0.75].map((part) =>
      attack(
        "cut off",
        `the write-ahead log after ${part}, and the seal kept`,
        1,
        (directory) => {
          cutLog(main, part)(directory);
          return { path: directory.root, seals: [live.kept] };
        },
        live.data.root,
      ),
    ),
    attack("older copy", "the file of the installation, beside an empty log", 2, (directory) => {
      put(filesOf(age(last - 1), installation).database, filesOf(directory, installation).database);
      writeFileSync(`${filesOf(directory, installation).database}-wal`, "");
    }),
    attack(
      "missing",
      "the write-ahead log, and the seal kept",
      1,
      (directory) => {
        removeLog(main)(directory);
        return { path: filesOf(directory, main).database, seals: [live.kept] };
      },
      live.data.root,
    ),
    ...forks.flatMap(({ data, exported }, index) => {
      const other = forks[1 - index] as Everything["forks"][number];
      return [
        attack("fork", `continuation ${index}, and a seal of the other`, 1, () => ({
          path: filesOf(data, main).database,
          seals: [other.kept],
        })),
        attack("fork", `an export of continuation ${index}, and a seal of the other`, 1, () => ({
          path: exported,
          seals: [other.kept],
        })),
        attack("fork", `continuation ${index} with the seals of the other`, 1, seals(main, other.data), data.root),
        attack("fork", `continuation ${index} in the place of the last age`, 1, (directory) => {
          put(filesOf(data, main).database, filesOf(directory, main).database);
        }),
        attack("fork", `continuation ${index}, and a seal from after the restore`, 1, () => ({
          path: filesOf(data, main).database,
          seals: [kept[last] ?? ""],
        })),
      ];
    }),
    ...exportsWithOtherSeals(made),
  ];

  function seals(id: string, from: DataDirectory) {
    return (directory: DataDirectory) => put(filesOf(from, id).seals, filesOf(directory, id).seals);
  }
}

/** Changes rows of a database as a SQL tool would. */
function inFile(path: string, ...statements: string[]): void {
  using connection = openConnection(path);
  connection.exec("PRAGMA foreign_keys = OFF");
  for (const sql of statements) connection.exec(sql);
  connection.truncateLog();
}

/** SQL: another id than that of the row. */
const OTHER_ID = "substr(id, 1, length(id) - 4) || '0000'";

/** Removes what says where to find a workspace, or the log of the installation. */
function withoutNotes(directory: DataDirectory, installation: string, id: string): void {
  if (id === installation) {
    rmSync(directory.pointer);
    return;
  }
  const tables = ["directory", "sink_workspaces"];
  inFile(
    filesOf(directory, installation).database,
    ...tables.map((table) => `DELETE FROM ${table} WHERE workspace_id = '${id}'`),
  );
}

const removeLog = (id: string) => (directory: DataDirectory) => rmSync(`${filesOf(directory, id).database}-wal`);

const cutLog = (id: string, part: number) => (directory: DataDirectory) => {
  const log = `${filesOf(directory, id).database}-wal`;
  truncateSync(log, Math.floor(readFileSync(log).length * part));
};

/** Returns exports with the seal of another, and exports given with kept seals that they do not continue. */
function exportsWithOtherSeals({ exports, kept }: Everything): Attack[] {
  const whole = exports.filter(({ name }) => name.startsWith("ndjson of a workspace"));
  const others = exports.filter(({ name }) => name.startsWith("the pruned workspace"));
  return whole.flatMap((paper, index) => {
    const text = readFileSync(paper.path, "utf8");
    const foreign = /"seal":"[^"]*"/.exec(readFileSync(others[index]?.path ?? "", "utf8"))?.[0] ?? "";
    const path = paper.path.replace(/\.txt$/, "-resealed.txt");
    const from: Attack = {
      ...{ form: "export", kind: "another workspace's", to: `the seal of ${paper.name}`, exit: 1 },
      make: () => {
        writeFileSync(
          path,
          text.replace(/"seal":"[^"]*"/, () => foreign),
        );
        return { path };
      },
    };
    const later: Attack = {
      ...{ form: "export", kind: "older copy", to: `${paper.name}, and a newer seal kept`, exit: 1 },
      make: () => ({ path: paper.path, seals: [kept[index] ?? ""] }),
    };
    return [from, later];
  });
}

/** Makes the attack in a copy, and calls `look` with what is verified. */
export async function attacked<T>(
  attack: Attack,
  made: Everything,
  root: string,
  look: (path: string, seals: Pick<Words, "seals">) => Promise<T>,
): Promise<T> {
  const copy = join(root, "attacked");
  rmSync(copy, { recursive: true, force: true });
  if (existsSync(copy)) throw new Error("the copy before is still there");
  cpSync(attack.from ?? made.ages.at(-1)?.data ?? "", copy, { recursive: true });
  const { path, seals } = (attack.make(dataDirectory(copy)) as Given | undefined) ?? { path: copy };
  return await look(path, seals === undefined ? {} : { seals });
}
