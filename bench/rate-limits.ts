/** Rate limits that are counted and never reached. */
import type pg from "pg";

const WIDE_LIMIT = { perSecond: 1_000, burst: 1_000 };
const WIDE = { read: WIDE_LIMIT, write: WIDE_LIMIT, batch: WIDE_LIMIT };

/** For every key that there is. */
export async function widenLimits(client: pg.Client): Promise<void> {
  await client.query("update api_key set rate_limits = $1", [JSON.stringify(WIDE)]);
}
