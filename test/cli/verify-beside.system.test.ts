/** Evidence that is verified while another process writes and seals it. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import { FilledDirectory } from "../backup/data-directory.ts";
import { exampleDetails } from "../support/event-examples.ts";
import { PROCESS_TEST_MS } from "../temporary.ts";
import { governd } from "./governd.ts";

setDefaultTimeout(2 * PROCESS_TEST_MS);

const ROUNDS = 12;
const SOURCE = join(import.meta.dir, "../../src");

test("a seal that comes while the log is read does not count against it", async () => {
  using from = await FilledDirectory.make(1);
  const [id] = from.ids as [string];
  const script = `
    import { withWriter } from ${JSON.stringify(join(SOURCE, "ops/directory/journal.ts"))};
    import { answered } from ${JSON.stringify(join(SOURCE, "core/writer/operation.ts"))};
    import { dataDirectory } from ${JSON.stringify(join(SOURCE, "core/datadir/layout.ts"))};
    import { sealKeySource } from ${JSON.stringify(join(SOURCE, "core/datadir/seal-key.ts"))};
    const directory = dataDirectory(${JSON.stringify(from.data.root)});
    const principal = { actor: "usr_01h455vb4pex5vsknk084sn02q", workspaceId: ${JSON.stringify(id)}, scope: "full", agents: null };
    const details = ${JSON.stringify(exampleDetails("agent.list"))};
    const reading = { operation: "agent.list", principal, run: async () => answered(null, details, "{}") };
    await withWriter(directory, sealKeySource(directory, null), ${JSON.stringify(id)}, async (writer) => {
      console.log("writing");
      for (;;) {
        await writer.perform([reading]);
        await writer.seal();
        await Bun.sleep(1);
      }
    });`;
  const writer = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  try {
    await writer.stdout.getReader().read();
    for (let round = 0; round < ROUNDS; round++) {
      const { code, out } = await governd(["verify", from.data.root]);
      expect([code, out]).toEqual([0, expect.stringContaining("intact")]);
    }
  } finally {
    writer.kill("SIGKILL");
    await writer.exited;
  }
});
