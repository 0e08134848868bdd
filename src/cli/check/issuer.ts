/** `governd check`: asks the issuer of the settings whether people can sign in by it. */

import { Failure } from "../../failure.ts";
import { troubleWithIssuer } from "../../serve/daemon/issuer.ts";
import type { Settings } from "../../settings/definitions.ts";
import { type Finding, finding } from "./finding.ts";

/** Checks that the issuer answers, and that its metadata fit the settings. Finds nothing when there is no issuer. */
export async function checkIssuer(settings: Settings): Promise<Finding[]> {
  const { oidc_issuer: issuer } = settings;
  if (issuer === null) return [];
  try {
    const trouble = await troubleWithIssuer(settings);
    if (trouble === null) return [finding("issuer", "ok", `${issuer} answers, and its metadata fit the settings`)];
    const why = `${trouble.reason} (${trouble.why}, see docs/sign-in.md)`;
    return [finding("issuer", "warning", `people cannot sign in by ${issuer}: ${why}`)];
  } catch (error) {
    if (error instanceof Failure) return [finding("issuer", "problem", error.message)];
    throw error;
  }
}
