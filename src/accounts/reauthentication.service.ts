/** Signed-in users enter their password (and a code, with two-factor) again before sensitive actions. */
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { AppError, badRequest } from "../platform/errors.ts";
import { sql } from "../platform/sql.ts";
import { record } from "./audit.service.ts";
import { headersOf } from "./auth.call.ts";
import type { Visit } from "./auth.visit.ts";
import type { PasswordService } from "./password.service.ts";
import type { SessionHolder } from "./session.holder.ts";
import type { Try } from "./throttle.ts";
import { checkCode, type CodeKind, type CodeParts } from "./two-factor.codes.ts";

export interface Proof {
  readonly password: string;
  /** Needed with two-factor, ignored without. */
  readonly code?: string | undefined;
  readonly kind: CodeKind;
}

export interface Reauthentication {
  /**
   * Makes the session's authentication fresh for ten minutes (platform/fresh-authentication.ts). Throws BadRequestException
   * naming the wrong field, and TooManyRequestsException.
   */
  reauthenticate(holder: SessionHolder, proof: Proof, visit: Visit): Promise<void>;
}

export interface ReauthenticationParts extends CodeParts {
  database: Database;
  clock: Clock;
}

export function createReauthentication(
  parts: ReauthenticationParts,
  passwords: Pick<PasswordService, "verifyPassword">,
): Reauthentication {
  return {
    async reauthenticate(holder, { password, code, kind }, visit) {
      const { user } = holder;
      if (user.hasSecondFactor && code === undefined) throw codeProblem("missing", "must be given");
      await passwords.verifyPassword(user.id, password);
      if (user.hasSecondFactor && code !== undefined)
        await verifyCode(parts, { userId: user.id, code, kind }, visit);
      await refresh(parts, holder, visit);
    },
  };
}

async function verifyCode(
  parts: ReauthenticationParts,
  answer: { userId: string; code: string; kind: CodeKind },
  visit: Visit,
): Promise<void> {
  const tries: Try[] = [
    ["second-factor-address", visit.address],
    ["second-factor-account", answer.userId],
  ];
  await parts.throttle.take(...tries);
  await checkCode(parts, {
    ...answer,
    headers: headersOf(visit, visit.cookie),
    refusal: () => codeProblem("invalid_value", "is not right, or was used already"),
  });
  await parts.throttle.giveBack(...tries);
}

async function refresh(
  { database, clock }: ReauthenticationParts,
  { sessionId, actor, organizationId }: SessionHolder,
  { address, requestId }: Visit,
): Promise<void> {
  await database.transaction(async (tx) => {
    const now = new Date(clock.now()).toISOString();
    const [session] = await tx.query(sql`
      update user_session set authenticated_at = ${now}::timestamptz where id = ${sessionId}::uuid returning id`);
    if (!session)
      throw new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
    await record(tx, { action: "session.reauthenticated", actor, organizationId, address, requestId });
  });
}

function codeProblem(code: string, message: string): AppError {
  return badRequest([{ location: "body", field: "code", code, message }]);
}
