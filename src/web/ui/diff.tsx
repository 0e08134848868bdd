/** Two texts side by side, line by line; under each other where there is no room. */
import { diffLines } from "diff";

interface Row {
  before: string | null;
  after: string | null;
  same: boolean;
}

/** Lines of both sides next to each other: what was replaced stands beside what replaces it. */
export function diffRows(before: string, after: string): Row[] {
  const rows: Row[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++) {
      rows.push({ before: removed[at] ?? null, after: added[at] ?? null, same: false });
    }
    removed = [];
    added = [];
  };
  for (const part of diffLines(before, after)) {
    const lines = part.value.replace(/\n$/, "").split("\n");
    if (part.removed) removed.push(...lines);
    else if (part.added) added.push(...lines);
    else {
      flush();
      rows.push(...lines.map((line) => ({ before: line, after: line, same: true })));
    }
  }
  flush();
  return rows;
}

interface DiffProps {
  before: string;
  after: string;
  beforeName: string;
  afterName: string;
}

export function Diff({ before, after, beforeName, afterName }: DiffProps) {
  const rows = diffRows(`${before}\n`, `${after}\n`);
  return (
    <section class="diff-frame" aria-label={`${beforeName} and ${afterName} side by side`}>
      <table class="diff">
        <thead>
          <tr>
            <th scope="col">{beforeName}</th>
            <th scope="col">{afterName}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at} class={row.same ? undefined : "diff-changed"}>
              <td class={row.same || row.before === null ? undefined : "diff-removed"}>
                <Line text={row.before} mark={row.same ? null : "removed"} />
              </td>
              <td class={row.same || row.after === null ? undefined : "diff-added"}>
                <Line text={row.after} mark={row.same ? null : "added"} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Line({ text, mark }: { text: string | null; mark: "removed" | "added" | null }) {
  if (text === null) return null;
  return (
    <pre>
      {mark !== null && <span class="sr-only">{mark}: </span>}
      {text === "" ? " " : text}
    </pre>
  );
}
