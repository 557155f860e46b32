import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startAppInstance, type AppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { listJobs } from "../support/app/job-client.ts";
import { keyIdOf, type TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

const { app } = useSharedApp();
let proxy: FaultProxy;
/** Another process, whose database traffic is recorded. */
let other: AppInstance;

beforeAll(async () => {
  proxy = await startFaultProxy(app.databaseUrl);
  other = await startAppInstance(proxy.url, { WAYMARK_ROLE: "api" });
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
});

/** Creates an organisation whose key the other process has cached. */
async function rememberedPartner(): Promise<TestOrganization> {
  const partner = await app.createOrganization("agent");
  await eventually(async () => {
    const start = proxy.statements.length;
    expectData(await listJobs(other, partner));
    expect(proxy.statements.slice(start).filter((text) => text.includes("from api_key"))).toEqual([]);
  });
  return partner;
}

/** Asserts that the key is accepted before `change`, and rejected soon after. */
async function expectRejectedAfter(
  change: () => Promise<unknown>,
  call: () => Promise<ApiResponse>,
  status: number,
): Promise<void> {
  expect((await call()).status).not.toBe(status);
  await change();
  await eventually(async () => expectFailure(await call(), status));
}

// How soon: test/service/api-keys/verifier-cache.test.ts.
describe("a process that has cached the key returns", () => {
  it("401 when the key is revoked", async () => {
    const partner = await rememberedPartner();
    const id = await keyIdOf(app, partner);
    await expectRejectedAfter(
      () => app.keys.revoke(id),
      () => listJobs(other, partner),
      401,
    );
  });

  it("403 for each key of a suspended organisation, until it is restored", async () => {
    const partner = await rememberedPartner();
    const suspend = (suspended: boolean): Promise<void> => app.keys.setSuspended(partner.id, suspended);
    await expectRejectedAfter(
      () => suspend(true),
      () => listJobs(other, partner),
      403,
    );
    for (const key of [partner.key, await app.createKey(partner.id)])
      expectFailure(await listJobs(other, { key }), 403, "suspended");
    await suspend(false);
    await eventually(async () => expectData(await listJobs(other, partner)));
  });

  it("503 when it has lost its database connection and cannot learn of a revocation", async () => {
    const partner = await rememberedPartner();
    // A route that needs the database only to verify the key.
    const call = (): Promise<ApiResponse> => listJobs(other, partner, "page=0");
    await expectRejectedAfter(async () => proxy.disconnect(), call, 503);
    proxy.restore();
    await eventually(async () => expectData(await listJobs(other, partner)));
  });
});
