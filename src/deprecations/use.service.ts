/** Lists what organisations use of the deprecated parts, mails their owners before the removal, and purges old records. */
import type { MailService } from "../mail/api.ts";
import { forTenant } from "../organizations/api.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import type { Database, Reader } from "../platform/postgres/database.ts";
import type { Principal } from "../platform/principal.ts";
import { DAY_MS } from "../platform/time.ts";
import { dayOf, nameOf, type Deprecation } from "./deprecation.ts";
import { sunsetThresholdOf, notifyOwners } from "./sunset-notice.ts";
import { DeprecationNotice, DeprecationUse } from "./use.entity.ts";

/** A use is recent for this long. The console, GraphQL and mails leave out older ones. */
const RECENT_USE_MS = 30 * DAY_MS;
/** Uses are deleted this long after the last one, and notices this long after the removal. */
const RETENTION_MS = 90 * DAY_MS;

/** Of all deprecations together. */
const MAX_LISTED_USES = 1_000;

/** Something deprecated, and the recent uses by active keys, the latest first. */
export interface UsedDeprecation {
  readonly deprecation: Deprecation;
  /** For people, such as `GET /v1/jobs: query parameter page`. */
  readonly name: string;
  readonly uses: readonly DeprecationUse[];
}

export interface UseServiceDeps {
  database: Database;
  clock: Clock;
  logger: Logger;
  mails: Pick<MailService, "enqueue">;
  /** Returns the URL of a page of the console or the guide. */
  pageUrl: (path: string) => string;
  deprecations: readonly Deprecation[];
}

export class DeprecationUseService {
  readonly #deps: UseServiceDeps;

  constructor(deps: UseServiceDeps) {
    this.#deps = deps;
  }

  /** Lists what is deprecated, the earliest removal first, with recent uses of the principal's organisation; for an operator, of all. */
  async list(
    principal: Pick<Principal, "organizationId">,
    on: Reader = this.#deps.database,
  ): Promise<UsedDeprecation[]> {
    const { deprecations } = this.#deps;
    if (deprecations.length === 0) return [];
    const uses = await this.#findUses(on, principal);
    const byDeprecation = Map.groupBy(uses, ({ deprecation }) => deprecation);
    return deprecations
      .toSorted((one, other) => one.sunset.localeCompare(other.sunset) || one.id.localeCompare(other.id))
      .map((deprecation) => ({
        deprecation,
        name: nameOf(deprecation),
        uses: byDeprecation.get(deprecation.id) ?? [],
      }));
  }

  /**
   * Enqueues the mails to owners that are due 90, 30 and 7 days before a removal: one for each organisation, deprecation and
   * threshold, if an active key used it in the last 30 days. After a pause it sends only the most urgent one.
   */
  async mailOwners(): Promise<void> {
    const { clock, database, deprecations, logger } = this.#deps;
    const nowMs = clock.now();
    for (const deprecation of deprecations) {
      const threshold = sunsetThresholdOf(deprecation, nowMs);
      if (threshold === null) continue;
      const uses = await database
        .em()
        .find(
          DeprecationUse,
          { deprecation: deprecation.id, ...recentAt(nowMs) },
          { orderBy: LATEST_FIRST, populate: ["apiKey"], filters: false },
        );
      for (const [organizationId, ownUses] of Map.groupBy(uses, ({ organization }) => organization.id)) {
        const notice = { organizationId, deprecation, threshold, uses: ownUses, nowMs };
        const count = await notifyOwners(this.#deps, notice);
        if (count > 0)
          logger.info(
            { deprecation: deprecation.id, organization: organizationId, days: threshold, mails: count },
            "mailed the owners of an organisation about the removal of something it uses",
          );
      }
    }
  }

  /**
   * Deletes old uses and notices, and returns their number. It looks at dates only: a process of the former release does not
   * know the deprecations that a newer one counts.
   */
  async purgeExpired(): Promise<number> {
    const { clock, database } = this.#deps;
    const before = new Date(clock.now() - RETENTION_MS);
    const em = database.em();
    const uses = await em.nativeDelete(DeprecationUse, { lastUsedAt: { $lt: before } }, { filters: false });
    return uses + (await em.nativeDelete(DeprecationNotice, { sunset: { $lt: dayOf(before) } }));
  }

  #findUses(on: Reader, { organizationId }: Pick<Principal, "organizationId">): Promise<DeprecationUse[]> {
    const { clock, deprecations } = this.#deps;
    const ids = deprecations.map(({ id }) => id);
    const em = organizationId === null ? on.em() : forTenant(on.em(), { organizationId });
    return em.find(
      DeprecationUse,
      { deprecation: { $in: ids }, ...recentAt(clock.now()) },
      { orderBy: LATEST_FIRST, populate: ["apiKey", "organization"], limit: MAX_LISTED_USES },
    );
  }
}

const LATEST_FIRST = { lastUsedAt: "desc", apiKey: { id: "asc" } } as const;

/** True of recent uses by keys that have not ended. */
function recentAt(nowMs: number) {
  const isActive = { revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(nowMs) } }] };
  return { lastUsedAt: { $gte: new Date(nowMs - RECENT_USE_MS) }, apiKey: isActive };
}
