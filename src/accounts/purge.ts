/** Deletes sessions, links and account requests that nothing needs any more. */
import { raw } from "@mikro-orm/postgresql";
import type { Database } from "../core/postgres/database.ts";
import { DAY_MS } from "../core/time.ts";
import { EmailToken } from "./email-token.service.ts";
import { AccountRequest } from "./requests/entity.ts";
import { SESSION_IDLE_MS, UserSession, UserVerification } from "./sessions/entity.ts";

/** Requests that no operator has decided by then are deleted, so that public forms cannot fill the table. */
const UNDECIDED_DAYS = 90;

/**
 * Deletes expired and idle sessions by PostgreSQL's clock, used and expired links, decided account requests after
 * `retentionDays`, and undecided ones after 90 days. Keeps expired registration links of approved requests: a new request with
 * the e-mail address gets another link.
 */
export async function purgeAccountData(
  database: Database,
  { nowMs, retentionDays }: { nowMs: number; retentionDays: number },
): Promise<void> {
  const now = new Date(nowMs);
  const decidedBefore = new Date(nowMs - retentionDays * DAY_MS);
  const createdBefore = new Date(nowMs - UNDECIDED_DAYS * DAY_MS);
  const idle = { $lte: raw("now() - make_interval(secs => ?)", [SESSION_IDLE_MS / 1_000]) };
  await database.transactional(async (em) => {
    await em.nativeDelete(UserSession, {
      $or: [{ expiresAt: { $lte: raw("now()") } }, { lastSeenAt: idle }],
    });
    await em.nativeDelete(UserVerification, { expiresAt: { $lte: raw("now()") } });
    await em.nativeDelete(EmailToken, {
      $or: [{ usedAt: { $ne: null } }, { expiresAt: { $lt: now }, kind: { $ne: "registration" } }],
    });
    await em.nativeDelete(AccountRequest, {
      $or: [
        { status: ["registered", "rejected"], decidedAt: { $lt: decidedBefore } },
        { status: ["pending", "awaiting_reply"], createdAt: { $lt: createdBefore } },
      ],
    });
  });
}
