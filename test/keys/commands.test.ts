/** `governd key` on a data directory: which workspace a key is looked for in, and what is answered when there is none. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { dataDirectory, workspaceFile } from "../../src/core/datadir/layout.ts";
import { governd, type MadeWorkspace, makeWorkspace } from "../cli/governd.ts";
import { keysIn } from "../support/administration.ts";
import { PROCESS_TEST_MS, temporaryDirectory } from "../temporary.ts";

setDefaultTimeout(PROCESS_TEST_MS);

const directory = temporaryDirectory();
const data = directory.join("data");
let one: MadeWorkspace;
let other: MadeWorkspace;
beforeAll(async () => {
  [one, other] = [await makeWorkspace(data, "one"), await makeWorkspace(data, "other")];
});
afterAll(() => directory[Symbol.dispose]());

const key = (...words: string[]) => governd(["key", ...words, "--data-dir", data]);
const stored = (workspaceId: string) => keysIn(dataDirectory(data), workspaceId);

async function made({ workspace_id }: MadeWorkspace): Promise<string> {
  return (await key("create", "--workspace", workspace_id, "--json")).json<{ key_id: string }>().key_id;
}

const NONE = "key_01h455vb4pex5vsknk084sn02q";
const NO_KEY = "governd: There is no such key. `governd key list --workspace W` lists the keys of a workspace.\n";

/** The commands on one key. */
const COMMANDS: [name: string, words: (id: string) => string[]][] = [
  ["rotate", (id) => ["rotate", id, "--overlap", "1h"]],
  ["limit", (id) => ["limit", id, "--network", "192.0.2.7"]],
  ["revoke", (id) => ["revoke", id]],
];

test.each(COMMANDS)("%s finds the key's workspace, or is told it, and changes that key alone", async (_, words) => {
  for (const named of [[], ["--workspace", other.workspace_id]]) {
    const [id, alike] = [await made(other), await made(one)];
    const before = [await stored(one.workspace_id), await stored(other.workspace_id)];
    const { code, err } = await key(...words(id), ...named, "--json");
    expect([code, err]).toEqual([0, ""]);
    expect(await stored(one.workspace_id)).toEqual(before[0] as never);
    const after = await stored(other.workspace_id);
    expect(after.filter((row) => row.id !== id).slice(0, before[1]?.length)).toEqual(
      expect.arrayContaining(before[1]?.filter((row) => row.id !== id) as never),
    );
    expect(after.find((row) => row.id === id)).not.toEqual(before[1]?.find((row) => row.id === id) as never);
    expect((await stored(one.workspace_id)).some((row) => row.id === alike)).toBe(true);
  }
});

test.each(COMMANDS)("%s of an unknown key is a failure that says what to do", async (_, words) => {
  const before = [await stored(one.workspace_id), await stored(other.workspace_id)];
  for (const named of [[], ["--workspace", one.workspace_id]]) {
    for (const id of [NONE, "key_none", ""])
      expect(await key(...words(id), ...named)).toMatchObject({ code: 2, out: "", err: NO_KEY });
  }
  // The key is another workspace's.
  const id = (await stored(other.workspace_id))[0]?.id as string;
  const elsewhere = await key(...words(id), "--workspace", one.workspace_id);
  expect(elsewhere).toMatchObject({ code: 2, out: "", err: NO_KEY });
  for (const nowhere of ["ws_none", "../../etc/passwd"]) {
    const { code, out, err } = await key(...words(id), "--workspace", nowhere);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toStartWith("governd: There is no such workspace");
    expect(err).toContain("governd workspace list");
  }
  expect([await stored(one.workspace_id), await stored(other.workspace_id)]).toEqual(before);
});

test("a key that has ended is not rotated or limited, and says so", async () => {
  const id = await made(one);
  expect((await key("revoke", id)).code).toBe(0);
  for (const [name, words] of COMMANDS) {
    const { code, out, err } = await key(...words(id));
    if (name === "revoke") expect([code, err]).toEqual([0, ""]);
    else expect([code, out, err]).toEqual([2, "", expect.stringMatching(/^governd: .*(ended|revoked|expired)/)]);
  }
  const replaced = await made(one);
  expect((await key("rotate", replaced)).code).toBe(0);
  const { code, err } = await key("rotate", replaced);
  expect([code, err]).toEqual([2, expect.stringContaining("already")]);
});

test("a workspace whose file is missing keeps no key of another from being changed", async () => {
  const lost = await makeWorkspace(data, "lost");
  const later = await makeWorkspace(data, "later");
  const [id, named] = [await made(later), await made(later)];
  rmSync(workspaceFile(dataDirectory(data), lost.workspace_id));
  expect(await key("revoke", named, "--workspace", later.workspace_id)).toMatchObject({ code: 0, err: "" });
  expect(await key("revoke", id)).toMatchObject({ code: 0, err: "" });
  const ended = (await stored(later.workspace_id)).filter(({ revokedAt }) => revokedAt !== null);
  expect(ended.map((row) => row.id)).toEqual([id, named]);
});

test("the commands make no data directory", async () => {
  const empty = temporaryDirectory();
  for (const words of [["list", "--workspace", "ws_none"], ...COMMANDS.map(([, words]) => words(NONE))]) {
    const { code, err } = await governd(["key", ...words, "--data-dir", empty.join("data")]);
    expect([code, err]).toEqual([2, expect.stringMatching(/^governd: /)]);
    expect(await Bun.file(empty.join("data", "installation.json")).exists()).toBe(false);
  }
  empty[Symbol.dispose]();
});
