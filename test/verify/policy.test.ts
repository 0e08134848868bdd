/** Trust policies (C2SP tlog-policy): what they say, and which lines are refused. */
import { expect, test } from "bun:test";
import { formatVerifierKey, hexId, verifierKey } from "../../src/log/note.ts";
import { PolicyError, parsePolicy } from "../../src/verify/policy.ts";
import { lackOf } from "../../src/verify/quorum.ts";
import { newWitnessKey } from "../log/cosigning.ts";

const log = (byte: number, name = "governd.example/ws_1") =>
  formatVerifierKey(verifierKey(name, new Uint8Array(32).fill(byte)));
const names = ["X1", "X2", "X3", "Y1", "Y2", "Y3"];
const keys = new Map(names.map((name) => [name, newWitnessKey(`${name}.example`, "ed25519").key]));
const vkey = (name: string): string => formatVerifierKey(keys.get(name) as never);
const witness = (name: string): string => `witness ${name} ${vkey(name)}`;

/** The example of the specification. */
const EXAMPLE = [
  `log ${log(1)}`,
  "",
  ...names.slice(0, 3).map(witness),
  "group X-witnesses 2 X1 X2 X3",
  "",
  ...names.slice(3).map(witness),
  "group Y-witnesses any Y1 Y2 Y3",
  "",
  "group X-and-Y all X-witnesses Y-witnesses",
  "quorum X-and-Y",
  "",
];

const read = (lines: readonly string[]) => parsePolicy(Buffer.from(lines.join("\n")));

/** Returns what a policy lacks when these witnesses have cosigned. */
function lacks(lines: readonly string[], ...cosigned: string[]): string | null {
  const { quorum } = read(lines);
  const report = cosigned.map((name) => {
    const { name: called, keyId } = keys.get(name) as { name: string; keyId: number };
    return { name: called, key_id: hexId(keyId), through: 1, time: "" };
  });
  return quorum === null ? null : lackOf(quorum, report);
}

test("the quorum of the example takes two of three and one of three", () => {
  for (const enough of [names, ["X1", "X2", "Y1"], ["X1", "X3", "Y2"]]) expect(lacks(EXAMPLE, ...enough)).toBeNull();
  for (const tooFew of [[], ["X1", "Y1", "Y2", "Y3"], ["X1", "X2", "X3"]])
    expect(lacks(EXAMPLE, ...tooFew)).not.toBeNull();
  const words = "1 of the 2 required members of the quorum X-and-Y have cosigned a seal of this log (X-witnesses)";
  expect(lacks(EXAMPLE, "X1", "X2")).toBe(words);
});

test("a quorum is a witness, a group that is not the last, or none", () => {
  const of = (quorum: string) => [...EXAMPLE.slice(0, -2), `quorum ${quorum}`];
  expect(lacks(of("Y3"), "Y3")).toBeNull();
  expect(lacks(of("Y3"), "Y1", "X1")).toContain("0 of the 1 required");
  expect(lacks(of("Y-witnesses"), "Y1")).toBeNull();
  expect(lacks(of("X-witnesses"), "Y1", "X1")).toContain("1 of the 2 required members of the quorum X-witnesses");
  expect(read(["quorum none"])).toEqual({ logs: [], witnesses: [], quorum: null });
});

test("addresses, comments, tabs, names in any octets and an end without a newline are read", () => {
  const policy = [
    ...[" \t# Kommentar über alles", "", `\tlog\t${log(1)} https://log.example/a `, `log ${log(2)}`],
    ...[`witness K ${vkey("X1")} https://w.example/`, `witness \u212a ${vkey("X2")}`, "group g 2 K \u212a", "quorum g"],
  ];
  const { logs, witnesses } = read(policy);
  expect([logs.length, witnesses.length]).toEqual([2, 2]);
  expect(lacks(policy, "X1", "X2")).toBeNull();
  expect(lacks(policy, "X1")).not.toBeNull();
  const octets = Buffer.from([`witness \xff ${vkey("X1")}`, "quorum \xff", ""].join("\n"), "latin1");
  expect(parsePolicy(octets).witnesses).toHaveLength(1);
  const pq = formatVerifierKey(newWitnessKey("w.example", "ml-dsa-44").key);
  expect(read([`witness w ${pq}`, "quorum w"]).witnesses).toHaveLength(1);
});

test("as many lines as anybody needs are read, and groups may be as deep", () => {
  const deep = Array.from({ length: 10_000 }, (_, at) => `group g${at} 1 ${at === 0 ? "X1" : `g${at - 1}`}`);
  expect(lacks([witness("X1"), ...deep, "quorum g9999"], "X1")).toBeNull();
});

const asWitness = formatVerifierKey(newWitnessKey("w.example", "ed25519").key);
const refused: [string, string[], string][] = [
  ["another word", ["quorum none", "witnesses X1"], "line 2: a line begins with log, witness, group, quorum or #"],
  ["no quorum", [witness("X1"), ""], "line 2: the policy ends here and has no quorum"],
  ["an empty policy", [], "line 1: the policy ends here and has no quorum"],
  ["two quorums", ["quorum none", "quorum none"], "line 2: a policy has one quorum"],
  ["a quorum that is not defined yet", ["quorum X1", witness("X1")], 'line 1: no earlier line defines "X1"'],
  ["a quorum of two", [witness("X1"), witness("X2"), "quorum X1 X2"], "line 3: the form is: quorum <name>"],
  ["a log without a key", ["log", "quorum none"], "line 1: the form is: log"],
  ["a log with a word too much", [`log ${log(1)} https://a.example b`], "line 1: the form is: log"],
  ["a log twice", [`log ${log(1)}`, `log ${log(1, "other/ws_2")}`], "line 2: an earlier line has the same key"],
  ["a witness's key of a log", [`log ${asWitness}`], "line 1: the verifier key has type 4"],
  ["a log's key of a witness", [`witness X1 ${log(1)}`], "line 1: the verifier key has type 1"],
  ["a key that is none", ["witness X1 abc"], "line 1: a verifier key has the form name+hash+key"],
  [
    "a key with another hash",
    [witness("X1").replace(/\+[0-9a-f]{8}\+/, "+00000000+")],
    "line 1: the verifier key's hash",
  ],
  ["a witness twice", [witness("X1"), `witness X2 ${vkey("X1")}`], "line 2: an earlier line has the same key"],
  ["a name twice", [witness("X1"), `witness X1 ${vkey("X2")}`], 'line 2: an earlier line defines "X1"'],
  ["a group with a witness's name", [witness("X1"), "group X1 any X1"], 'line 2: an earlier line defines "X1"'],
  ["a witness called none", [`witness none ${vkey("X1")}`], 'line 1: "none" is no name'],
  ["a group of none", ["group g any none"], 'line 1: no earlier line defines "none"'],
  ["a group of itself", ["group g any g"], 'line 1: no earlier line defines "g"'],
  ["a group without members", [witness("X1"), "group g any"], "line 2: the form is: group"],
  ["a member twice", [witness("X1"), "group g all X1 X1"], 'line 2: "X1" is listed already'],
  ["a member of two groups", [witness("X1"), "group g any X1", "group h any X1"], 'line 3: "X1" is listed already'],
  ...["0", "2", "01", "-1", "1.0", "most", "99999999999999999999"].map((k): [string, string[], string] => [
    `the threshold ${k}`,
    [witness("X1"), `group g ${k} X1`],
    "line 2: the threshold is all, any, or a number from 1 to 1",
  ]),
  ["lines of Windows", ["quorum none\r"], "line 1: it ends with a carriage return"],
  ["a control character", ["# \u0001", "quorum none"], "line 1: it has a control character"],
  ["a vertical tab as white space", ["quorum\vnone"], "line 1: it has a control character"],
  ["a no-break space as white space", ["quorum\u00a0none"], "line 1: a line begins with"],
];

test.each(refused)("%s is refused, with the line", (_, lines, message) => {
  const parse = () => read(lines);
  expect(parse).toThrow(PolicyError);
  expect(parse).toThrow(message);
});
