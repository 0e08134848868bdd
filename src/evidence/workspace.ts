import { LogVerifier, type VerificationReport } from "../log/verify.ts";
import { scanLog } from "../state/events.ts";
import type { Reader } from "../store/transaction.ts";
export async function verifyWorkspace(
  reader: Reader,
  _scope: { scope: "workspace" } | { agentId: string },
): Promise<VerificationReport> {
  const v = new LogVerifier({ scope: "workspace", start: "beginning", contents: false });
  for (let from = 0; ; ) {
    const page = await scanLog(reader, { fromSeq: from, beforeSeq: 2 ** 50, limit: 2000 });
    if (!page.length) break;
    v.add(page);
    from += page.length;
  }
  return v.finish();
}
