/** Making workspaces and keys as the command line does, in this process. */

import { existsSync } from "node:fs";
import { type DataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { ensureDataDirectory } from "../../src/core/datadir/open.ts";
import { sealKeySource } from "../../src/core/datadir/seal-key.ts";
import { wholeText } from "../../src/core/long-text.ts";
import { findKey, listKeys } from "../../src/core/rows/access/keys.ts";
import { SerialQueue } from "../../src/core/serial-queue.ts";
import { type Principal, systemPrincipal } from "../../src/core/writer/contract.ts";
import { openWorkspaceReader } from "../../src/core/writer/file.ts";
import { Failure } from "../../src/failure.ts";
import { IdSource, RandomPool, systemClock } from "../../src/ids.ts";
import type { JsonObject } from "../../src/json.ts";
import type { KeyRequest } from "../../src/operation-facts.ts";
import type { OperationInputs } from "../../src/operations.ts";
import type { AccessChange } from "../../src/ops/accounts/parts.ts";
import { createWorkspace, type FoundingParts } from "../../src/ops/directory/administration.ts";
import { Installation } from "../../src/ops/directory/installation.ts";
import { cliPrincipal, fileJournal, sealNow, withWriter } from "../../src/ops/directory/journal.ts";
import { listWorkspaces } from "../../src/ops/directory/workspaces.ts";
import type { ShownKey } from "../../src/ops/keys/shown.ts";
import { jobOf } from "../../src/serve/threads/registry.ts";
import { serverOfDirectory } from "./engine.ts";

/** A new key. */
export interface NewKey {
  apiKey: string;
  record: ShownKey;
  auditId: string;
}

type KeyAnswer = ShownKey & { api_key: string; audit_id: string; replaced_expires_at: string };

/** Changes of this process, one after another: two writers on one file would wait for each other. */
const changes = new SerialQueue();

type KeyChange = Extract<AccessChange, `key.${string}`>;
type AccountChange = Extract<AccessChange, `account.${string}`>;

/**
 * Performs an operation in the file of a workspace, or of the installation. Returns the answer. The caller tells
 * a running daemon afterwards, so that it forgets what it has cached.
 * @throws {Failure} `usage` when it is refused
 */
export async function changeFile<N extends AccessChange>(
  directory: DataDirectory,
  principal: Principal,
  name: N,
  input: OperationInputs[N],
): Promise<JsonObject> {
  const reply = await changes.run(() =>
    withWriter(directory, sealKeySource(directory, null), principal.workspaceId, async (writer) => {
      const [one] = await writer.perform([jobOf({ name, input, principal })]);
      await sealNow(writer);
      return one;
    }),
  );
  const answer = reply?.answer;
  if (answer?.kind !== "json") throw new Failure("usage", answer?.kind === "problem" ? answer.detail : "no answer");
  return JSON.parse(wholeText(answer.body)) as JsonObject;
}

/** As {@link changeFile}, for a key. */
export const changeKey = async <N extends KeyChange>(
  directory: DataDirectory,
  workspaceId: string,
  name: N,
  input: OperationInputs[N],
  actor = "cli",
): Promise<KeyAnswer> =>
  (await changeFile(directory, { ...cliPrincipal(workspaceId), actor }, name, input)) as unknown as KeyAnswer;

/** The workspaces of the keys that this process has made. */
const workspaces = new Map<string, string>();

/** What the operator does with workspaces and keys. */
export class Administration {
  constructor(
    private readonly parts: FoundingParts,
    private readonly directory: DataDirectory,
  ) {}

  async createWorkspace(name: string) {
    const { workspaceId: id, keyId, ...made } = await createWorkspace(this.parts, "cli", name);
    return { ...made, workspace: { id, name }, record: { id: keyId } };
  }

  createKey({ workspaceId, ...request }: Partial<KeyRequest> & { workspaceId: string }): Promise<NewKey> {
    const open = { label: null, scope: "full", agents: null, networks: null, expiresInMs: null } as const;
    return this.#change(workspaceId, "key.create", { ...open, ...request });
  }

  async rotateKey(keyId: string, overlapMs: number): Promise<NewKey> {
    return this.#change(await this.#workspaceOf(keyId), "key.rotate", { keyId, overlapMs });
  }

  async limitKey(keyId: string, networks: readonly string[] | null): Promise<NewKey> {
    return this.#change(await this.#workspaceOf(keyId), "key.change", { keyId, networks });
  }

  async revokeKey(keyId: string): Promise<NewKey> {
    return this.#change(await this.#workspaceOf(keyId), "key.revoke", { keyId });
  }

  /** Changes accounts as the command line does, in the file of the installation. */
  async changeAccount<N extends AccountChange>(
    name: N,
    input: OperationInputs[N],
    principalOf: (installation: string) => Principal = cliPrincipal,
  ): Promise<JsonObject> {
    const body = await changeFile(
      this.directory,
      principalOf(await this.parts.installation.ensure(this.parts)),
      name,
      input,
    );
    await this.parts.installation.changed();
    return body;
  }

  async #change<N extends KeyChange>(workspaceId: string, name: N, input: OperationInputs[N]): Promise<NewKey> {
    const { api_key: apiKey, audit_id: auditId, ...record } = await changeKey(this.directory, workspaceId, name, input);
    await this.parts.installation.changed();
    workspaces.set(record.id, workspaceId);
    return { apiKey, auditId, record };
  }

  async #workspaceOf(keyId: string): Promise<string> {
    const { directory } = this;
    const known = workspaces.get(keyId);
    if (known !== undefined) return known;
    for (const { id } of await this.parts.installation.read(listWorkspaces, [])) {
      if (directory.server !== null) {
        const found = await withWriter(directory, sealKeySource(directory, null), id, (_, reader) =>
          Promise.resolve(findKey(reader, keyId)),
        );
        if (found !== undefined) return id;
      } else if (existsSync(workspaceFile(directory, id))) {
        using reader = openWorkspaceReader(workspaceFile(directory, id), id, directory.encryptionKey);
        if ((await findKey(reader, keyId)) !== undefined) return id;
      }
    }
    throw new Failure("not_found", "There is no such key.");
  }
}

/** Returns the keys of a workspace's file, the oldest first. */
export async function keysIn(directory: DataDirectory, workspaceId: string) {
  using reader = openWorkspaceReader(workspaceFile(directory, workspaceId), workspaceId, directory.encryptionKey);
  return await listKeys(reader);
}

/** Calls `work` with the administration of a data directory, whether or not a daemon runs on it. */
export async function administer<T>(dataDir: string, work: (administration: Administration) => Promise<T>): Promise<T> {
  const directory = ensureDataDirectory(dataDir, { server: serverOfDirectory(dataDir) });
  using installation = await Installation.open(directory);
  const random = new RandomPool();
  const journal = fileJournal(directory);
  const parts = { installation, journal, clock: systemClock, ids: new IdSource(systemClock, random), random };
  return await work(new Administration(parts, directory));
}

export function makeKey(
  dataDir: string,
  workspaceId: string,
  wish: Partial<Pick<KeyRequest, "scope" | "agents">> = {},
): Promise<NewKey> {
  return administer(dataDir, (administration) => administration.createKey({ workspaceId, ...wish }));
}

/** Returns the token of a link, as `governd account link` makes one: for an account with its own workspace, or for a new password. */
export function makeLink(dataDir: string, wanted: OperationInputs["account.link"]): Promise<string> {
  return administer(dataDir, async (administration) =>
    String((await administration.changeAccount("account.link", wanted)).token),
  );
}

/** Returns the token of a link, as a start prints one. */
export function makeStartLink(dataDir: string): Promise<string> {
  return administer(dataDir, async (administration) =>
    String((await administration.changeAccount("account.link", { kind: "setup" }, systemPrincipal)).token),
  );
}

/** Returns the token of a link that sets an account's password, as `governd account link --email` makes one. */
export const passwordLink = (dataDir: string, accountId: string): Promise<string> =>
  makeLink(dataDir, { kind: "reset", accountId, endsSecondFactor: false });
