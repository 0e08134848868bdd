/** Who did something: the name, with the id on hover. */
import { actorName } from "../state/actors.ts";

export function Actor({ id }: { id: string }) {
  const kind = id.startsWith("key_") ? "API key " : "";
  return (
    <span class="nowrap" title={`${kind}${id}`}>
      {actorName(id)}
    </span>
  );
}
