/** Vectors in the background: what is missing is made when the model is back, and no workspace waits for another. */
import { expect, test } from "bun:test";
import { EmbeddingUpkeep } from "../../src/follow/embedding-upkeep.ts";
import { RandomPool } from "../../src/ids.ts";
import { EmbeddingError } from "../../src/search/vectors/embedder.ts";
import { systemTimer } from "../../src/timer.ts";
import { eventually } from "../eventually.ts";
import { OpenWorkspace } from "../support/open-workspace.ts";
import { temporaryDirectory } from "../temporary.ts";

async function written(directory: string): Promise<OpenWorkspace> {
  const workspace = await OpenWorkspace.make(directory);
  const job = (key: string) => workspace.job("data.write", { agentId: "a", key, value: "v", metadata: {} });
  await workspace.writer.perform([job("k1"), job("k2")]);
  return workspace;
}

/** The number of vectors that are stored; 0 before the tables are made. */
const vectorsIn = ({ connection }: OpenWorkspace): number =>
  connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'search_vectors'") === undefined
    ? 0
    : (connection.value<number>("SELECT count(*) FROM search_vectors") ?? 0);

test("a model that is away is one line in the log, and a workspace that cannot be used holds up no other", async () => {
  using directory = temporaryDirectory();
  using good = await written(directory.path);
  using bad = await written(directory.path);
  const told: string[] = [];
  let away = true;
  let unusable = true;
  let asked = 0;
  const embed = async (texts: readonly string[]) => {
    asked++;
    if (away) throw new EmbeddingError("away", true);
    return texts.map(() => Float32Array.of(1, 0));
  };
  const upkeep = new EmbeddingUpkeep({
    embedder: async () => ({ model: "m", embed }),
    run: (workspaceId, work) => {
      const one = workspaceId === "good" ? good : bad;
      if (one === bad && unusable) throw new Error("unusable");
      return one.writer.derive(work);
    },
    around: { timer: (_, work) => systemTimer(1, work), random: new RandomPool() },
    onFailure: (workspaceId, error) => void told.push(`${workspaceId}: ${error}`),
    onRecovery: (failures) => void told.push(`recovered after ${failures > 3}`),
  });
  upkeep.note("good");
  await eventually("the model is asked again", () => asked > 3);
  expect([told, vectorsIn(good)]).toEqual([["good: EmbeddingError: away"], 0]);
  away = false;
  await eventually("vectors are made", () => vectorsIn(good) === 2);
  expect(told[1]).toBe("recovered after true");
  upkeep.note("bad");
  await eventually("it is told", () => told.length === 3);
  expect(told[2]).toBe("bad: Error: unusable");
  await good.writer.perform([good.job("data.write", { agentId: "a", key: "k3", value: "v", metadata: {} })]);
  upkeep.note("good");
  await eventually("the other one goes on", () => vectorsIn(good) === 3);
  // It is noted again when it is opened.
  unusable = false;
  upkeep.note("bad");
  await eventually("it is made up for", () => vectorsIn(bad) === 2);
  upkeep.stop();
});
