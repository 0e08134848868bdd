/**
 * A validator of OCSF 1.3.0 for the classes that governd emits. `ocsf-1.3.0.json` holds the facts of the published
 * schema (github.com/ocsf/ocsf-schema, tag 1.3.0): of each attribute its type, `[]` for a list of it, `!` when it is
 * required, `@profile` when it belongs to a profile, and the numbers that it may be.
 */
import schema from "./ocsf-1.3.0.json" with { type: "json" };

interface Shape {
  attributes: Record<string, string>;
  at_least_one?: string[];
}

type Members = Record<string, unknown>;

const CLASSES = Object.values(schema.classes) as unknown as (Shape & { class_uid: number; category_uid: number })[];
const OBJECTS = schema.objects as unknown as Record<string, Shape>;

/** What is wrong with an event, in no order; empty when it follows the schema. */
export function ocsfProblems(event: Members): string[] {
  const found = CLASSES.find(({ class_uid }) => class_uid === event.class_uid);
  if (found === undefined) return [`class_uid ${event.class_uid} is not described`];
  const { version, profiles = [] } = event.metadata as { version: string; profiles?: string[] };
  const problems = problemsOf(event, found, profiles, "event");
  if (version !== schema.version) problems.push(`metadata.version is ${version}`);
  if (event.category_uid !== found.category_uid) problems.push("category_uid is not that of the class");
  if (event.type_uid !== found.class_uid * 100 + (event.activity_id as number)) problems.push("type_uid");
  return problems;
}

function problemsOf(value: Members, shape: Shape, profiles: string[], path: string): string[] {
  const problems: string[] = [];
  for (const [name, text] of Object.entries(shape.attributes)) {
    const { required, profile } = parse(text);
    const applies = profile === undefined || profiles.includes(profile);
    if (required && applies && value[name] === undefined) problems.push(`${path}.${name} is missing`);
  }
  for (const [name, member] of Object.entries(value)) {
    const text = shape.attributes[name];
    if (text === undefined) problems.push(`${path}.${name} is no attribute`);
    else problems.push(...attributeProblems(member, text, profiles, `${path}.${name}`));
  }
  const { at_least_one: alternatives } = shape;
  if (alternatives?.every((name) => value[name] === undefined))
    problems.push(`${path} has none of ${alternatives.join(", ")}`);
  return problems;
}

function attributeProblems(value: unknown, text: string, profiles: string[], path: string): string[] {
  const { type, isList, profile, numbers } = parse(text);
  if (profile !== undefined && !profiles.includes(profile)) return [`${path} needs the profile ${profile}`];
  if (isList !== Array.isArray(value)) return [`${path} is ${isList ? "no" : "a"} list`];
  return (Array.isArray(value) ? value : [value]).flatMap((one) => {
    if (type === "object") return isObject(one) ? [] : [`${path} is no object`];
    if (!type.endsWith("_t")) {
      const shape = OBJECTS[type];
      if (shape === undefined) return [`${path}: ${type} is not described`];
      return isObject(one) ? problemsOf(one, shape, profiles, path) : [`${path} is no object`];
    }
    const isNumber = type === "integer_t" || type === "long_t" || type === "timestamp_t";
    if (isNumber ? !Number.isSafeInteger(one) : typeof one !== "string") return [`${path} is no ${type}`];
    return numbers.length > 0 && !numbers.includes(one as number) ? [`${path} may not be ${one}`] : [];
  });
}

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function parse(text: string) {
  const [head = "", ...numbers] = text.split(" ");
  const [, type = "", list, required, profile] = /^(\w+)(\[\])?(!)?(?:@(\w+))?$/.exec(head) ?? [];
  return { type, isList: list !== undefined, required: required !== undefined, profile, numbers: numbers.map(Number) };
}
