/** A data directory of a workspace with many agents, as after weeks of work: what the dashboard is tried on. */

import { ensureDataDirectory } from "../../../src/core/datadir/open.ts";
import { sealKeySource } from "../../../src/core/datadir/seal-key.ts";
import type { Job } from "../../../src/core/writer/job.ts";
import type { WorkspaceWriter } from "../../../src/core/writer/perform.ts";
import { type Clock, IdSource, RandomPool } from "../../../src/ids.ts";
import type { OperationInputs, OperationName } from "../../../src/operations.ts";
import { Installation } from "../../../src/ops/directory/installation.ts";
import { fileJournal, withWriter } from "../../../src/ops/directory/journal.ts";
import { jobOf } from "../../../src/serve/threads/registry.ts";
import { Seeded } from "../../seeded.ts";
import { Administration } from "../../support/administration.ts";

export interface FleetSize {
  agents: number;
  /** Of all agents together. */
  entries: number;
  events: number;
  /** How long all of it took, ms. It ends now. */
  spanMs: number;
}

export const WHOLE_FLEET: FleetSize = { agents: 100, entries: 50_000, events: 1_000_000, spanMs: 30 * 86_400_000 };

export interface Fleet {
  workspaceId: string;
  apiKey: string;
}

/** Operations in one transaction, which have one time. */
const GROUP = 500;
/** Events between two seals. */
const SEAL_EVERY = 50_000;

const TEAMS = ["billing", "support", "research", "claims", "sales", "legal", "logistics", "hr", "security", "reports"];
const TOPICS = ["customers", "orders", "notes", "tickets", "sources"];
const KEY_LABELS = ["production", "staging", "night jobs", "partner", "evaluation"];
const SENTENCES = [
  "The customer prefers a morning delivery and pays by invoice within thirty days.",
  "The quarterly report is due on Friday, and the figures of the east come last.",
  "Refunds above five hundred go to the finance team, with the ticket and the reason.",
  "The parcel was sent by road and arrived on time, said the driver who called.",
  "Chapter three of the annual report names the risks in the order of their weight.",
  "The claim was opened after the storm; two photographs and an estimate are missing.",
];
const REFUSED = [
  "Her card is 4111 1111 1111 1111, valid until next May.",
  "Pay to DE89 3704 0044 0532 0130 00 before the end of the month.",
  "api_key=sk_live_4eC39HqLyjWDarjtT1zdp7dc",
  "The deploy token is ghp_0123456789abcdefghijABCDEFGHIJ012345.",
];
const REDACTED = ["Write to jane@example.com first.", "The answer came from joe.miller@example.net."];

const WORKSPACE_POLICIES = {
  screening: {
    pii: { mode: "audit", detectors: { email: "redact", iban: "block", payment_card: "block" } },
    secrets: { mode: "block" },
  },
};

type Request = { [N in OperationName]: readonly [name: N, input: OperationInputs[N]] }[OperationName];

/** Makes the directory. The same size gives the same operations; ids, keys and hashes differ. */
export async function makeFleet(root: string, size: FleetSize): Promise<Fleet> {
  const directory = ensureDataDirectory(root);
  const time = { ms: Date.now() - size.spanMs };
  const clock: Clock = () => time.ms;
  const random = new RandomPool();
  const ids = new IdSource(clock, random);
  using installation = await Installation.open(directory);
  const parts = { installation, journal: fileJournal(directory), clock, ids, random };
  const administration = new Administration(parts, directory);
  const { workspace, apiKey } = await administration.createWorkspace("Fleet");
  const actors: string[] = [];
  for (const label of KEY_LABELS) {
    const wish = { workspaceId: workspace.id, label, scope: "full", agents: null, expiresInMs: null } as const;
    actors.push((await administration.createKey(wish)).record.id);
  }
  await withWriter(
    directory,
    sealKeySource(directory, null),
    workspace.id,
    (writer) => live(writer, size, actors, time),
    { clock, random },
  );
  return { workspaceId: workspace.id, apiKey };
}

/** Performs the operations, with the clock moving from the start of the span to now. */
async function live(
  writer: WorkspaceWriter,
  size: FleetSize,
  actors: readonly string[],
  time: { ms: number },
): Promise<void> {
  const startMs = time.ms;
  const requests = requestsOf(size);
  let sealed = writer.headSeq;
  let number = 0;
  while (writer.headSeq < size.events - 1) {
    time.ms = startMs + Math.floor((writer.headSeq / size.events) * size.spanMs);
    const jobs: Job[] = [];
    for (const most = Math.min(GROUP, size.events - 1 - writer.headSeq); jobs.length < most; number++) {
      const [name, input] = requests.next().value;
      const actor = actors[number % actors.length] as string;
      const principal = { actor, workspaceId: writer.workspaceId, scope: "full", agents: null } as const;
      jobs.push(jobOf({ name, input, principal }) as Job);
    }
    const replies = await writer.perform(jobs);
    const failed = replies.find(({ auditId }) => auditId === undefined);
    if (failed !== undefined) throw new Error(`the fleet was not made: ${JSON.stringify(failed.answer)}`);
    if (writer.headSeq - sealed >= SEAL_EVERY) {
      await writer.seal();
      sealed = writer.headSeq;
    }
  }
  await writer.seal();
}

/** What agents do, without an end: their configurations, their entries once, and then what a day brings. */
function* requestsOf({ agents, entries }: FleetSize): Generator<Request, never> {
  const random = new Seeded(19);
  const names = Array.from({ length: agents }, (_, at) => {
    const number = String(Math.floor(at / TEAMS.length) + 1).padStart(2, "0");
    return `${TEAMS[at % TEAMS.length]}-bot-${number}`;
  });
  const each = Math.ceil(entries / agents);
  const keyOf = (at: number) => `${TOPICS[at % TOPICS.length]}/${at % 7}/${String(at).padStart(5, "0")}`;
  const write = (agentId: string, key: string, value: string): Request => [
    "data.write",
    { agentId, key, value, metadata: { source: "chat" } },
  ];
  const text = () => `${random.pick(SENTENCES)} ${random.pick(SENTENCES)}`;
  yield ["policies.update", { workspacePolicies: { policies: WORKSPACE_POLICIES } }];
  for (const [at, agentId] of names.entries()) {
    const instructions = `You work for ${TEAMS[at % TEAMS.length]}.\nAnswer politely and briefly.\nNever promise a refund.`;
    const policies = at % 3 === 0 ? { block_pii: true, block_secrets: true } : { block_secrets: true };
    yield ["config.update", { agentId, config: { model: "large-2", instructions, policies } }];
  }
  for (let at = 0; at < each; at++) for (const agentId of names) yield write(agentId, keyOf(at), text());
  for (const agentId of names) yield ["checkpoint.create", { agentId, label: "first state", metadata: {} }];
  for (const agentId of names.slice(-2)) yield ["agent.suspend", { agentId, reason: "It is looked into." }];
  for (let number = 0; ; number++) {
    // A few agents do most of the work.
    const agentId = names[random.below(1 + random.below(agents))] as string;
    const key = keyOf(random.below(each));
    const lot = random.below(10_000);
    if (lot < 5_500) yield ["data.read", { agentId, key }];
    else if (lot < 9_700) yield write(agentId, key, text());
    else if (lot < 9_800) yield write(agentId, key, random.pick(REDACTED));
    else if (lot < 9_900) yield write(agentId, key, random.pick(REFUSED));
    else if (lot < 9_999) yield ["data.read", { agentId, key: `${key}/gone` }];
    else yield ["checkpoint.create", { agentId, label: `state ${number}`, metadata: {} }];
  }
}
