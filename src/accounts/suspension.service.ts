/** Suspends, restores, renames and views organisations, and lets agents import jobs, for operators. */
import { randomUUID } from "node:crypto";
import { LockMode, UniqueConstraintViolationException } from "@mikro-orm/postgresql";
import { lockOrganization } from "../api-keys/api.ts";
import { AppError, badRequest, invariant } from "../core/errors.ts";
import { fromTypedId } from "../core/ids.ts";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { Organization, testNameOf, User } from "../organizations/api.ts";
import type { AccountContext } from "./context.ts";
import { UserSession } from "./sessions/entity.ts";

/** `id`: typed. The caller must check that the principal is an operator. Throws NotFoundException. All methods are idempotent. */
export class SuspensionService {
  readonly #context: Pick<AccountContext, "database" | "clock" | "notifyWorkers">;

  constructor(context: Pick<AccountContext, "database" | "clock" | "notifyWorkers">) {
    this.#context = context;
  }

  /**
   * Every process rejects the organisation's keys within a second, and its members' sessions at once. Its deliveries are
   * queued but not sent until it is restored. `reason`: for the audit log.
   */
  suspend(context: AuditContext, id: string, reason: string | null): Promise<Organization> {
    const details = reason === null ? null : { reason };
    return this.#setSuspended(context, id, { suspended: true, details });
  }

  async restore(context: AuditContext, id: string): Promise<Organization> {
    const organization = await this.#setSuspended(context, id, { suspended: false, details: null });
    // After the commit: before it, workers would still see the organisation as suspended.
    this.#context.notifyWorkers();
    return organization;
  }

  /** Events of the past keep the former name. Throws ConflictException if a live organisation has the name. */
  async rename(context: AuditContext, typedId: string, name: string): Promise<Organization> {
    const organizationId = toUuid(typedId);
    const rename = this.#context.database.transactional(async (em, tx) => {
      const [live, ...tests] = await lockOrganization(tx, organizationId);
      const details = { from: live.name, to: name };
      live.name = name;
      for (const test of tests) test.name = testNameOf(live, test.type);
      const event = { action: "organization.renamed", subject: typedId, details };
      if (details.from !== name) await recordAuditEvent(em, { ...context, ...event, organizationId });
      return live;
    });
    return await rename.catch((error: unknown) => {
      if (!(error instanceof UniqueConstraintViolationException)) throw error;
      throw new AppError("ConflictException", `An organisation named "${name}" already exists`, {
        cause: error,
      });
    });
  }

  /** Lets the operator's session view the live organisation as its viewers see it, in the mode `partner`. */
  async view(
    context: AuditContext & { readonly sessionId?: string },
    typedId: string,
  ): Promise<Organization> {
    const id = toUuid(typedId);
    const { sessionId } = context;
    invariant(sessionId, "the access of the operation is a user's");
    return await this.#context.database.transactional(async (em) => {
      const organization = await em.findOne(Organization, { id, liveOrganization: null });
      if (!organization) throw noSuchOrganization();
      await em.nativeUpdate(UserSession, { id: sessionId }, { viewedOrganizationId: id });
      const event = { action: "organization.viewed", organizationId: id, subject: typedId };
      await recordAuditEvent(em, { ...context, ...event });
      return organization;
    });
  }

  /** Users of an agent can import jobs in the console, or not. Throws BadRequestException for a contractor. */
  async allowJobImport(context: AuditContext, typedId: string, allowed: boolean): Promise<Organization> {
    const id = toUuid(typedId);
    return await this.#context.database.transactional(async (em) => {
      const where = { id, liveOrganization: null };
      const organization = await em.findOne(Organization, where, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (!organization) throw noSuchOrganization();
      if (organization.type !== "agent")
        throw badRequest([], "Only agents own jobs and can import them, and this is a contractor");
      if (organization.canImportJobs === allowed) return organization;
      organization.canImportJobs = allowed;
      await em.flush();
      const action = allowed ? "organization.import_allowed" : "organization.import_forbidden";
      const event = { action, subject: typedId, details: null };
      await recordAuditEvent(em, { ...context, ...event, organizationId: id });
      return organization;
    });
  }

  async #setSuspended(
    context: AuditContext,
    typedId: string,
    { suspended, details }: { suspended: boolean; details: Record<string, unknown> | null },
  ): Promise<Organization> {
    const { database, clock } = this.#context;
    const organizationId = toUuid(typedId);
    return await database.transactional(async (em, tx) => {
      const [live, ...tests] = await lockOrganization(tx, organizationId);
      if (Boolean(live.suspendedAt) === suspended) return live;
      for (const each of [live, ...tests]) each.suspendedAt = suspended ? new Date(clock.now()) : null;
      const action = suspended ? "organization.suspended" : "organization.restored";
      // A session from before the suspension may be compromised. Until now the member read why it was rejected.
      if (!suspended) {
        const members = { organization: organizationId };
        await em.nativeUpdate(User, members, { epoch: randomUUID() });
        await em.nativeDelete(UserSession, { user: members });
      }
      await recordAuditEvent(em, { ...context, action, organizationId, subject: typedId, details });
      return live;
    });
  }
}

function toUuid(typedId: string): string {
  const id = fromTypedId("org", typedId);
  if (id === null) throw noSuchOrganization();
  return id;
}

function noSuchOrganization(): AppError {
  return new AppError("NotFoundException", "There is no such organisation");
}
