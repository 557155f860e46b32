/** Explains two-factor failures caused by a changed WAYMARK_SECRET, which encrypts TOTP secrets and recovery codes. */
import { symmetricDecrypt } from "better-auth/crypto";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { BetterAuth } from "../auth/better-auth.ts";

export interface TwoFactorDiagnostics {
  /** Runs `check` of a code. Throws ConflictException if it fails because the user's secret or codes can't be decrypted. */
  explainFailure<T>(userId: string | null, check: () => Promise<T>): Promise<T>;
}

export interface TwoFactorDiagnosticsDeps {
  auth: BetterAuth;
  database: Queryable;
  logger: Logger;
}

export function createTwoFactorDiagnostics(deps: TwoFactorDiagnosticsDeps): TwoFactorDiagnostics {
  let isLogged = false;
  /** Logs once per process, as every attempt of every affected user would repeat it. */
  const logSecretMismatch = (): void => {
    if (isLogged) return;
    isLogged = true;
    deps.logger.error(
      "WAYMARK_SECRET has changed since users set up two-factor authentication, so they cannot sign in. Restore the " +
        "previous secret, or turn it off for each user: waymark user reset-two-factor <email>",
    );
  };

  return {
    async explainFailure(userId, check) {
      try {
        return await check();
      } catch (error) {
        // The library reports wrong codes as AppErrors by now; only an unexpected error can be a decryption failure.
        if (error instanceof AppError || userId === null || (await canDecrypt(deps, userId))) throw error;
        logSecretMismatch();
        throw secretChangedError(error);
      }
    },
  };
}

async function canDecrypt({ auth, database }: TwoFactorDiagnosticsDeps, userId: string): Promise<boolean> {
  const [stored] = await database.query<{ secret: string; recovery_codes: string }>(
    sql`select secret, recovery_codes from user_two_factor where user_id = ${userId}::uuid`,
  );
  if (!stored) return true;
  const { secretConfig: key } = await auth.$context;
  const decryptions = [stored.secret, stored.recovery_codes].map((data) => symmetricDecrypt({ key, data }));
  return (await Promise.allSettled(decryptions)).every(({ status }) => status === "fulfilled");
}

function secretChangedError(cause: unknown): AppError {
  return new AppError(
    "ConflictException",
    "The service's secret has changed since you set up two-factor authentication, so your code can't be checked. Ask the " +
      "operators of the service to turn it off for you.",
    { cause },
  );
}
