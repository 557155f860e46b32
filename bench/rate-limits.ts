/** Rate limits that are enforced but too high to be reached. */
import type pg from "pg";

const HIGH_LIMIT = { perSecond: 1_000, burst: 1_000 };
const HIGH_LIMITS = { read: HIGH_LIMIT, write: HIGH_LIMIT, batch: HIGH_LIMIT };

/** Applies to every API key in the database. */
export async function raiseRateLimits(client: pg.Client): Promise<void> {
  await client.query("update api_key set rate_limits = $1", [JSON.stringify(HIGH_LIMITS)]);
}
