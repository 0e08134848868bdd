/** A workspace in memory: returns a valid response to every operation, and records the requests. */
import type {
  Answer,
  Bytes,
  OperationRequest,
  Principal,
  Reply,
  WorkspaceClient,
} from "../../../src/core/writer/contract.ts";

/** Stands where an audit id is wanted. */
export const AUDIT_ID = "aud_01h455vb4pex5vsknk084sn02q";

/** Records requests and returns the given response to each, or a small body. */
export class MemoryWorkspace implements WorkspaceClient {
  readonly asked: OperationRequest[] = [];
  /** What the next operation answers; afterwards the usual again. */
  next: Answer<Bytes> | Error | null = null;
  /** The audit id of the replies. */
  auditId: string | null = AUDIT_ID;

  async perform({ isAbandoned: _, ...request }: OperationRequest): Promise<Reply<Bytes>> {
    this.asked.push(structuredClone(request));
    const { next } = this;
    this.next = null;
    if (next instanceof Error) throw next;
    const { auditId } = this;
    return { answer: next ?? { kind: "json", status: 200, body: '{"ok":true}' }, auditId };
  }

  /** The input of the newest operation. */
  get input(): unknown {
    return this.asked.at(-1)?.input;
  }
}

const WORKSPACE_ID = "ws_01h455vb4pex5vsknk084sn02q";

function principal(name: string, scope: Principal["scope"], agents: string[] | null = null): Principal {
  return { actor: `key_${name}`, workspaceId: WORKSPACE_ID, scope, agents };
}

/** API keys and whose they are. */
export const KEYS: Readonly<Record<string, Principal>> = {
  "full-key": principal("full", "full"),
  "agent-key": principal("agent", "agent"),
  "auditor-key": principal("auditor", "auditor"),
  "limited-key": principal("limited", "full", ["mine"]),
};

export { WORKSPACE_ID };
