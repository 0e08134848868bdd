/** Compares two texts line by line, side by side, or one above the other in a narrow window. */
import { diffRows } from "./diff-rows.ts";

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
