/** Trust policies (C2SP tlog-policy): what they say, and which lines are refused. */
import { expect, test } from "bun:test";
import { formatVerifierKey, hexId } from "../../src/log/note.ts";
import { PolicyError, parsePolicy } from "../../src/verify/policy.ts";
import { lackOf } from "../../src/verify/quorum.ts";
import { newWitnessKey } from "../log/cosigning.ts";
import { keys, log, names, refused, vkey, witness } from "./policies.ts";

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

test.each(refused)("%s is refused, with the line", (_, lines, message) => {
  const parse = () => read(lines);
  expect(parse).toThrow(PolicyError);
  expect(parse).toThrow(message);
});
