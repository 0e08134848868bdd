/** First detectors of secrets: every expression is bounded, so the scan is linear. */
import { type Hit, type SecretDetector, secretHit } from "../finding.ts";

const RULES: readonly { detector: SecretDetector; anchor: string; pattern: RegExp }[] = [
  {
    detector: "private_key",
    anchor: "-----BEGIN",
    pattern: /-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----/g,
  },
  { detector: "jwt", anchor: "eyJ", pattern: /\beyJ[\w-]{10,2000}\.eyJ[\w-]{10,8000}\.[\w-]{10,2000}/g },
  {
    detector: "connection_string",
    anchor: "://",
    pattern: /\b[a-z][a-z0-9+.-]{1,24}:\/\/[^\s:@/'"]{0,128}:(?![<${])[^\s@/'"]{3,256}@[\w.-]{1,253}/gi,
  },
  { detector: "provider_token", anchor: "AKIA", pattern: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/g },
  { detector: "provider_token", anchor: "gh", pattern: /\bgh[pousr]_[A-Za-z0-9]{36}\b/g },
  {
    detector: "provider_token",
    anchor: "github_pat_",
    pattern: /\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b/g,
  },
  { detector: "provider_token", anchor: "glpat-", pattern: /\bglpat-[\w-]{20}/g },
  { detector: "provider_token", anchor: "xox", pattern: /\bxox[abeoprs]-[A-Za-z0-9-]{20,200}/g },
  { detector: "provider_token", anchor: "_live_", pattern: /\b[sr]k_live_[A-Za-z0-9]{16,128}/g },
  { detector: "provider_token", anchor: "AIza", pattern: /\bAIza[\w-]{35}/g },
  { detector: "provider_token", anchor: "npm_", pattern: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { detector: "provider_token", anchor: "sk-", pattern: /\bsk-(?:proj-|ant-[a-z0-9]{2,8}-)?[\w-]{32,200}/g },
  { detector: "provider_token", anchor: "SG.", pattern: /\bSG\.[\w-]{22}\.[\w-]{43}/g },
  { detector: "provider_token", anchor: "hf_", pattern: /\bhf_[A-Za-z]{34}\b/g },
  { detector: "provider_token", anchor: "gov_", pattern: /\bgov_[A-Za-z0-9]{32}_[A-Za-z0-9]{6}\b/g },
];

/** Finds private keys, JSON Web Tokens, connection strings with a password, and well-known token prefixes. */
export function findSecrets(text: string): Hit[] {
  const hits: Hit[] = [];
  for (const rule of RULES) {
    if (!text.includes(rule.anchor)) continue;
    for (const match of text.matchAll(rule.pattern)) {
      hits.push(secretHit(rule.detector, match.index, match.index + match[0].length));
    }
  }
  return hits;
}
