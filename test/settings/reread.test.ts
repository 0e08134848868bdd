/** What settings that were read again change in a running daemon. */
import { expect, test } from "bun:test";
import { DEFINITIONS, type Settings } from "../../src/settings/definitions.ts";
import { reread } from "../../src/settings/reread.ts";
import { resolveSettings } from "../../src/settings/resolve.ts";

const resolution = resolveSettings({ flags: {}, environment: {}, file: null, world: { cwd: "/srv", cores: 2 } });
if (!resolution.ok) throw new Error(resolution.mistakes.join("\n"));
const { settings } = resolution;

test("settings that are equal change nothing, lists by what they hold", () => {
  const found = { ...settings, witnesses: [...settings.witnesses], listen: { ...settings.listen } };
  expect(reread(settings, found)).toEqual({ settings, changed: new Set(), waiting: [] });
});

test.each(DEFINITIONS.map(({ name, fixed }) => [name, fixed] as const))("%s", (name, fixed) => {
  const found = { ...settings, [name]: "another" } as Settings;
  const next = reread(settings, found);
  expect(next.settings).toEqual(fixed ? settings : found);
  expect([[...next.changed], next.waiting]).toEqual(fixed ? [[], [name]] : [[name], []]);
});
