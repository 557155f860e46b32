/** What is kept of second factors is encrypted by WAYMARK_SECRET: once that has changed it cannot be opened, and no code is right. */
import { symmetricDecrypt } from "better-auth/crypto";
import type { Queryable } from "../platform/database.ts";
import { AppError } from "../platform/errors.ts";
import type { Logger } from "../platform/logger.ts";
import { sql } from "../platform/sql.ts";
import type { Auth } from "./auth.ts";

export interface SecondFactorSecrets {
  /** Does `check` of a code. Throws ConflictException where it fails since that person's second factor cannot be opened. */
  checking<T>(userId: string | null, check: () => Promise<T>): Promise<T>;
}

export interface SecretsParts {
  auth: Auth;
  database: Queryable;
  logger: Logger;
}

export function createSecondFactorSecrets(parts: SecretsParts): SecondFactorSecrets {
  let isTold = false;
  /** Once: every try of everybody who has one would say it again. */
  const tellOperators = (): void => {
    if (isTold) return;
    isTold = true;
    parts.logger.error(
      "WAYMARK_SECRET is not the one that second factors were set up with: nobody who has one can sign in. Give the " +
        "former one back, or turn them off: waymark person reset-second-factor <email>",
    );
  };

  return {
    async checking(userId, check) {
      try {
        return await check();
      } catch (error) {
        // What the library does not expect to fail, it throws as it comes: only then is it worth a look.
        if (error instanceof AppError || userId === null || (await canBeOpened(parts, userId))) throw error;
        tellOperators();
        throw secretChanged(error);
      }
    },
  };
}

async function canBeOpened({ auth, database }: SecretsParts, userId: string): Promise<boolean> {
  const [kept] = await database.query<{ secret: string; recovery_codes: string }>(
    sql`select secret, recovery_codes from user_two_factor where user_id = ${userId}::uuid`,
  );
  if (!kept) return true;
  const { secretConfig: key } = await auth.$context;
  const opened = [kept.secret, kept.recovery_codes].map((data) => symmetricDecrypt({ key, data }));
  return (await Promise.allSettled(opened)).every(({ status }) => status === "fulfilled");
}

function secretChanged(cause: unknown): AppError {
  return new AppError(
    "ConflictException",
    "The service's secret has changed since this second factor was set up: no code can be checked. Ask whoever runs the " +
      "service to turn it off for you.",
    { cause },
  );
}
