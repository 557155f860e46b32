/** Mails to the owners of an organisation about the removal of something that its API keys use. */
import { LockMode } from "@mikro-orm/postgresql";
import { composeMail, type MailService, type NewMail } from "../mail/api.ts";
import { User } from "../organizations/api.ts";
import type { Database } from "../platform/postgres/database.ts";
import { DAY_MS } from "../platform/time.ts";
import { dayOf, nameOf, sunsetMsOf, type Deprecation } from "./deprecation.ts";
import { DeprecationNotice, type DeprecationUse } from "./use.entity.ts";

/** Owners get a mail this many days before the removal. */
export const SUNSET_THRESHOLDS = [90, 30, 7] as const;
export type SunsetThreshold = (typeof SUNSET_THRESHOLDS)[number];

/** Keys that a mail names. The console lists all. */
const MAX_NAMED_KEYS = 20;

/** Returns the most urgent threshold that has passed; null more than 90 days before the removal, or after it. */
export function sunsetThresholdOf(deprecation: Deprecation, nowMs: number): SunsetThreshold | null {
  const days = daysUntil(deprecation, nowMs);
  return days <= 0 ? null : (SUNSET_THRESHOLDS.findLast((threshold) => days <= threshold) ?? null);
}

/** Started days count. */
function daysUntil(deprecation: Deprecation, nowMs: number): number {
  return Math.ceil((sunsetMsOf(deprecation) - nowMs) / DAY_MS);
}

export interface SunsetNotice {
  readonly organizationId: string;
  readonly deprecation: Deprecation;
  readonly threshold: SunsetThreshold;
  /** Of the organisation's keys, the latest first. */
  readonly uses: readonly DeprecationUse[];
  readonly nowMs: number;
}

export interface SunsetNoticeDeps {
  database: Database;
  mails: Pick<MailService, "enqueue">;
  pageUrl: (path: string) => string;
}

/**
 * Enqueues a mail to each owner and stores the threshold in the same transaction, so that it is mailed once. Returns the number
 * of mails: 0 if this threshold or a later one was mailed, or the organisation has no owner.
 */
export function notifyOwners(
  { database, mails, pageUrl }: SunsetNoticeDeps,
  notice: SunsetNotice,
): Promise<number> {
  const { organizationId: organization, deprecation, threshold } = notice;
  return database.transactional(async (em, tx) => {
    const owners = await em.find(User, { organization, role: "owner" }, { filters: false });
    if (owners.length === 0) return 0;
    const id = { organization, deprecation: deprecation.id, sunset: deprecation.sunset };
    // Another process may insert it at the same time: this waits for its commit.
    await em.createQueryBuilder(DeprecationNotice).insert(id).onConflict().ignore().execute("run");
    const sent = await em.findOneOrFail(DeprecationNotice, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (typeof sent.daysBefore === "number" && sent.daysBefore <= threshold) return 0;
    sent.daysBefore = threshold;
    for (const { email } of owners) await mails.enqueue(tx, sunsetMail(email, notice, pageUrl));
    return owners.length;
  });
}

function sunsetMail(
  to: string,
  { deprecation, uses, nowMs }: SunsetNotice,
  pageUrl: (path: string) => string,
): NewMail {
  const { sunset, replacement } = deprecation;
  const name = nameOf(deprecation);
  const days = daysUntil(deprecation, nowMs);
  const when = days === 1 ? "in 1 day" : `in ${days} days`;
  const keys = uses
    .slice(0, MAX_NAMED_KEYS)
    .map(({ apiKey, lastUsedAt }) => `${apiKey.name} (${apiKey.prefix}), last on ${dayOf(lastUsedAt)}`);
  const others = uses.length - keys.length;
  return composeMail(to, "deprecation_sunset", {
    subject: `Removed ${when}: ${name}`,
    title: "Your API keys use something that will be removed",
    paragraphs: [
      `${name} is deprecated. It will be removed on ${sunset}, ${when}. ${replacement}`,
      "These API keys of your organisation used it in the last 30 days:",
      [...keys, ...(others > 0 ? [`and ${others} more`] : [])].join("\n"),
      "Requests that still use it after that day fail, or the API ignores it.",
    ],
    action: { label: "View API keys", url: pageUrl("/integrations/keys") },
    help: { label: "How we announce removals", url: pageUrl("/guide/versioning#deprecation") },
    footnote: "You received this e-mail because you are an owner of your organisation.",
  });
}
