/** Lineage after the daemon was killed: it derives from the log alone, so nothing is to be repaired. */
import { expect, test } from "bun:test";
import { join } from "node:path";
import { governdProcess, type RunningDaemon, startGovernd } from "../cli/governd-process.ts";
import { PROCESS_TEST_MS } from "../patience.ts";
import { temporaryDirectory } from "../temporary.ts";

interface Item {
  key: string;
  depth: number;
}

test(
  "says the same after a kill, and what was written since",
  async () => {
    using directory = temporaryDirectory();
    const dataDir = join(directory.path, "data");
    const made = await governdProcess(["workspace", "create", "--name", "w", "--json", "--data-dir", dataDir]);
    const { api_key: apiKey } = made.json<{ api_key: string }>();
    const send = async (daemon: RunningDaemon, path: string, body?: object) => {
      const headers = { "Governd-Session": "one" };
      const method = body === undefined ? "GET" : "POST";
      const answer = await daemon.ask(path, { method, apiKey, headers, ...(body && { body: JSON.stringify(body) }) });
      expect([path, answer.status]).toEqual([path, 200]);
      return (await answer.json()) as { audit_id: string; data: Item[] };
    };
    const write = (daemon: RunningDaemon, key: string) =>
      send(daemon, "/v1/data/write", { agent_id: "bot", key, value: "v" });
    const read = (daemon: RunningDaemon, key: string) => send(daemon, `/v1/data/read?agent_id=bot&key=${key}`);
    const followed = async (daemon: RunningDaemon, id: string) => {
      const { data } = await send(daemon, `/v1/lineage/${id}?direction=effects&depth=5`);
      return data.map(({ key, depth }) => [key, depth]);
    };

    const first = await startGovernd(dataDir);
    const { audit_id: note } = await write(first, "note");
    await read(first, "note");
    await write(first, "summary");
    expect(await followed(first, note)).toEqual([["summary", 1]]);
    await write(first, "plan");
    await first.stop("SIGKILL");

    await using second = await startGovernd(dataDir);
    const before = [
      ["summary", 1],
      ["plan", 1],
    ];
    expect(await followed(second, note)).toEqual(before);
    await write(second, "order");
    expect(await followed(second, note)).toEqual([...before, ["order", 1]]);
  },
  PROCESS_TEST_MS,
);
