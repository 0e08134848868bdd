/**
 * Why a sign-in by the issuer does not succeed: the word that the daemon's log and the address of the page have, and the
 * sentence for the person. docs/sign-in.md says what an operator can do about each.
 */
export const CAUSES = {
  access_denied:
    "The issuer did not let you in: you declined there, or you are not allowed to use this application. Begin again, or ask the people who manage the issuer.",
  no_role:
    "You are signed in at the issuer, but your groups there give you no role here. Ask the people who manage the groups, or the operator of this daemon.",
  no_groups:
    "The issuer did not say which groups you are in, and your role here depends on them. Ask the operator of this daemon.",
  too_many_groups:
    "You are in more groups than the issuer lists, so it is not known which role you have here. Ask the people who manage the issuer to send only the groups that are assigned to this application.",
  clock:
    "The clocks of the issuer and of this daemon differ too much. Begin again, and if it happens twice, ask the operator of this daemon to set the clock.",
  client_secret:
    "The issuer does not accept the client id and the secret of this daemon. Ask the operator of this daemon to renew the secret.",
  client_settings:
    "The issuer and this daemon are not set up for each other. Ask the operator of this daemon: its log says what does not fit.",
  unavailable: "The issuer cannot be reached now. Try again shortly, or sign in with a password.",
  state_unknown:
    "This sign-in was not begun in this browser, took longer than ten minutes, or is already over. Begin again.",
  nonce:
    "The issuer answered another sign-in than this one. Begin again, and if it happens twice, ask the operator of this daemon.",
  invalid_answer:
    "What came back from the issuer is not valid. Begin again, and if it happens twice, ask the operator of this daemon.",
  email_taken:
    "There is already an account with your mail address. Sign in to it with its password, and link it to the issuer in its settings.",
  email_not_verified:
    "There is already an account with your mail address, which the issuer has not verified. If the account is yours, sign in to it with its password and link it to the issuer in its settings. Otherwise correct the address at the issuer.",
  identity_taken:
    "Whoever signed in at the issuer has another account here, or your account is linked to somebody else. End that link first, in the settings of the account that has it.",
} as const;

export type Cause = keyof typeof CAUSES;

/** Returns the sentence for the person; null for a word that is no cause. */
export const sentenceFor = (word: string): string | null =>
  Object.hasOwn(CAUSES, word) ? CAUSES[word as Cause] : null;
