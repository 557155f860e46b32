/** Sends what is due by the time of day, reminds of expiring keys, and posts the queued messages to users' webhooks. */
import type { Clock } from "../core/clock.ts";
import { toTypedId } from "../core/ids.ts";
import type { Logger } from "../core/logger.ts";
import type { Database } from "../core/postgres/database.ts";
import { type OrganizationPrincipal, systemActor } from "../core/principal.ts";
import { DAY_MS, MINUTE_MS } from "../core/time.ts";
import type { JobService } from "../jobs/api.ts";
import { Notification } from "./entity.ts";
import { DELIVERY_ROLES, rolesByKind } from "./kinds.ts";
import { type DeliveryCounts, digestMessage, keyMessage, lateMessage } from "./messages.ts";
import type { NotificationEvent, Notify } from "./notify.ts";
import { type DueMorning, dueMornings, expiringKeys, leasePost } from "./recipients.sql.ts";
import { recordPost } from "./settings.service.ts";
import type { WebhookPoster } from "./webhook.ts";

export interface NotificationWorkerDeps {
  readonly database: Database;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly notify: Notify;
  readonly pageUrl: (path: string) => string;
  readonly poster: Pick<WebhookPoster, "post">;
  readonly jobs: Pick<JobService, "list" | "stats">;
  /** Of an organisation (a UUID) since a time. */
  readonly countDeliveries: (organizationId: string, since: Date) => Promise<DeliveryCounts>;
}

/** The delays before the second and the third attempt of a post, which is the last. */
const RETRY_DELAYS_MS = [MINUTE_MS, 10 * MINUTE_MS];
/** Longer than the request's timeout. */
const LEASE_MS = MINUTE_MS;
const CONCURRENT_POSTS = 4;
const RETENTION_MS = 30 * DAY_MS;
const MAX_LISTED = 10;

export class NotificationWorker {
  readonly #deps: NotificationWorkerDeps;

  constructor(deps: NotificationWorkerDeps) {
    this.#deps = deps;
  }

  /** Sends the lists and digests of organisations where it is morning, and then all posts that are due. */
  async sweep(): Promise<void> {
    const { database, clock } = this.#deps;
    for (const due of await dueMornings(database, clock.now()))
      await this.#send(due.organizationId, () => this.#eventsOf(due));
    await Promise.all(Array.from({ length: CONCURRENT_POSTS }, () => this.#postDue()));
  }

  /** Reminds of keys that expire within 7 days, and deletes notifications older than 30 days. */
  async remind(): Promise<void> {
    const { database, clock, pageUrl } = this.#deps;
    for (const key of await expiringKeys(database, clock.now())) {
      const { organizationId } = key;
      const id = `${toTypedId("key", key.id)} ${key.expiresAt}`;
      const event = {
        organizationId,
        kind: "key_expiring",
        key: id,
        message: keyMessage(key, pageUrl),
      } as const;
      await this.#send(organizationId, async () => [event]);
    }
    const expired = { createdAt: { $lt: new Date(clock.now() - RETENTION_MS) } };
    await database.em().nativeDelete(Notification, expired);
  }

  /** A failure is logged, so that the others are sent. The next sweep tries again. */
  async #send(organizationId: string, readEvents: () => Promise<NotificationEvent[]>): Promise<void> {
    const { database, notify, logger } = this.#deps;
    try {
      const events = await readEvents();
      await database.transaction(async (tx) => {
        for (const event of events) await notify(tx, event);
      });
    } catch (error) {
      const organization = toTypedId("org", organizationId);
      logger.warn({ organization, error: (error as Error).message }, "a notification was not sent");
    }
  }

  async #eventsOf({ kind, day, organizationId, ...due }: DueMorning): Promise<NotificationEvent[]> {
    const { jobs, pageUrl, countDeliveries } = this.#deps;
    const principal: OrganizationPrincipal = { ...due, organizationId, actor: systemActor };
    const event = { organizationId, kind, key: day };
    const late = { isLate: true };
    if (kind === "late_jobs") {
      const { items, total } = await jobs.list(principal, {
        filter: late,
        order: { field: "due_date", descending: false },
        page: { direction: "forward", limit: MAX_LISTED, position: null },
        include: { items: true, total: true },
      });
      return [{ ...event, message: total === 0 ? null : lateMessage(items, total ?? 0, pageUrl) }];
    }
    const from = new Date(Date.parse(day) - 7 * DAY_MS).toISOString().slice(0, 10);
    const only = { groups: false, pieceQuantity: false, weight: false };
    const [week, lateJobs, deliveries] = await Promise.all([
      jobs.stats(principal, {
        filter: { dueDate: { gte: from, lt: day } },
        groupBy: ["CATEGORY", "STATUS"],
        include: { ...only, groups: true },
      }),
      jobs.stats(principal, { filter: late, groupBy: [], include: only }),
      countDeliveries(organizationId, new Date(this.#deps.clock.now() - 7 * DAY_MS)),
    ]);
    const digest = { from, until: day, week, late: lateJobs.total };
    const others = rolesByKind[kind].filter((role) => !DELIVERY_ROLES.includes(role));
    return [
      { ...event, roles: DELIVERY_ROLES, message: digestMessage({ ...digest, deliveries }, pageUrl) },
      { ...event, roles: others, message: digestMessage({ ...digest, deliveries: null }, pageUrl) },
    ];
  }

  async #postDue(): Promise<void> {
    const { database, poster } = this.#deps;
    for (let post = await leasePost(database, LEASE_MS); post; post = await leasePost(database, LEASE_MS)) {
      const { id, userId, message, attempts, webhookUrl } = post;
      const result = await poster.post(userId, webhookUrl, message);
      const delayMs = result.delivered ? undefined : RETRY_DELAYS_MS[attempts - 1];
      const next =
        delayMs === undefined ? { message: null, dueAt: null } : { dueAt: new Date(Date.now() + delayMs) };
      await database.em().nativeUpdate(Notification, { id, attempts }, next);
      await recordPost(database, userId, result);
    }
  }
}
