/** Rate limits that are counted and never reached. */
import type pg from "pg";

const HIGH_LIMIT = { perSecond: 1_000, burst: 1_000 };
const HIGH_LIMITS = { read: HIGH_LIMIT, write: HIGH_LIMIT, batch: HIGH_LIMIT };

/** For every key that there is. */
export async function raiseRateLimits(client: pg.Client): Promise<void> {
  await client.query("update api_key set rate_limits = $1", [JSON.stringify(HIGH_LIMITS)]);
}
