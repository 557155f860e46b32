/** What operators see and do about test organisations. */
import { ApiKey } from "../api-keys/api.ts";
import { type AuditContext, recordAuditEvent } from "../audit/api.ts";
import { Job } from "../jobs/api.ts";
import { Organization } from "../organizations/api.ts";
import type { Clock } from "../core/clock.ts";
import { AppError } from "../core/errors.ts";
import { toTypedId } from "../core/ids.ts";
import type { Database } from "../core/postgres/database.ts";
import type { DeletedTestData, TestModeService } from "./service.ts";
import { TestRun } from "./test-run.entity.ts";

export interface TestUse {
  live: Organization;
  jobs: number;
  /** In progress. */
  runs: number;
  /** Neither expired nor revoked. */
  activeKeys: number;
  /** Of any test key. */
  lastUsedAt: Date | null;
}

interface TestUseDeps {
  database: Database;
  clock: Clock;
  testMode: Pick<TestModeService, "reset">;
}

export class TestUseService {
  readonly #deps: TestUseDeps;

  constructor(deps: TestUseDeps) {
    this.#deps = deps;
  }

  /** Live organisations that have test organisations, by name. */
  async list(): Promise<TestUse[]> {
    const em = this.#deps.database.em();
    const test = await em.find(Organization, { liveOrganization: { $ne: null } });
    const ids = test.map(({ id }) => id);
    const live = { id: { $in: test.map(({ liveOrganization }) => liveOrganization ?? "") } };
    const [organizations, jobs, runs, keys] = await Promise.all([
      em.find(Organization, live, { orderBy: { name: "asc" } }),
      em.countBy(Job, "agent_id", { where: { agent_id: { $in: ids } } }),
      em.countBy(TestRun, "agentId"),
      em.find(ApiKey, { organization: { $in: ids } }),
    ]);
    const now = this.#deps.clock.now();
    return organizations.map((organization) => {
      const own = test.filter(({ liveOrganization }) => liveOrganization === organization.id);
      const ownIds = own.map(({ id }) => id);
      const sumOf = (counts: Readonly<Record<string, number>>): number =>
        ownIds.reduce((sum, id) => sum + (counts[id] ?? 0), 0);
      const ownKeys = keys.filter((key) => ownIds.includes(key.organization?.id ?? ""));
      const uses = ownKeys.flatMap(({ lastUsedAt }) => lastUsedAt?.getTime() ?? []);
      return {
        live: organization,
        jobs: sumOf(jobs),
        runs: sumOf(runs),
        activeKeys: ownKeys.filter(
          ({ revokedAt, expiresAt }) => !revokedAt && !(expiresAt && expiresAt.getTime() <= now),
        ).length,
        lastUsedAt: uses.length === 0 ? null : new Date(Math.max(...uses)),
      };
    });
  }

  /** Cancels all runs, then as a partner's reset, with an audit entry. Throws NotFoundException without test organisations. */
  async reset(context: AuditContext, live: Organization): Promise<DeletedTestData> {
    const { database, testMode } = this.#deps;
    if ((await database.em().count(Organization, { liveOrganization: live.id })) === 0)
      throw new AppError("NotFoundException", `${live.name} has no test organisations`);
    const deleted = await testMode.reset({ ...context, liveOrganizationId: live.id }, { cancelRuns: true });
    const subject = toTypedId("org", live.id);
    const entry = { action: "test_data.deleted", organizationId: live.id, subject };
    await recordAuditEvent(database, { ...context, ...entry, details: { ...deleted } });
    return deleted;
  }
}
