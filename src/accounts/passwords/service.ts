/** Verifies, changes and resets users' passwords. */
import { raw } from "@mikro-orm/postgresql";
import type { Transaction } from "../../core/postgres/transaction.ts";
import { badRequest } from "../../core/errors.ts";
import { newUuid } from "../../core/ids.ts";
import { systemActor } from "../../core/principal.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { User } from "../../organizations/api.ts";
import type { ClientInfo } from "../auth/auth-request.ts";
import { formAttempts } from "../auth/throttle.ts";
import type { AccountContext } from "../context.ts";
import { PASSWORD_PROVIDER, UserCredential } from "../credential.entity.ts";
import {
  checkEmailToken,
  consumeEmailToken,
  invalidEmailToken,
  issueEmailLink,
  revokeEmailTokens,
} from "../email-token.service.ts";
import { UserSession } from "../sessions/entity.ts";
import { notSignedInError, type SessionPrincipal } from "../sessions/session-principal.ts";
import { passwordOf, revokeSessions, UserService } from "../user.service.ts";
import { FORGOTTEN_PASSWORD_PATH, passwordChangedMail, passwordResetMail } from "./mails.ts";
import { checkPassword } from "./rules.ts";

export class PasswordService {
  readonly #context: AccountContext;
  readonly #users: UserService;

  constructor(context: AccountContext) {
    this.#context = context;
    this.#users = new UserService(context);
  }

  /** For actions that require the password again. Throws BadRequestException for `field`, and TooManyRequestsException. */
  async verifyPassword(userId: string, password: string, field: string): Promise<void> {
    const { database, throttle } = this.#context;
    await throttle.take(["password-account", userId]);
    if (!(await this.#users.verifyPasswordHash(database, userId, password)))
      throw badRequest([{ location: "body", field, code: "invalid_value", message: "is not your password" }]);
    await throttle.refund(["password-account", userId]);
  }

  /** Revokes the user's other sessions. */
  async changePassword(
    principal: SessionPrincipal,
    { current, next }: { current: string; next: string },
    client: ClientInfo,
  ): Promise<void> {
    const { database, hasher } = this.#context;
    const { user, sessionId } = principal;
    checkPassword(next, user.email, "new_password");
    await this.verifyPassword(user.id, current, "current_password");
    const hash = await hasher.hash(next);
    await database.transaction(async (tx) => {
      const sessionsEnded = await this.#replace(tx, user, hash, sessionId);
      // The credential is locked by now: a concurrent change of the password has already deleted the session.
      if ((await tx.em().count(UserSession, { id: sessionId })) === 0) throw notSignedInError();
      const details = { sessions_ended: sessionsEnded };
      await recordAuditEvent(tx, { ...principal, ...client, action: "password.changed", details });
    });
  }

  /**
   * Mails a reset link if the e-mail address has an account. Resolves before the look-up, so that the response and its
   * timing don't reveal whether it has one.
   */
  async forgotPassword(email: string, client: ClientInfo): Promise<void> {
    const { throttle, backgroundQueue } = this.#context;
    await throttle.take(...formAttempts(client.ipAddress));
    backgroundQueue.run("forgotten password", () => this.#sendResetLink(email, client));
  }

  /** Revokes all of the user's sessions. Throws NotFoundException for an invalid link. */
  async resetPassword(
    { token, password }: { token: string; password: string },
    client: ClientInfo,
  ): Promise<void> {
    const { database, hasher } = this.#context;
    const link = await checkEmailToken(this.#context, token, client, "password_reset");
    const { subjectId: id, email } = link;
    // Before the link is used up, so that the user can try another password.
    checkPassword(password, email);
    const hash = await hasher.hash(password);
    await database.transaction(async (tx) => {
      await consumeEmailToken(tx, this.#context, link);
      const user = await tx.em().findOne(User, { id });
      if (!user) throw invalidEmailToken();
      await recordAuditEvent(tx, {
        ...client,
        action: "password.reset",
        actor: { type: "user", id },
        organizationId: user.organization?.id ?? null,
        details: { sessions_ended: await this.#replace(tx, user, hash) },
      });
    });
  }

  /** Stores the new password, ends what the old one opened and mails the user. Returns the number of revoked sessions. */
  async #replace(
    tx: Transaction,
    { id, email }: Pick<User, "id" | "email">,
    hash: string,
    keptSessionId?: string,
  ): Promise<number> {
    const { mails, pageUrl } = this.#context;
    // A reset link from before could replace the new password. Locks the token first, as resetPassword does, to avoid deadlocks.
    await revokeEmailTokens(tx, "password_reset", id);
    const em = tx.em();
    const change = { password: hash, updatedAt: raw("now()") };
    // Single sign-on may have created the account.
    if ((await em.nativeUpdate(UserCredential, { user: id, providerId: PASSWORD_PROVIDER }, change)) === 0)
      await em.insert(UserCredential, { id: newUuid(), user: id, ...passwordOf(id, hash) });
    await mails.enqueue(tx, passwordChangedMail(email, pageUrl(FORGOTTEN_PASSWORD_PATH)));
    return await revokeSessions(tx, id, { id: keptSessionId });
  }

  async #sendResetLink(email: string, client: ClientInfo): Promise<void> {
    const { database, mails, sso, throttle } = this.#context;
    const user = await database.em().findOne(User, { email });
    // With SSO_ONLY the password would not sign them in.
    if (!user || (await sso.isRequiredFor(user))) return;
    // Limited per account, so that others can't flood the user's mailbox.
    if (!(await throttle.tryTake(["reset-account", email]))) return;
    await database.transaction(async (tx) => {
      const subject = { kind: "password_reset", subjectId: user.id, email } as const;
      const { url } = await issueEmailLink(tx, this.#context, subject);
      await mails.enqueue(tx, passwordResetMail(email, url));
      await recordAuditEvent(tx, {
        ...client,
        action: "password.forgotten",
        actor: systemActor,
        organizationId: user.organization?.id ?? null,
        subject: email,
      });
    });
  }
}
