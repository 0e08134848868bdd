/** The ids of events by position: those of the file, however many positions share a place in memory. */

import { expect, test } from "bun:test";
import { Versions } from "../../src/core/rows/log/events.ts";
import { parseEvent } from "../../src/log/event.ts";
import { storedEvents } from "../support/event-rows.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

/** More than are remembered, so that some share a place. */
const EVENTS = 5_000;
const NO_EVENT = 1_000_000;

async function filled(directory: string): Promise<OpenWorkspace> {
  const workspace = await OpenWorkspace.make(directory);
  const read = workspace.job("data.read", { agentId: "a", key: "k" });
  await workspace.writer.perform(new Array(EVENTS).fill(read));
  return workspace;
}

test("rows come with the ids of their events, known or not, in the order of the rows", async () => {
  using directory = temporaryDirectory();
  using workspace = await filled(directory.path);
  const { connection } = workspace;
  const versions = new Versions(connection);
  const ids = storedEvents(connection).map(({ canonical }) => parseEvent(canonical).id);
  const pages = [[3, 4, 5], [5, 4, 3], [2_051, 3, 4_099, 5], [3], [], Array.from(ids, (_, seq) => seq), [4, 2_052, 4]];
  for (const page of pages) {
    const found = await versions.withVersions(() => page.map((seq) => ["row", seq] as const));
    expect(found).toEqual(page.map((seq) => [["row", seq], ids[seq] as string] as const));
    for (const seq of page.slice(0, 4)) expect(await versions.of(seq)).toBe(ids[seq] as string);
  }
});

test("an event that is gone is looked for once more with what is there then, and is damage after that", async () => {
  using directory = temporaryDirectory();
  using workspace = await OpenWorkspace.make(directory.path);
  const versions = new Versions(workspace.connection);
  const reads = [[[NO_EVENT]], [[0]]] as [number][][];
  const [found] = await versions.withVersions(() => reads.shift() ?? []);
  expect(found).toEqual([[0], await versions.of(0)]);
  expect(versions.withVersions(() => [[NO_EVENT] as const])).rejects.toThrow("an event that is not there");
});
