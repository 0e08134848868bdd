/** The workspace's own events: what people and the command line did to members, keys and itself. */
import type { Room } from "../../state/session.ts";
import { Heading } from "../../ui/parts.tsx";
import { AuditList } from "../agent/audit.tsx";

export function TrailPage({ room }: { room: Room }) {
  return (
    <>
      <Heading title="Administration log" name="Administration log">
        Acts on members, invitations and API keys, in a chain of their own. What agents do is in each agent's
        audit tab.
      </Heading>
      <AuditList room={room} agentId={null} />
    </>
  );
}
