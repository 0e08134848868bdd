/** The browsers that signed in before, which the file of the installation has. Their failed attempts are counted separately. */
import type { Connection } from "../../store/connection.ts";
import { digestOf, isSecret } from "../directory/secret.ts";

/** Returns the device's secret if it belongs to this account, else null. */
export function knownDevice(
  connection: Connection,
  account: { id: string } | undefined,
  device: string | null,
): string | null {
  if (account === undefined || device === null || !isSecret(device)) return null;
  const sql = "SELECT 1 FROM devices WHERE digest = ? AND account_id = ?";
  return connection.get(sql, [digestOf(device).toHex(), account.id]) === undefined ? null : device;
}
