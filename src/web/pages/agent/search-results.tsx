/** The results of a search: the matching words, and the reason for each entry's rank. */
import type { SearchResult } from "../../api/types.ts";
import { useAsk } from "../../state/load.ts";
import { withQuery } from "../../state/router.ts";
import { Empty, Show } from "../../ui/parts.tsx";
import { excerpt, matched, stemsOf, wordsIn } from "../../ui/text/matched.ts";
import { SetAsideBadge } from "../quarantine/set-aside.tsx";

const SEARCH_LIMIT = 50;

/** Characters of a value that are shown. */
const EXCERPT = 200;

interface ResultsProps {
  agentId: string;
  prefix: string;
  words: string;
  /** The key that is open. */
  chosen: string | null;
}

type Result = SearchResult["data"][number];

export function Results({ agentId, words, prefix, chosen }: ResultsProps) {
  const found = useAsk<SearchResult>("/v1/data/search", {
    body: { agent_id: agentId, query: words, limit: SEARCH_LIMIT, ...(prefix !== "" && { prefix }) },
  });
  const stems = stemsOf(words);
  return (
    <Show of={found}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="Nothing found">
            <p>Try other words{prefix !== "" && ", or search all keys"}.</p>
          </Empty>
        ) : (
          <ul class="tree" aria-label="Found entries">
            {data.map((result) => (
              <li key={result.key}>
                <Found result={result} stems={stems} isChosen={result.key === chosen} />
              </li>
            ))}
          </ul>
        )
      }
    </Show>
  );
}

interface FoundProps {
  result: Result;
  stems: ReadonlySet<string>;
  isChosen: boolean;
}

function Found({ result, stems, isChosen }: FoundProps) {
  const { key, value, metadata, similarity, quarantined } = result;
  const has = wordsIn([value, key, JSON.stringify(metadata)], stems);
  return (
    <a href={withQuery({ key })} aria-current={isChosen ? "true" : undefined} class="result">
      <span class="tree-name">
        <Words text={key} stems={stems} /> {quarantined && <SetAsideBadge />}
      </span>
      <meter min={0} max={1} value={similarity} aria-label="Similarity" title={similarity.toFixed(3)} />
      <span class="small result-text">
        <Words text={excerpt(value, stems, EXCERPT)} stems={stems} />
      </span>
      <span class="faint small result-why">
        {has.length > 0 ? `Has ${has.join(", ")}` : "Has none of the words: close in meaning"} · {similarity.toFixed(2)}{" "}
        of 1
      </span>
    </a>
  );
}

function Words({ text, stems }: { text: string; stems: ReadonlySet<string> }) {
  return (
    <>
      {matched(text, stems).map(({ text: part, isMatch }, at) =>
        isMatch ? (
          <mark key={at} class="mark-word">
            {part}
          </mark>
        ) : (
          part
        ),
      )}
    </>
  );
}
