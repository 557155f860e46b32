/** Authentication of the baseline: API keys in a Map, compared by hash in constant time. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type pg from "pg";
import { toTypedId } from "../../src/core/ids.ts";
import { columnOf, type BaselineCaller } from "./statements.ts";
import { RequestError } from "./validation.ts";

/** Loads all API keys, and returns a function that authenticates a request; it throws RequestError 401. */
export async function loadCallers(
  pool: pg.Pool,
): Promise<(request: Pick<IncomingMessage, "headers">) => BaselineCaller> {
  const callers = new Map<string, BaselineCaller & { hash: Buffer }>();
  const { rows } = await pool.query<{
    prefix: string;
    hash: Buffer;
    key_id: string;
    id: string;
    type: "agent" | "contractor";
  }>(
    `select prefix, secret_hash as hash, api_key.id as key_id, organization.id, type
     from api_key join organization on organization.id = organization_id`,
  );
  for (const { prefix, hash, key_id: keyId, id, type } of rows) {
    callers.set(prefix, {
      hash,
      keyId,
      organizationId: id,
      column: columnOf(type),
      typedKeyId: toTypedId("key", keyId),
      typedOrganizationId: toTypedId("org", id),
    });
  }

  return ({ headers }) => {
    const key = headers["x-api-key"] ?? headers.authorization?.slice("Bearer ".length);
    if (typeof key !== "string") throw new RequestError(401, "An API key is required");
    const known = callers.get(key.slice(0, 12));
    if (!known || !timingSafeEqual(known.hash, createHash("sha256").update(key).digest()))
      throw new RequestError(401, "The API key is not valid");
    return known;
  };
}
