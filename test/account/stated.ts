/** What events about accounts state besides their own facts, as tests compare it. */
import { expect } from "bun:test";

/** A SHA-256 by which an event binds the content of a row. */
export const DIGEST: unknown = expect.stringMatching(/^[0-9a-f]{64}$/);

export const SESSION_ID: unknown = expect.stringMatching(/^ses_/);

/** The session in which a person acted, and the second factor with which it began. */
export const inSession = (
  second_factor: "totp" | "recovery_code" | "passkey" | null = null,
  session_id = SESSION_ID,
) => ({ authorised_by: { session_id, second_factor, second_factor_at: second_factor && expect.any(String) } });
