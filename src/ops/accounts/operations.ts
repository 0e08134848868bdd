/** All operations on accounts, by name. */
import type { OperationsOf } from "../../core/writer/operation.ts";
import * as account from "./operations/account.ts";
import * as credential from "./operations/credential.ts";
import * as session from "./operations/session.ts";

export const accountOperations: OperationsOf<"account"> = {
  "account.add_passkey": { run: credential.addPasskey },
  "account.begin_totp": { run: account.beginTotp },
  "account.change_password": { run: account.changePassword },
  "account.confirm_totp": { run: account.confirmTotp },
  "account.create": { run: account.createAccount },
  "account.disable_totp": { run: account.disableTotp },
  "account.end_sessions": { run: session.endSessions },
  "account.erase": { run: account.eraseAccount },
  "account.link": { run: credential.makeLink },
  "account.link_identity": { run: credential.linkIdentity },
  "account.remove_passkey": { run: credential.removePasskey },
  "account.rename": { run: account.renameAccount },
  "account.renew_codes": { run: account.renewCodes },
  "account.require_issuer": { run: credential.requireIssuer },
  "account.reset_password": { run: account.resetPassword },
  "account.sign_in": { run: session.signIn },
  "account.unlink": { run: credential.endLink },
  "account.unlink_identity": { run: credential.unlinkIdentity },
};
