/** What is kept of second factors is encrypted by WAYMARK_SECRET: once that has changed it cannot be opened, and no code is right. */
import { symmetricDecrypt } from "better-auth/crypto";
import type { Queryable } from "../../platform/postgres/database.ts";
import { AppError } from "../../platform/errors.ts";
import type { Logger } from "../../platform/logger.ts";
import { sql } from "../../platform/postgres/sql.ts";
import type { BetterAuth } from "../auth/better-auth.ts";

export interface TwoFactorDiagnostics {
  /** Does `check` of a code. Throws ConflictException where it fails since that person's second factor cannot be opened. */
  explainFailure<T>(userId: string | null, check: () => Promise<T>): Promise<T>;
}

export interface TwoFactorDiagnosticsDeps {
  auth: BetterAuth;
  database: Queryable;
  logger: Logger;
}

export function createTwoFactorDiagnostics(deps: TwoFactorDiagnosticsDeps): TwoFactorDiagnostics {
  let isLogged = false;
  /** Once: every try of everybody who has one would say it again. */
  const logSecretMismatch = (): void => {
    if (isLogged) return;
    isLogged = true;
    deps.logger.error(
      "WAYMARK_SECRET is not the one that second factors were set up with: nobody who has one can sign in. Give the " +
        "former one back, or turn them off: waymark user reset-two-factor <email>",
    );
  };

  return {
    async explainFailure(userId, check) {
      try {
        return await check();
      } catch (error) {
        // What the library does not expect to fail, it throws as it comes: only then is it worth a look.
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
    "The service's secret has changed since this second factor was set up: no code can be checked. Ask whoever runs the " +
      "service to turn it off for you.",
    { cause },
  );
}
