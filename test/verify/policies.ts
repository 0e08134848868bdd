/** Trust policies that both programs refuse, and what policies are made of. */
import { formatVerifierKey, verifierKey } from "../../src/log/note.ts";
import { newWitnessKey } from "../log/cosigning.ts";

export const log = (byte: number, name = "governd.example/ws_1") =>
  formatVerifierKey(verifierKey(name, new Uint8Array(32).fill(byte)));
export const names = ["X1", "X2", "X3", "Y1", "Y2", "Y3"];
export const keys = new Map(names.map((name) => [name, newWitnessKey(`${name}.example`, "ed25519").key]));
export const vkey = (name: string): string => formatVerifierKey(keys.get(name) as never);
export const witness = (name: string): string => `witness ${name} ${vkey(name)}`;

const asWitness = formatVerifierKey(newWitnessKey("w.example", "ed25519").key);
/** What is wrong, the lines, and how the message begins. */
export const refused: [string, string[], string][] = [
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
