/** Suspends, restores, renames and views organisations, and changes their settings. */
import { randomUUID } from "node:crypto";
import { type EntityManager, raw, UniqueConstraintViolationException } from "@mikro-orm/postgresql";
import { lockOrganization } from "../api-keys/api.ts";
import { AppError, badRequest, invariant } from "../core/errors.ts";
import { fromTypedId } from "../core/ids.ts";
import { hasSqlState } from "../core/postgres/errors.ts";
import type { Transaction } from "../core/postgres/transaction.ts";
import { type AuditContext, type AuditEvent, recordAuditEvent } from "../audit/api.ts";
import { Organization, testNameOf, User } from "../organizations/api.ts";
import type { AccountContext } from "./context.ts";
import { UserSession } from "./sessions/entity.ts";

const INVALID_PARAMETER_VALUE = "22023";

/** Changes a live organisation. Returns the audit entry of the change; null if nothing changed. */
type Change = (
  organization: Organization,
  em: EntityManager,
  tx: Transaction,
) => Promise<Pick<AuditEvent, "action" | "details"> | null>;

/**
 * `id`: the typed ID of a live organisation. The caller must check that the principal may change it. Throws NotFoundException. All
 * methods are idempotent.
 */
export class OrganizationChanges {
  readonly #context: Pick<AccountContext, "database" | "clock" | "notifyWorkers">;

  constructor(context: Pick<AccountContext, "database" | "clock" | "notifyWorkers">) {
    this.#context = context;
  }

  /**
   * Every process rejects the organisation's keys within a second, and its members' sessions at once. Its deliveries are
   * queued but not sent until it is restored. `reason`: for the audit log.
   */
  suspend(context: AuditContext, id: string, reason: string | null): Promise<Organization> {
    return this.#change(context, id, async (organization, _em, tx) => {
      const all = await lockOrganization(tx, organization.id);
      if (organization.suspendedAt) return null;
      for (const each of all) each.suspendedAt = new Date(this.#context.clock.now());
      return { action: "organization.suspended", details: reason === null ? null : { reason } };
    });
  }

  async restore(context: AuditContext, id: string): Promise<Organization> {
    const restored = await this.#change(context, id, async (organization, em, tx) => {
      const all = await lockOrganization(tx, organization.id);
      if (!organization.suspendedAt) return null;
      for (const each of all) each.suspendedAt = null;
      // A session from before the suspension may be compromised. Until now the member read why it was rejected.
      const members = { organization: organization.id };
      await em.nativeUpdate(User, members, { epoch: randomUUID() });
      await em.nativeDelete(UserSession, { user: members });
      return { action: "organization.restored" };
    });
    // After the commit: before it, workers would still see the organisation as suspended.
    this.#context.notifyWorkers();
    return restored;
  }

  /** Events of the past keep the former name. Throws ConflictException if a live organisation has the name. */
  async rename(context: AuditContext, id: string, name: string): Promise<Organization> {
    const rename = this.#change(context, id, async (organization, _em, tx) => {
      const [live, ...tests] = await lockOrganization(tx, organization.id);
      const details = { from: live.name, to: name };
      live.name = name;
      for (const test of tests) test.name = testNameOf(live, test.type);
      return details.from === name ? null : { action: "organization.renamed", details };
    });
    return await rename.catch((error: unknown) => {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new AppError("ConflictException", `An organisation named "${name}" already exists`, {
        cause: error,
      });
    });
  }

  /**
   * Sets the IANA time zone in which the days of the organisation and its test organisations begin and end. Every process uses it
   * within a second. Throws BadRequestException for a time zone that PostgreSQL does not know.
   */
  setTimeZone(context: AuditContext, id: string, timeZone: string): Promise<Organization> {
    return this.#change(context, id, async (organization, em, tx) => {
      await checkTimeZone(em, timeZone);
      const all = await lockOrganization(tx, organization.id);
      const details = { from: organization.timeZone, to: timeZone };
      for (const each of all) each.timeZone = timeZone;
      return details.from === timeZone ? null : { action: "organization.time_zone_changed", details };
    });
  }

  /** Lets the operator's session view the live organisation as its viewers see it, in the mode `partner`. */
  view(context: AuditContext & { readonly sessionId?: string }, id: string): Promise<Organization> {
    const { sessionId } = context;
    invariant(sessionId, "the access of the operation is a user's");
    return this.#change(context, id, async (organization, em) => {
      await em.nativeUpdate(UserSession, { id: sessionId }, { viewedOrganizationId: organization.id });
      return { action: "organization.viewed" };
    });
  }

  /** Users of an agent can import jobs in the console, or not. Throws BadRequestException for a contractor. */
  allowJobImport(context: AuditContext, id: string, allowed: boolean): Promise<Organization> {
    return this.#change(context, id, async (organization) => {
      if (organization.type !== "agent")
        throw badRequest([], "Only agents own jobs and can import them, and this is a contractor");
      if (organization.canImportJobs === allowed) return null;
      organization.canImportJobs = allowed;
      return { action: allowed ? "organization.import_allowed" : "organization.import_forbidden" };
    });
  }

  #change(context: AuditContext, typedId: string, change: Change): Promise<Organization> {
    const id = fromTypedId("org", typedId);
    return this.#context.database.transactional(async (em, tx) => {
      const organization = id && (await em.findOne(Organization, { id, liveOrganization: null }));
      if (!organization) throw new AppError("NotFoundException", "There is no such organisation");
      const event = await change(organization, em, tx);
      if (event) await recordAuditEvent(em, { ...context, ...event, organizationId: id, subject: typedId });
      return organization;
    });
  }
}

/** PostgreSQL's list of time zones is not that of Node. */
async function checkTimeZone(em: EntityManager, timeZone: string): Promise<void> {
  const now = raw("now() at time zone ?", [timeZone]);
  try {
    await em.createQueryBuilder(Organization).select(now).limit(1).execute("get");
  } catch (error) {
    if (!hasSqlState(error, INVALID_PARAMETER_VALUE)) throw error;
    const message = "is not known to the database";
    throw badRequest([{ location: "body", field: "timeZone", code: "invalid_value", message }]);
  }
}
