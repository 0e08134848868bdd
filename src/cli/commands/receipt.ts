/** `governd receipt`: the receipt of one event from an export, when the log does not hold the event any more. */
import { createReadStream } from "node:fs";
import { type Command, Option } from "commander";
import { asFailure, Failure } from "../../failure.ts";
import { receiptFromExport, type WantedEvent } from "../../verify/exported-receipt.ts";
import { type Session, wholeNumber } from "../session.ts";

interface ReceiptOptions {
  event?: string;
  seq?: number;
  format?: "tlog-proof";
}

const DESCRIPTION = `make the receipt of one event from an export

For events that were pruned: the log keeps their hashes, and the export their contents. The export must be sealed and
of the whole workspace (json or ndjson). The receipt is printed, and \`governd verify\` takes it like any other. It ends
with the seal of the export. Nothing else is needed, and nothing is changed.`;

export function addReceipt(program: Command, session: Session): void {
  program
    .command("receipt")
    .summary("make the receipt of an event from an export")
    .description(DESCRIPTION)
    .argument("<export>", "the export that holds the event")
    .option("--event <id>", "the event's id")
    .option("--seq <n>", "instead of the id: the event's number in the workspace", wholeNumber(0))
    .addOption(new Option("--format <format>", "the exact bytes that are hashed").choices(["tlog-proof"]))
    .option("--json", "print JSON")
    .action((path: string, options: ReceiptOptions) => makeReceipt(session, path, options));
}

async function makeReceipt(session: Session, path: string, { event, seq, format }: ReceiptOptions): Promise<void> {
  const wanted = wantedOf(event, seq);
  try {
    const receipt = await receiptFromExport(() => createReadStream(path), wanted, format === "tlog-proof");
    await session.terminal.out(session.json ? `${JSON.stringify({ receipt })}\n` : receipt);
  } catch (error) {
    throw asFailure(error, "evidence_unreadable", (reason) => `The export ${path} cannot be read: ${reason}.`);
  }
}

/** @throws {Failure} `usage` unless exactly one is given */
function wantedOf(id: string | undefined, seq: number | undefined): WantedEvent {
  if (id !== undefined && seq === undefined) return { id };
  if (seq !== undefined && id === undefined) return { seq };
  throw new Failure("usage", "Name the event with either --event or --seq.");
}
