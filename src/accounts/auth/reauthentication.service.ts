/** Signed-in users enter their password (and a code, with two-factor) again before sensitive actions. */
import type { Clock } from "../../platform/clock.ts";
import type { Database } from "../../platform/postgres/database.ts";
import { AppError, badRequest } from "../../platform/errors.ts";
import { sql } from "../../platform/postgres/sql.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { authHeaders } from "./better-auth.client.ts";
import type { ClientInfo } from "./client-info.ts";
import type { PasswordService } from "../passwords/service.ts";
import type { SessionPrincipal } from "../sessions/principal.ts";
import type { ThrottleAttempt } from "./throttle.ts";
import { verifyTwoFactorCode, type TwoFactorCodeKind, type CodeCheckDeps } from "../two-factor/codes.ts";

export interface ReauthenticationProof {
  readonly password: string;
  /** Needed with two-factor, ignored without. */
  readonly code?: string | undefined;
  readonly kind: TwoFactorCodeKind;
}

export interface ReauthenticationService {
  /**
   * Makes the session's authentication fresh for ten minutes (platform/fresh-authentication.ts). Throws BadRequestException
   * naming the wrong field, and TooManyRequestsException.
   */
  reauthenticate(
    principal: SessionPrincipal,
    proof: ReauthenticationProof,
    client: ClientInfo,
  ): Promise<void>;
}

export interface ReauthenticationDeps extends CodeCheckDeps {
  database: Database;
  clock: Clock;
}

export function createReauthenticationService(
  deps: ReauthenticationDeps,
  passwords: Pick<PasswordService, "verifyPassword">,
): ReauthenticationService {
  return {
    async reauthenticate(principal, { password, code, kind }, client) {
      const { user } = principal;
      if (user.hasTwoFactor && code === undefined) throw codeProblem("missing", "must be given");
      await passwords.verifyPassword(user.id, password);
      if (user.hasTwoFactor && code !== undefined)
        await verifyCode(deps, { userId: user.id, code, kind }, client);
      await refreshAuthentication(deps, principal, client);
    },
  };
}

async function verifyCode(
  deps: ReauthenticationDeps,
  answer: { userId: string; code: string; kind: TwoFactorCodeKind },
  client: ClientInfo,
): Promise<void> {
  const attempts: ThrottleAttempt[] = [
    ["two-factor-address", client.address],
    ["two-factor-account", answer.userId],
  ];
  await deps.throttle.take(...attempts);
  await verifyTwoFactorCode(deps, {
    ...answer,
    headers: authHeaders(client, client.cookie),
    refusal: () => codeProblem("invalid_value", "is wrong or was already used"),
  });
  await deps.throttle.refund(...attempts);
}

async function refreshAuthentication(
  { database, clock }: ReauthenticationDeps,
  { sessionId, actor, organizationId }: SessionPrincipal,
  { address, requestId }: ClientInfo,
): Promise<void> {
  await database.transaction(async (tx) => {
    const now = new Date(clock.now()).toISOString();
    const [session] = await tx.query(sql`
      update user_session set authenticated_at = ${now}::timestamptz where id = ${sessionId}::uuid returning id`);
    if (!session)
      throw new AppError("UnauthorizedException", "You are not signed in, or your session has ended");
    await recordAuditEvent(tx, {
      action: "session.reauthenticated",
      actor,
      organizationId,
      address,
      requestId,
    });
  });
}

function codeProblem(code: string, message: string): AppError {
  return badRequest([{ location: "body", field: "code", code, message }]);
}
