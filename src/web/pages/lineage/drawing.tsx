/** A lineage as a drawing: each write is a box, and each step a line, the earlier to the left. The table has the same. */
import type { LineageItem } from "../../api/types.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";
import { counted } from "../../ui/numbers.ts";
import { BOX, type Box, layoutOf, MOST_DRAWN } from "./layout.ts";

/** The most characters of a key and of an agent that a box shows. */
const [KEY_LENGTH, AGENT_LENGTH] = [21, 27];

interface DrawingProps {
  start: { id: string; key: string | null; agentId: string };
  items: readonly LineageItem[];
  direction: "causes" | "effects";
}

export function Drawing({ start, items, direction }: DrawingProps) {
  const { boxes, steps, width, height } = layoutOf(start.id, items, direction);
  const label = `${counted(Math.min(items.length, MOST_DRAWN), "write")} ${direction === "effects" ? "after" : "before"} this one, each a link to its event`;
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="lineage-drawing" aria-label="Drawing" tabIndex={0}>
        {/* biome-ignore lint/a11y/useSemanticElements: there is no other element for a group of a drawing */}
        <svg
          viewBox={`-1 -1 ${width + 2} ${height + 2}`}
          width={width + 2}
          height={height + 2}
          role="group"
          aria-label={label}
        >
          {steps.map(({ id, path }) => (
            <path key={id} class="lineage-step" d={path} />
          ))}
          {boxes.map((box) =>
            box.item === null ? (
              <Written key={start.id} box={box} entryKey={start.key} agentId={start.agentId} isStart />
            ) : (
              <Linked key={box.item.audit_id} box={box} item={box.item} />
            ),
          )}
        </svg>
      </section>
      {items.length > MOST_DRAWN && (
        <p class="faint small">The drawing has the nearest {MOST_DRAWN} of them. The table has all that are loaded.</p>
      )}
    </>
  );
}

function Linked({ box, item }: { box: Box; item: LineageItem }) {
  const { id } = useAccess();
  const { audit_id, agent_id, key, depth } = item;
  // The name begins with what is to be seen, so that it can be spoken.
  const name = `${shown(key, KEY_LENGTH)} ${shown(agent_id, AGENT_LENGTH)}, ${counted(depth, "step")} away`;
  return (
    <a href={paths.event(id, audit_id)} aria-label={name}>
      <Written box={box} entryKey={key} agentId={agent_id} />
    </a>
  );
}

interface WrittenProps {
  box: Box;
  entryKey: string | null;
  agentId: string;
  isStart?: boolean;
}

function Written({ box: { x, y }, entryKey, agentId, isStart = false }: WrittenProps) {
  return (
    <g class={isStart ? "lineage-box lineage-start" : "lineage-box"} transform={`translate(${x} ${y})`}>
      <rect width={BOX.width} height={BOX.height} rx={5} />
      <text x={10} y={18}>
        {shown(entryKey, KEY_LENGTH)}{" "}
      </text>
      <text x={10} y={35} class="lineage-agent">
        {shown(agentId, AGENT_LENGTH)}
      </text>
    </g>
  );
}

/** Returns a text without its middle, when it is long. */
function shown(text: string | null, most: number): string {
  if (text === null) return "(erased)";
  const characters = [...text];
  if (characters.length <= most) return text;
  const end = Math.floor(most / 2);
  return `${characters.slice(0, most - end - 1).join("")}…${characters.slice(-end).join("")}`;
}
