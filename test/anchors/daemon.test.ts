/** The daemon hands every seal to the program that its settings name, the last ones at its stop included. */
import { expect, test } from "bun:test";
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { parseSeal } from "../../src/log/seal.ts";
import { parseSealFile } from "../../src/seals/seal-file.ts";
import { TestDaemon } from "../support/daemon.ts";
import { temporaryDirectory } from "../temporary.ts";

test("every workspace's newest seal is anchored", async () => {
  using directory = temporaryDirectory();
  const program = directory.join("take-seal");
  writeFileSync(program, `#!/bin/sh\ncat > ${directory.path}/$GOVERND_WORKSPACE_ID\n`);
  chmodSync(program, 0o700);
  const daemon = await TestDaemon.start({ flags: { anchor_command: program, seal_interval: "1s" } });
  const workspace = await daemon.workspace();
  await workspace.client.write("a", "k", "v");
  const taken = directory.join(workspace.id);
  for (let i = 0; i < 100 && !existsSync(taken); i++) await Bun.sleep(50);
  await workspace.client.write("a", "k", "last");
  const file = `${daemon.dataDir}/seals/${workspace.id}.log`;
  await daemon.restart();
  const filed = parseSealFile(readFileSync(file, "utf8")).at(-1)?.seal.size;
  expect(parseSeal(readFileSync(taken, "utf8")).size).toBe(filed as number);
  await daemon[Symbol.asyncDispose]();
}, 20000);
