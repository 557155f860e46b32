/** Signed-in users enter their password (and a code, with two-factor) again before sensitive actions. */
import { type AppError, badRequest } from "../../core/errors.ts";
import type { AccountContext } from "../context.ts";
import type { PasswordService } from "../passwords/service.ts";
import { UserSession } from "../sessions/entity.ts";
import { notSignedInError, type SessionPrincipal } from "../sessions/session-principal.ts";
import { verifyTwoFactorCode, type TwoFactorCodeKind } from "../two-factor/verify-code.ts";
import { authHeaders } from "./better-auth.client.ts";
import { recordUserEvent, type ClientInfo } from "./client-info.ts";
import type { ThrottleAttempt } from "./throttle.ts";

export interface ReauthenticationProof {
  readonly password: string;
  /** Needed with two-factor, ignored without. */
  readonly code?: string | undefined;
  readonly kind: TwoFactorCodeKind;
}

export class ReauthenticationService {
  readonly #context: AccountContext;
  readonly #passwords: Pick<PasswordService, "verifyPassword">;

  constructor(context: AccountContext, passwords: Pick<PasswordService, "verifyPassword">) {
    this.#context = context;
    this.#passwords = passwords;
  }

  /**
   * Makes the session's authentication fresh for ten minutes (core/fresh-authentication.ts). Throws BadRequestException
   * naming the wrong field, and TooManyRequestsException.
   */
  async reauthenticate(
    principal: SessionPrincipal,
    { password, code, kind }: ReauthenticationProof,
    client: ClientInfo,
  ): Promise<void> {
    const { database, clock } = this.#context;
    const { user, sessionId: id } = principal;
    if (user.hasTwoFactor && code === undefined) throw codeProblem("missing", "must be given");
    await this.#passwords.verifyPassword(user.id, password);
    if (user.hasTwoFactor && code !== undefined)
      await this.#verifyCode({ userId: user.id, code, kind }, client);
    await database.transactional(async (em, tx) => {
      const authenticatedAt = new Date(clock.now());
      if ((await em.nativeUpdate(UserSession, { id }, { authenticatedAt })) === 0) throw notSignedInError();
      await recordUserEvent(tx, principal, client, { action: "session.reauthenticated" });
    });
  }

  async #verifyCode(
    answer: { userId: string; code: string; kind: TwoFactorCodeKind },
    client: ClientInfo,
  ): Promise<void> {
    const { throttle } = this.#context;
    const attempts: ThrottleAttempt[] = [
      ["two-factor-address", client.ipAddress],
      ["two-factor-account", answer.userId],
    ];
    await throttle.take(...attempts);
    await verifyTwoFactorCode(this.#context, {
      ...answer,
      headers: authHeaders(client, client.cookie),
      refusal: () => codeProblem("invalid_value", "is wrong or was already used"),
    });
    await throttle.refund(...attempts);
  }
}

function codeProblem(code: string, message: string): AppError {
  return badRequest([{ location: "body", field: "code", code, message }]);
}
