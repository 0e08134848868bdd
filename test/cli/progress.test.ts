/** What commands say of their progress on a terminal and without one. */
import { expect, test } from "bun:test";
import { Progress } from "../../src/cli/progress.ts";

/** Returns what is printed during work that takes about `ms`. */
async function shownDuring(ms: number, interactive: boolean, shown: { bar: boolean; linesEveryMs?: number }) {
  let text = "";
  const err = async (more: string) => {
    text += more;
  };
  const progress = new Progress({ out: err, err, interactive }, shown);
  const endMs = performance.now() + ms;
  for (let done = 0; performance.now() < endMs; done += 1_000) await progress.step(done, 10_000_000, "entries");
  await progress.clear();
  return text;
}

test("a bar on a terminal, which is removed", async () => {
  const text = await shownDuring(250, true, { bar: true, linesEveryMs: 1 });
  expect(text).toMatch(/\[[#.]{30}\] +\d+ % {2}[\d,]+ entries/);
  expect(text).toEndWith("\r\u001b[K");
  expect(text).not.toContain("\n");
});

test("lines without a terminal, for commands that have them", async () => {
  expect(await shownDuring(450, false, { bar: true, linesEveryMs: 150 })).toMatch(
    /^([\d,]+ of 10,000,000 entries\n){1,3}$/,
  );
  expect(await shownDuring(150, false, { bar: true })).toBe("");
  expect(await shownDuring(150, true, { bar: false })).toBe("");
});
