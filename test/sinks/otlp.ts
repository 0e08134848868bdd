/**
 * A validator of OTLP 1.9.0 in JSON. `otlp-1.9.0.json` holds the facts of the published messages
 * (github.com/open-telemetry/opentelemetry-proto, tag v1.9.0) under their names in JSON: of each field its type, `[]` for
 * a list of it. Numbers of 64 bits are texts of digits, and ids of traces and spans are hexadecimal.
 */
import schema from "./otlp-1.9.0.json" with { type: "json" };

const MESSAGES = schema.messages as unknown as Record<string, Record<string, string>>;

const SCALARS: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === "string",
  bool: (value) => typeof value === "boolean",
  uint32: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32,
  severity: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 24,
  fixed64: (value) => typeof value === "string" && /^[0-9]+$/.test(value) && BigInt(value) < 2n ** 64n,
  int64: (value) => typeof value === "string" && /^-?[0-9]+$/.test(value),
  double: (value) => typeof value === "number",
  bytes: (value) => typeof value === "string" && Buffer.from(value, "base64").toString("base64") === value,
  hex16: (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value) && !/^0+$/.test(value),
  hex8: (value) => typeof value === "string" && /^[0-9a-f]{16}$/.test(value) && !/^0+$/.test(value),
};

/** What is wrong with a request that exports logs; empty when it follows the schema. */
export const otlpProblems = (request: unknown): string[] => problemsOf(request, "ExportLogsServiceRequest", "request");

function problemsOf(value: unknown, type: string, path: string): string[] {
  if (type.endsWith("[]")) {
    if (!Array.isArray(value)) return [`${path} is no list`];
    return value.flatMap((one, at) => problemsOf(one, type.slice(0, -2), `${path}[${at}]`));
  }
  const scalar = SCALARS[type];
  if (scalar !== undefined) return scalar(value) ? [] : [`${path} is no ${type}`];
  const fields = MESSAGES[type];
  if (fields === undefined) return [`${path}: ${type} is not described`];
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${path} is no ${type}`];
  const members = Object.entries(value);
  const tooMany = schema.oneOf.includes(type) && members.length > 1 ? [`${path} has several values`] : [];
  const wrong = members.flatMap(([name, member]) => {
    const field = fields[name];
    const place = `${path}.${name}`;
    return field === undefined ? [`${place} is no field`] : problemsOf(member, field, place);
  });
  return [...tooMany, ...wrong];
}
