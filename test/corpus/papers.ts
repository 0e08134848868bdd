/** Tamperings of texts that an auditor takes: each member of an export and a receipt, each line of a seal. */
import { orNull } from "../../src/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";
import { sha256Hex } from "../../src/log/hash.ts";
import { canonicalJson } from "../../src/log/jcs.ts";
import { JsonTextError, parseStrictJson } from "../../src/log/json-scan.ts";
import { digestOfProof } from "../../src/log/state/format.ts";

/** A text with one edit, which may leave it unchanged. `text` makes it. */
export interface Edited {
  kind: string;
  to: string;
  text: () => string;
}

type Path = readonly (string | number)[];

/** A member with the same name as the one before it: JSON text can have two, an object cannot. */
const TWICE = "twice:";

const written = (value: JsonValue): string => JSON.stringify(value).replaceAll(`"${TWICE}`, '"');

/** Returns every path below a value, without the value's own. Of a long list, it takes both ends and the middle. */
function pathsOf(value: JsonValue, path: Path = []): Path[] {
  if (value === null || typeof value !== "object") return [];
  const names = Array.isArray(value) ? endsAndMiddle(value.length) : Object.keys(value);
  return names.flatMap((name) => {
    const own = [...path, name];
    return [own, ...pathsOf((value as JsonObject)[name] as JsonValue, own)];
  });
}

const endsAndMiddle = (length: number): number[] => [
  ...new Set([0, Math.floor(length / 2), length - 1].filter((at) => at >= 0 && at < length)),
];

const at = (value: JsonValue | undefined, path: Path): JsonValue | undefined =>
  path.reduce<JsonValue | undefined>((found, name) => (found as JsonObject | undefined)?.[name], value);

/** Returns a copy in which the parent of a path is changed. */
function edited(value: JsonValue, path: Path, change: (parent: JsonObject & JsonValue[], name: never) => void) {
  const copy = structuredClone(value);
  change(at(copy, path.slice(0, -1)) as never, path.at(-1) as never);
  return copy;
}

function otherValue(value: JsonValue): JsonValue {
  if (typeof value === "number") return value + 1;
  if (typeof value === "boolean") return !value;
  if (value === null) return "x";
  if (Array.isArray(value)) return [...value, "x"];
  if (typeof value === "object") return { ...value, x: 1 };
  const end = value.at(-1);
  return value.slice(0, -1) + (end === "0" ? "1" : "0");
}

/** Yields the edits of each member of a value. @param donor a value of the same kind, from elsewhere */
export function* membersEdited(value: JsonValue, donor: JsonValue): Generator<Edited> {
  for (const path of pathsOf(value)) {
    const own = at(value, path) as JsonValue;
    const other = at(donor, path);
    const to = path.join(".");
    const set = (kind: string, next: JsonValue): Edited => ({
      ...{ kind, to },
      text: () =>
        written(
          edited(value, path, (parent, name) => {
            parent[name] = next;
          }),
        ),
    });
    yield set("changed", otherValue(own));
    if (own !== null) yield set("blanked", null);
    if (own !== "" && typeof own === "string") yield set("emptied", "");
    const isElement = typeof path.at(-1) === "number";
    yield {
      ...{ kind: "removed", to },
      text: () =>
        written(
          edited(value, path, (parent, name) => {
            if (isElement) parent.splice(name, 1);
            else delete parent[name];
          }),
        ),
    };
    yield {
      ...{ kind: "duplicated", to },
      text: () =>
        written(
          edited(value, path, (parent, name) => {
            if (isElement) parent.splice(name, 0, own);
            else parent[`${TWICE}${name}`] = own;
          }),
        ),
    };
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(own))
      yield set("swapped with another's", other);
    if (path.at(-1) === "timestamp") yield set("moved in time", (own as string).replace("2026", "2025"));
  }
}

/** Yields the edits of an export: of its members; in lines, of each line and of the members of some. */
export function* exportEdited(text: string, donor: string): Generator<Edited> {
  if (!text.startsWith('{"type"')) {
    const end = text.slice(text.trimEnd().length);
    for (const one of membersEdited(JSON.parse(text), JSON.parse(donor)))
      yield { ...one, text: () => one.text() + end };
    return;
  }
  const [lines, others] = [text.trimEnd().split("\n"), donor.trimEnd().split("\n")];
  const chosen = [0, 1, Math.floor(lines.length / 2), lines.length - 2, lines.length - 1];
  for (const [index, line] of lines.entries()) {
    const joined = (next: string[]) => `${next.join("\n")}\n`;
    const name = index === 0 ? "header" : index === lines.length - 1 ? "trailer" : "event";
    yield { kind: "removed", to: `line ${index}, ${name}`, text: () => joined(lines.toSpliced(index, 1)) };
    yield { kind: "duplicated", to: `line ${index}, ${name}`, text: () => joined(lines.toSpliced(index, 0, line)) };
    if (!chosen.includes(index)) continue;
    const other = others[index === lines.length - 1 ? others.length - 1 : index] ?? "{}";
    for (const one of membersEdited(JSON.parse(line), JSON.parse(other))) {
      yield { ...one, to: `${name} ${index} ${one.to}`, text: () => joined(lines.with(index, one.text())) };
    }
  }
}

/** Yields the edits of a receipt: of its JSON, and of its lines with those of the seal. */
export function* receiptEdited(text: string, donor: string): Generator<Edited> {
  const extraOf = (receipt: string): JsonValue =>
    JSON.parse(Buffer.from(/^extra (.*)$/m.exec(receipt)?.[1] ?? "", "base64").toString());
  for (const one of membersEdited(extraOf(text), extraOf(donor))) {
    const extra = () => `extra ${Buffer.from(one.text()).toString("base64")}`;
    yield { ...one, text: () => text.replace(/^extra .*$/m, extra) };
  }
  yield* linesEdited(text, donor);
}

/** Yields the edits of a proof: of its members, and of the lines of its seal. */
export function* proofEdited(text: string, donor: string): Generator<Edited> {
  const [said, other] = [text, donor].map((one) => JSON.parse(one)) as [{ seal: string }, { seal: string }];
  const end = text.slice(text.trimEnd().length);
  for (const one of membersEdited(said, other)) yield { ...one, text: () => one.text() + end };
  for (const one of linesEdited(said.seal, other.seal)) {
    const edited = () => JSON.stringify({ ...said, seal: one.text() }) + end;
    yield { ...one, to: `seal ${one.to}`, text: edited };
  }
}

/** Returns an edited proof with the digest that it would have; null for a text that is no proof any more. */
export function digestedAnew(text: string): string | null {
  const said = orNull(JsonTextError, () => parseStrictJson(text));
  if (!isJsonObject(said) || said.entries === undefined) return null;
  const { digest: _, entries, ...others } = said;
  return JSON.stringify({ ...said, digest: digestOfProof(others, sha256Hex(canonicalJson(entries))) });
}

/** Yields the edits of each line of a text. */
export function* linesEdited(text: string, donor: string): Generator<Edited> {
  const [lines, others] = [text.split("\n"), donor.split("\n")];
  for (const [index, line] of lines.entries()) {
    if (index === lines.length - 1) continue;
    const to = `line ${index}`;
    const other = others[index];
    const kinds: [string, () => string[]][] = [
      ["changed", () => lines.with(index, line === "" ? "x" : line.replace(/[^=](=*)$/, (end) => otherEnd(end)))],
      ["blanked", () => lines.with(index, "")],
      ["removed", () => lines.toSpliced(index, 1)],
      ["duplicated", () => lines.toSpliced(index, 0, line)],
      ["swapped with the next", () => lines.with(index, lines[index + 1] ?? "").with(index + 1, line)],
      ["swapped with another's", () => (other === undefined ? lines : lines.with(index, other))],
    ];
    for (const [kind, next] of kinds) yield { kind, to, text: () => next().join("\n") };
  }
}

/** Returns another end of a base64 text, which is canonical for a text of any length. */
const otherEnd = (end: string): string => (end.startsWith("A") ? "Q" : "A") + end.slice(1);
