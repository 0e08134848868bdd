/** The forms of countries' telephone numbers: checks what the library would accept, in a fraction of its time. */
import { type CountryCode, Metadata } from "libphonenumber-js/max";

interface NumberingPlan {
  callingCode: string;
  /** The digits that are dialled before a number within the country. */
  prefix: RegExp;
  national: RegExp;
}

/** What the library's own type leaves out of a numbering plan. */
interface FullPlan {
  callingCode(): string;
  nationalNumberPattern(): string;
  nationalPrefixForParsing(): string | undefined;
}

const plans = new Map<CountryCode, NumberingPlan>();

function planOf(country: CountryCode): NumberingPlan {
  const metadata = new Metadata();
  metadata.selectNumberingPlan(country);
  const plan = metadata.numberingPlan as unknown as FullPlan;
  return {
    callingCode: plan.callingCode(),
    prefix: new RegExp(`^(?:${plan.nationalPrefixForParsing() ?? "(?!)"})`),
    national: new RegExp(`^(?:${plan.nationalNumberPattern()})$`),
  };
}

/** Reports whether these digits may be a number of the country, with or without the prefix. */
export function hasForm(digits: string, country: CountryCode): boolean {
  const { callingCode, prefix, national } = plans.getOrInsertComputed(country, planOf);
  if (national.test(digits)) return true;
  const dialled = digits.replace(prefix, "");
  if (dialled !== digits && national.test(dialled)) return true;
  const afterCode = digits.startsWith(callingCode) ? digits.slice(callingCode.length) : null;
  return afterCode !== null && (national.test(afterCode) || national.test(afterCode.replace(prefix, "")));
}
