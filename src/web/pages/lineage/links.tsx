/** The links from a write that was stored to what led to it and to what followed from it. */
import { eventFacts } from "../../../operations.ts";
import type { AuditEvent } from "../../api/types.ts";
import { paths } from "../../state/router.ts";
import { useAccess } from "../../state/session.ts";

export const DIRECTIONS = { causes: "What led here", effects: "What followed" } as const;

/** Reports whether an event is a write that was stored. */
export const isStored = ({ operation, result }: AuditEvent): boolean =>
  eventFacts(operation)?.effect === "put" && result === "allowed";

interface LinksProps {
  event: string;
  depth?: string;
  /** The one of the page that shows the links. */
  current?: keyof typeof DIRECTIONS;
}

export function LineageLinks({ event, depth, current }: LinksProps) {
  const { id } = useAccess();
  return (
    <span class="row lineage-links">
      {Object.entries(DIRECTIONS).map(([direction, words]) => (
        <a
          key={direction}
          href={paths.lineage(id, event, { direction, depth })}
          aria-current={direction === current ? "page" : undefined}
        >
          {words}
        </a>
      ))}
    </span>
  );
}
