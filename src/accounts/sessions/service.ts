/** Lists and revokes users' sessions, and turns on test mode for those of an organisation. */
import { changeKeys } from "../../api-keys/api.ts";
import { recordAuditEvent } from "../../audit/api.ts";
import { hasTestOrganizations, Organization, testOrganizationOf } from "../../organizations/api.ts";
import { AppError } from "../../core/errors.ts";
import { isUuid } from "../../core/ids.ts";
import type { ClientInfo } from "../auth/auth-request.ts";
import type { AccountContext } from "../context.ts";
import { revokeSessions } from "../user.service.ts";
import { activeAt, UserSession } from "./entity.ts";
import type { SessionPrincipal } from "./session-principal.ts";

const MAX_LISTED_SESSIONS = 100;

export class SessionService {
  readonly #context: AccountContext;

  constructor(context: AccountContext) {
    this.#context = context;
  }

  /** The user's active sessions, last used first; at most 100. */
  async list({ user }: SessionPrincipal): Promise<UserSession[]> {
    const { database, clock } = this.#context;
    const options = { orderBy: { lastSeenAt: "desc", id: "desc" }, limit: MAX_LISTED_SESSIONS } as const;
    return await database.em().find(UserSession, { user: user.id, ...activeAt(clock.now()) }, options);
  }

  /** `id`: a uuid. Throws NotFoundException if the user has no such session. */
  async revoke(principal: SessionPrincipal, id: string, client: ClientInfo): Promise<void> {
    await this.#context.database.transactional(async (em, tx) => {
      const own = { id, user: principal.user.id };
      if (!isUuid(id) || (await em.nativeDelete(UserSession, own)) === 0)
        throw new AppError("NotFoundException", "You have no such session");
      await recordAuditEvent(tx, { ...principal, ...client, action: "session.ended", details: { count: 1 } });
    });
  }

  /** Revokes all of the user's sessions except this one. Returns their number. */
  revokeOthers(principal: SessionPrincipal, client: ClientInfo): Promise<number> {
    return this.#context.database.transaction(async (tx) => {
      const count = await revokeSessions(tx, principal.user.id, { id: principal.sessionId });
      if (count > 0)
        await recordAuditEvent(tx, { ...principal, ...client, action: "session.ended", details: { count } });
      return count;
    });
  }

  /**
   * Creates the test organisations of the principal's organisation. Idempotent. Throws ForbiddenException for operators, and
   * for users without `keys:manage` if there are none yet.
   */
  async turnOnTestMode({ organizationId, scopes }: SessionPrincipal): Promise<void> {
    if (organizationId === null) throw new AppError("ForbiddenException", "Operators have no test mode");
    if (await hasTestOrganizations(this.#context.database, organizationId)) return;
    if (!scopes.includes("keys:manage"))
      throw new AppError(
        "ForbiddenException",
        "Your organisation has no test data yet. Ask an owner or developer to switch to test mode once",
      );
    // Holds the access lock, so that a suspension at the same time covers the test organisations too.
    await changeKeys(this.#context, async ({ em }) => {
      const organization = await em.findOneOrFail(Organization, { id: organizationId });
      await testOrganizationOf(em, organization, organization.type);
    });
  }
}
