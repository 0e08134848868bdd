/** What the claims of an issuer say about a person. */
import { isJsonObject, type JsonObject } from "../json.ts";
import { IssuerRefused, type IssuerTrouble } from "./refused.ts";

/** The claims of the issuer about a person who signed in. Only issuer and subject identify a person. */
export interface Identity {
  issuer: string;
  subject: string;
  /** The session at the issuer, by which the issuer can end it; null when the issuer names none. */
  session: string | null;
  email: string | null;
  /** Set when the issuer says that the mail address is not the person's for certain. */
  isEmailUnverified: boolean;
  name: string | null;
  /** Null when the issuer names none. */
  groups: readonly string[] | null;
  /** Why nobody knows the groups: there are too many, or the userinfo endpoint failed; otherwise null. */
  groupsTrouble: IssuerTrouble | null;
  /** Whether the issuer states that it used more than one factor (RFC 8176). */
  isMultiFactor: boolean;
}

/** Where the claims come from. */
interface Source {
  issuer: string;
  groupsClaim: string;
  /** Why there are no claims of the userinfo endpoint, although it was asked; otherwise null. */
  userInfoTrouble: IssuerTrouble | null;
}

/** Returns the identity that claims state, which have a subject. */
export function identityOf(claims: JsonObject, { issuer, groupsClaim, userInfoTrouble }: Source): Identity {
  const text = (name: string) => (typeof claims[name] === "string" && claims[name] !== "" ? claims[name] : null);
  const texts = (name: string) => [claims[name] ?? []].flat().filter((one): one is string => typeof one === "string");
  const isNamed = claims[groupsClaim] !== undefined;
  return {
    issuer,
    subject: claims.sub as string,
    session: text("sid"),
    email: text("email"),
    isEmailUnverified: claims.email_verified === false || claims.email_verified === "false",
    name: text("name") ?? text("preferred_username"),
    groups: isNamed ? texts(groupsClaim) : null,
    groupsTrouble: isNamed ? null : areElsewhere(claims, groupsClaim) ? tooMany() : userInfoTrouble,
    isMultiFactor: texts("amr").includes("mfa"),
  };
}

const tooMany = () => new IssuerRefused("the groups are not in the token, since there are too many", "too_many_groups");

/**
 * Reports whether the issuer says that the groups are at another address (OpenID Connect Core section 5.6.2), as Entra
 * does for somebody with more than 200. What it says there needs rights that the daemon does not have.
 */
function areElsewhere({ _claim_names: names, hasgroups }: JsonObject, groupsClaim: string): boolean {
  if (isJsonObject(names) && Object.hasOwn(names, groupsClaim)) return true;
  return hasgroups === true || hasgroups === "true";
}
