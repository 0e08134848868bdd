/** The contents of versions of an entry, and how two of them differ. */
import type { WorkspaceApi } from "../../../api/client.ts";
import type { EntryVersionItem, JsonObject } from "../../../api/types.ts";
import { Diff } from "../../../ui/diff/diff.tsx";
import { readableJson } from "../../../ui/json-text.ts";

/** What a version holds. */
interface Content {
  value: string;
  metadata: JsonObject;
}

export type Version = Content & Pick<EntryVersionItem, "version" | "written_at">;

/** The largest page of the API. */
const MOST = 1_000;

interface Reading {
  /** In how many of the newest versions the wanted ones are, so that no others are read; null when it is not known. */
  depth: number | null;
  signal: AbortSignal;
}

/** Reads versions of an entry with their contents. Undefined stands for one that is no longer kept. */
export async function contentsOf(
  api: WorkspaceApi,
  entry: { agent_id: string; key: string },
  wanted: readonly string[],
  { depth, signal }: Reading,
): Promise<(Version | undefined)[]> {
  const found = new Map<string, Version>();
  const query = { ...entry, include_values: true, limit: Math.min(depth ?? MOST, MOST) };
  for await (const { data } of api.pages<EntryVersionItem>("/v1/data/versions", query, signal)) {
    for (const { version, written_at, value = "", metadata = {} } of data) {
      if (wanted.includes(version)) found.set(version, { version, written_at, value, metadata });
    }
    if (wanted.every((version) => found.has(version))) break;
  }
  return wanted.map((version) => found.get(version));
}

interface ContentDiffProps {
  before: Content;
  after: Content;
  beforeName: string;
  afterName: string;
}

export function ContentDiff({ before, after, beforeName, afterName }: ContentDiffProps) {
  const [old, next] = [before, after].map(({ metadata }) => readableJson(metadata)) as [string, string];
  return (
    <div class="stack">
      {before.value === after.value ? (
        <p class="faint">The value is the same.</p>
      ) : (
        <Diff before={before.value} after={after.value} {...{ beforeName, afterName }} />
      )}
      {old === next ? (
        <p class="faint">The metadata is the same.</p>
      ) : (
        <Diff before={old} after={next} beforeName={`Metadata: ${beforeName}`} afterName={`Metadata: ${afterName}`} />
      )}
    </div>
  );
}
