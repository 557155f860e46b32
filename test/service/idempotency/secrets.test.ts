import { afterAll, beforeAll, expect, it } from "vitest";
import { IdempotencyService } from "../../../src/idempotency/api.ts";
import { entities } from "../../../src/app/entities.ts";
import { openDatabase, type Database } from "../../../src/core/postgres/database.ts";
import { sql } from "../../../src/core/postgres/sql.ts";
import { createTestDatabase } from "../../support/database/test-database.ts";

const resources = new AsyncDisposableStack();
let database: Database;

beforeAll(async () => {
  const { url } = resources.use(await createTestDatabase());
  database = resources.use(await openDatabase({ url, poolSize: 2, entities }));
});
afterAll(() => resources.disposeAsync());

const keyed = (key: string) => ({
  organizationId: "0198c2f4-0000-7000-8000-000000000001",
  route: "POST /v1/things",
  key,
  requestId: "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
  fingerprint: Buffer.from("same"),
});

const created = { data: { id: "thing", secret: "whsec_abc" }, headers: { Location: "/v1/things/thing" } };

it("returns a secret once, stores null in its place and replays that", async () => {
  const service = new IdempotencyService({ database });
  const handle = async () => ({ ...created, changed: true, secrets: ["secret"] });
  expect(await service.runOnce(keyed("one"), handle)).toMatchObject(created);
  const [record] = await database.query<{ answer: string }>(sql`
    select answer from idempotency_record where key = 'one'`);
  expect(JSON.parse(record?.answer ?? "")).toEqual({
    ...created,
    requestId: "req_01KAJQZ4T0W5H8M3N9PXR2VD7C",
    data: { id: "thing", secret: null },
  });
  expect(await service.runOnce(keyed("one"), handle)).toMatchObject({
    data: { id: "thing", secret: null },
    headers: { ...created.headers, "Idempotency-Replayed": "true" },
  });
});
