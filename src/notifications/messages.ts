/** The texts of notifications, for mails and webhooks. */
import type { JobRow, JobStats } from "../jobs/api.ts";
import type { NotificationMessage } from "./notify.ts";
import type { ExpiringKey } from "./recipients.sql.ts";

type PageUrl = (path: string) => string;

/** Finished deliveries. */
export interface DeliveryCounts {
  readonly delivered: number;
  readonly failed: number;
}

/** `date`: `YYYY-MM-DD`. Returns for example `23 November`. */
function dayText(date: string): string {
  const format = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });
  return format.format(new Date(date));
}

const count = (amount: number, noun: string): string => `${amount} ${noun}${amount === 1 ? "" : "s"}`;

/** Webhooks get it too, so of a job it has only the Marking Number, the status and the date. */
export function lateMessage(jobs: readonly JobRow[], total: number, pageUrl: PageUrl): NotificationMessage {
  const lines = jobs.map((job) => {
    const due = job.scheduled_delivery_date ?? job.scheduled_date ?? "";
    return `${job.marking_number}: ${job.normalized_status.replaceAll("_", " ")}, due ${dayText(due)}`;
  });
  const rest = total - jobs.length;
  return {
    mailKind: "late_jobs",
    title: `${count(total, "job")} ${total === 1 ? "is" : "are"} late`,
    paragraphs: [lines.join("\n"), ...(rest > 0 ? [`And ${rest} more.`] : [])],
    action: { label: "View late jobs", url: pageUrl("/jobs?late=true") },
  };
}

export interface Digest {
  /** The first day, and the day after the last: `YYYY-MM-DD`. */
  readonly from: string;
  readonly until: string;
  /** Of the jobs due in the week, by category and status. */
  readonly week: JobStats;
  /** The jobs that are late now. */
  readonly late: number;
  /** Null for recipients who do not see deliveries. */
  readonly deliveries: DeliveryCounts | null;
}

export function digestMessage(
  { from, until, week, late, deliveries }: Digest,
  pageUrl: PageUrl,
): NotificationMessage {
  const sum = (matches: (category: string | null, status: string | null) => boolean): number =>
    week.groups
      .filter(({ values: [category = null, status = null] }) => matches(category, status))
      .reduce((total, group) => total + group.count, 0);
  const done = sum((category) => category === "success");
  const failed = sum((_category, status) => status === "failed");
  const last = new Date(Date.parse(until) - 1).toISOString().slice(0, 10);
  return {
    mailKind: "weekly_digest",
    title: `Your week from ${dayText(from)} to ${dayText(last)}`,
    paragraphs: [
      `Jobs due: ${week.total}. Delivered: ${done}. Failed: ${failed}.\nLate now: ${late}.`,
      ...(deliveries ? [deliveryText(deliveries)] : []),
    ],
    action: { label: "Open the dashboard", url: pageUrl("/") },
  };
}

function deliveryText({ delivered, failed }: DeliveryCounts): string {
  const total = delivered + failed;
  if (total === 0) return "Webhook deliveries: none.";
  // Rounded down, so that 100 % means that none failed.
  const percent = Math.floor((delivered * 1_000) / total) / 10;
  return `Webhook deliveries: ${percent} % of ${total} succeeded.`;
}

export function keyMessage({ name, prefix, expiresAt }: ExpiringKey, pageUrl: PageUrl): NotificationMessage {
  const at = `${expiresAt.slice(0, 16).replace("T", " ")} UTC`;
  return {
    mailKind: "key_expiring",
    subject: `An API key expires soon: ${name}`,
    title: "An API key expires soon",
    paragraphs: [
      `The key ${name} (${prefix}…) expires on ${at}. From then on its requests are rejected.`,
      "Rotate it in the console, or create a new key, and replace it in your integration before.",
    ],
    action: { label: "View API keys", url: pageUrl("/integrations/keys") },
  };
}
