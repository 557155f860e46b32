/** Explains two-factor failures caused by a changed WAYMARK_SECRET, which encrypts TOTP secrets and recovery codes. */
import type { Reader } from "../../core/postgres/database.ts";
import { AppError } from "../../core/errors.ts";
import type { Logger } from "../../core/logger.ts";
import { UserTwoFactor } from "../credential.entity.ts";
import { tryDecrypt } from "./unreadable-secrets.sql.ts";

interface DiagnosticsDeps {
  readonly authSecret: string;
  readonly database: Reader;
  readonly logger: Logger;
}

export class TwoFactorDiagnostics {
  readonly #deps: DiagnosticsDeps;
  #isLogged = false;

  constructor(deps: DiagnosticsDeps) {
    this.#deps = deps;
  }

  /** Returns the error, or ConflictException if it happened because the user's secret or codes can't be decrypted. */
  async explain(error: unknown, userId: string): Promise<unknown> {
    if (error instanceof AppError || (await this.#canDecrypt(userId))) return error;
    this.#logSecretMismatch();
    return secretChangedError(error);
  }

  async #canDecrypt(userId: string): Promise<boolean> {
    const { authSecret, database } = this.#deps;
    const stored = await database.em().findOne(UserTwoFactor, { user: userId });
    if (!stored) return true;
    return (await tryDecrypt(authSecret, stored.secret, stored.recoveryCodes)).every(Boolean);
  }

  /** Logs once per process, as every attempt of every affected user would repeat it. */
  #logSecretMismatch(): void {
    if (this.#isLogged) return;
    this.#isLogged = true;
    this.#deps.logger.error(
      "WAYMARK_SECRET has changed since users set up two-factor authentication, so they cannot sign in. Restore the " +
        "previous secret, or turn it off for each user: waymark user reset-two-factor <email>",
    );
  }
}

function secretChangedError(cause: unknown): AppError {
  return new AppError(
    "ConflictException",
    "The service's secret has changed since you set up two-factor authentication, so your code can't be checked. Ask the " +
      "operators of the service to turn it off for you.",
    { cause },
  );
}
