/** Compares two texts line by line and word by word, side by side, or one above the other in a narrow window. */
import { useMemo } from "preact/hooks";
import { count } from "../numbers.ts";
import { comparedPart, MOST_CHARACTERS, MOST_LINES } from "./compared-part.ts";
import { diffRows, type Part } from "./rows.ts";

interface DiffProps {
  before: string;
  after: string;
  beforeName: string;
  afterName: string;
}

export function Diff({ before, after, beforeName, afterName }: DiffProps) {
  const { fromLine, rows } = useMemo(() => {
    const part = comparedPart(before, after);
    return { fromLine: part.fromLine, rows: diffRows(`${part.before}\n`, `${part.after}\n`) };
  }, [before, after]);
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
          {rows.map(({ before: old, after: next, same, words }, at) => (
            <tr key={at} class={same ? undefined : "diff-changed"}>
              <td class={same || old === null ? undefined : "diff-removed"}>
                <Line text={old} words={words?.before ?? null} mark={same ? null : "removed"} />
              </td>
              <td class={same || next === null ? undefined : "diff-added"}>
                <Line text={next} words={words?.after ?? null} mark={same ? null : "added"} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {fromLine !== null && (
        <p class="diff-note faint small">
          These texts are too long to compare as a whole. Up to {count(MOST_CHARACTERS)} characters and{" "}
          {count(MOST_LINES)} lines of each are shown, from line {count(fromLine)}
          {before !== after && ", in which they begin to differ"}.
        </p>
      )}
    </section>
  );
}

interface LineProps {
  text: string | null;
  words: readonly Part[] | null;
  mark: "removed" | "added" | null;
}

function Line({ text, words, mark }: LineProps) {
  if (text === null) return null;
  return (
    <pre>
      {mark !== null && <span class="sr-only">{mark}: </span>}
      {text === "" && " "}
      {words === null
        ? text
        : words.map((part, at) =>
            part.changed ? <mark key={at}>{part.text}</mark> : <span key={at}>{part.text}</span>,
          )}
    </pre>
  );
}
