/**
 * Checks the values that are bound to statements.
 *
 * The native driver aborts the process when a boolean or an array is bound, or when the only argument is an object, and
 * silently truncates strings at U+0000. So every parameter list must be an array of strings, numbers, bigints, bytes
 * and nulls. A parameter that is not given has the value of the call before, so each call must give all of them.
 */

/** A value that a column can have. */
export type SqlValue = string | number | bigint | Uint8Array | null;

/** Returns texts as a list in SQL, for `IN (…)`. They are words of the program, without quotes. */
export const sqlTexts = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join(", ");

/** A parameter that must not reach the driver. The message never contains the value. */
export class UnbindableValue extends TypeError {
  constructor(position: number, what: string) {
    super(`SQL parameter ${position + 1} is ${what}, which cannot be bound`);
    this.name = "UnbindableValue";
  }
}

const NUL = "\u0000";

function refusalOf(value: unknown): string | null {
  switch (typeof value) {
    case "string":
      return value.includes(NUL) ? "a string with U+0000" : null;
    case "number":
      return Number.isFinite(value) ? null : "a number that is not finite";
    case "bigint":
      return null;
    case "object":
      return value === null || value instanceof Uint8Array ? null : "an object";
    default:
      return `of type ${typeof value}`;
  }
}

/** The number of parameters in a call is not the number that the statement has. */
export class WrongParameters extends TypeError {
  override readonly name = "WrongParameters";

  constructor(expected: number, given: number) {
    super(`the SQL statement has ${expected} parameters, and ${given} were given`);
  }
}

/**
 * Checks a parameter list and returns it.
 * @param count how many parameters the statement has
 * @throws {UnbindableValue} for anything but strings without U+0000, finite numbers, bigints, bytes, null
 * @throws {WrongParameters}
 */
export function bindable(parameters: readonly SqlValue[], count: number): readonly SqlValue[] {
  if (!Array.isArray(parameters)) throw new UnbindableValue(0, "not in an array");
  for (let i = 0; i < parameters.length; i++) {
    const refusal = refusalOf(parameters[i]);
    if (refusal !== null) throw new UnbindableValue(i, refusal);
  }
  if (parameters.length !== count) throw new WrongParameters(count, parameters.length);
  return parameters;
}
