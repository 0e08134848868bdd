/** `governd sink`: makes, lists, changes, tests and removes the receivers of a workspace's events. */
import { type Command, Option } from "commander";
import { EXIT } from "../../failure.ts";
import { SINK_FORMATS, SINK_TYPES } from "../../sink.ts";
import { addCommonOptions, collect, type Session } from "../session.ts";
import { changedSink, newSink, removedSink, rotatedSink, type SinkOptions, shownSinks, testedSink } from "../sinks.ts";
import { table } from "../terminal.ts";

const SWITCH = ["on", "off"] as const;
/** The settings that an update can remove. */
const REMOVABLE = ["filter", "ca", "client-certificate", "token"] as const;

export function addSinkCommands(program: Command, session: Session): void {
  const sink = program.command("sink").description("deliver a workspace's events to a SIEM");
  const list = sink
    .command("list")
    .description("list sinks, oldest first, and how far each has come")
    .option("--workspace <id>", "only those of this workspace")
    .action((options: { workspace?: string }) => listSinks(session, options));
  const show = sink
    .command("show")
    .description("show a sink, without its secrets")
    .argument("<sink-id>", "its id (snk_…)")
    .action((id: string, options: object) => showSink(session, id, options));
  const create = sink
    .command("create")
    .description("create a sink; what checks the signatures of a webhook is shown only once")
    .requiredOption("--workspace <id>", "the workspace whose events are delivered")
    .addOption(new Option("--type <type>", "the kind of receiver").choices(SINK_TYPES).makeOptionMandatory())
    .requiredOption("--url <url>", "where it is: https://…, tls://host:port, or a path in sink_directory")
    .option("--start <where>", "where it begins: now, beginning, or the seq of an event (default: now)")
    .action((options: SinkOptions) => createSink(session, options));
  const update = sink
    .command("update")
    .description("change a sink; what is not named stays as it is")
    .argument("<sink-id>", "its id (snk_…)")
    .option("--url <url>", "where it is")
    .addOption(
      new Option("--without <what>", "take this away; may be given several times")
        .choices(REMOVABLE)
        .argParser((value: string, before?: string[]) => collect(value, before)),
    )
    .action((id: string, options: SinkOptions) => updateSink(session, id, options));
  for (const command of [create, update]) addSettings(command);
  const remove = sink
    .command("delete")
    .description("remove a sink; nothing more is delivered")
    .argument("<sink-id>", "its id (snk_…)")
    .action((id: string, options: object) => removeSink(session, id, options));
  const test = sink
    .command("test")
    .description("send one record, and say whether the receiver took it; exit code 1 when it did not")
    .argument("<sink-id>", "its id (snk_…)")
    .action((id: string, options: object) => testSink(session, id, options));
  const rotate = sink
    .command("rotate")
    .description("give a webhook new signing keys; the old ones sign, too, for 24 hours")
    .argument("<sink-id>", "its id (snk_…)")
    .action((id: string, options: object) => rotateSink(session, id, options));
  for (const command of [list, show]) addCommonOptions(command, ["data_dir", "encryption_key_file"]);
  for (const command of [create, update, remove, test, rotate]) {
    addCommonOptions(command, ["data_dir", "encryption_key_file", "seal_key", "sink_allow", "sink_directory"]);
  }
}

/** Adds the options of an update. */
const addSettings = (command: Command): Command =>
  command
    .addOption(new Option("--format <format>", "the form of events (default: governd)").choices(SINK_FORMATS))
    .option("--operation <name>", "only events of this operation; may be given several times", collect)
    .option("--result <result>", "only events with this result; may be given several times", collect)
    .option("--agent <id>", "only events of this agent; may be given several times", collect)
    .option("--session <name>", "only events of this session; may be given several times", collect)
    .addOption(new Option("--details <choice>", "whether details are sent (default: off)").choices(SWITCH))
    .addOption(new Option("--enabled <choice>", "whether events are delivered (default: on)").choices(SWITCH))
    .option("--ca-file <path>", "authorities that vouch for the receiver, PEM")
    .option("--client-certificate-file <path>", "what the receiver is shown, PEM")
    .option("--client-key-file <path>", "the key of that certificate, PEM")
    .option("--token-file <path>", "file with the token of Splunk HEC or a collector");

type Shown = Awaited<ReturnType<typeof shownSinks>>[number];

async function listSinks(session: Session, options: { workspace?: string }): Promise<void> {
  const data = await shownSinks(options, { workspaceId: options.workspace });
  const rows = data.map((sink) => [
    sink.id,
    sink.state,
    sink.type,
    sink.lag === null ? "unknown" : `${sink.lag}`,
    sink.last_delivery_at ?? "never",
    sink.workspace_id,
    sink.last_error?.message ?? "",
  ]);
  const heading = ["ID", "STATE", "TYPE", "BEHIND", "LAST DELIVERY", "WORKSPACE", "LAST ERROR"];
  await session.print({ data }, table(heading, rows, "There are no sinks."));
}

async function showSink(session: Session, id: string, options: object): Promise<void> {
  const [sink] = await shownSinks(options, { id });
  if (sink !== undefined) await session.print(sink, linesOf(sink));
}

async function createSink(session: Session, options: SinkOptions): Promise<void> {
  const sink = await newSink(session, options);
  await session.print(sink, [...linesOf(sink), ...keyLines(sink)]);
}

async function updateSink(session: Session, id: string, options: SinkOptions): Promise<void> {
  const sink = await changedSink(session, id, options);
  await session.print(sink, sink.audit_id === null ? ["It is so already.", ...linesOf(sink)] : linesOf(sink));
}

async function rotateSink(session: Session, id: string, options: object): Promise<void> {
  const sink = await rotatedSink(session, id, options);
  await session.print(sink, [`Sink        ${sink.id}`, ...keyLines(sink), "The old keys sign, too, for 24 hours."]);
}

async function removeSink(session: Session, id: string, options: object): Promise<void> {
  const removed = await removedSink(session, id, options);
  const { position } = removed;
  const until = position === null ? "It had delivered nothing." : `The last event that is done with is ${position}.`;
  await session.print(removed, [`Sink ${id} is removed. ${until}`]);
}

async function testSink(session: Session, id: string, options: object): Promise<void> {
  const tested = await testedSink(session, id, options);
  if (!tested.delivered) session.exitCode = EXIT.no;
  await session.print(tested, [
    tested.delivered ? `Sink ${id} works: the receiver took a record.` : `Sink ${id} does not work: ${tested.message}.`,
  ]);
}

function linesOf(sink: Omit<Shown, "lag"> & { lag?: number | null }): string[] {
  const { filter } = sink;
  const only = Object.entries(filter).map(([what, words]) => `${what} ${(words as string[]).join(", ")}`);
  return [
    `Sink        ${sink.id}`,
    `Workspace   ${sink.workspace_id}`,
    `Receiver    ${sink.type} ${sink.url}`,
    `Events      ${only.length === 0 ? "all" : only.join("; ")}, as ${sink.format}${sink.include_details ? ", with details" : ""}`,
    `State       ${sink.state}`,
    `Position    ${sink.position ?? "none yet"}`,
    ...(sink.lag == null ? [] : [`Behind      ${sink.lag}`]),
    `Delivered   ${sink.last_delivery_at ?? "never"}`,
    ...(sink.last_error === null ? [] : [`Last error  ${sink.last_error.at} ${sink.last_error.message}`]),
  ];
}

const keyLines = ({ secret, public_key: publicKey }: { secret?: string; public_key?: string }): string[] =>
  secret === undefined
    ? []
    : [
        `Secret      ${secret}`,
        `Public key  ${publicKey}`,
        "",
        "The secret is shown only now. Give it to the receiver.",
      ];
