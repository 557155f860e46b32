import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startAppInstance, type AppInstance, type ApiResponse } from "../support/app/app-instance.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { startFaultProxy, type FaultProxy } from "../support/database/fault-proxy.ts";
import { SECOND_MS } from "../support/fake-clock.ts";
import { listJobs } from "../support/app/job-client.ts";
import { startTestApp, type TestOrganization, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let proxy: FaultProxy;
/** Another process, whose database traffic is recorded. */
let other: AppInstance;

beforeAll(async () => {
  app = await startTestApp();
  proxy = await startFaultProxy(app.databaseUrl);
  other = await startAppInstance(proxy.url);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await proxy[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
});

async function keyIdOf({ id }: TestOrganization): Promise<string> {
  const [key] = await app.keys.list(id);
  return key?.id ?? "";
}

/** Creates an organisation whose key the other process has cached. */
async function rememberedPartner(): Promise<TestOrganization> {
  const partner = await app.createOrganization("agent");
  await vi.waitFor(
    async () => {
      const start = proxy.statements.length;
      expectData(await listJobs(other, partner));
      expect(proxy.statements.slice(start).filter((text) => text.includes("from api_key"))).toEqual([]);
    },
    { timeout: 10_000, interval: 20 },
  );
  return partner;
}

/** Asserts that no request started a second or more after `change` accepts the key. */
async function expectWithinASecond(
  call: () => Promise<ApiResponse>,
  change: () => Promise<void>,
  status: number,
): Promise<void> {
  const before = await call();
  await change();
  const changedMs = performance.now();
  let lastLetThroughMs = changedMs;
  await vi.waitFor(
    async () => {
      const askedMs = performance.now();
      const answer = await call();
      if (answer.status === before.status) lastLetThroughMs = askedMs;
      expectFailure(answer, status);
    },
    { timeout: 10_000, interval: 5 },
  );
  expect(lastLetThroughMs - changedMs).toBeLessThan(SECOND_MS);
}

describe("within a second, a process that has cached the key returns", () => {
  // evidence: api-key-revocation-immediate
  it("401 when the key is revoked", async () => {
    const partner = await rememberedPartner();
    const id = await keyIdOf(partner);
    await expectWithinASecond(
      () => listJobs(other, partner),
      () => app.keys.revoke(id).then(() => undefined),
      401,
    );
  });

  it("401 when the key is rotated without grace", async () => {
    const partner = await rememberedPartner();
    const id = await keyIdOf(partner);
    const rotate = async (): Promise<void> => {
      await app.keys.rotate(id, 0, "test");
    };
    await expectWithinASecond(() => listJobs(other, partner), rotate, 401);
  });

  it("403 when its organisation is suspended, until it is restored", async () => {
    const partner = await rememberedPartner();
    const suspend = (suspended: boolean): Promise<void> => app.keys.setSuspended(partner.id, suspended);
    await expectWithinASecond(
      () => listJobs(other, partner),
      () => suspend(true),
      403,
    );
    expectFailure(await listJobs(other, partner), 403, "suspended");
    await suspend(false);
    await vi.waitFor(async () => expectData(await listJobs(other, partner)), 10_000);
  });

  // evidence: key-cache-refused-without-database
  it("503 when it has lost its database connection and cannot learn of a revocation", async () => {
    const partner = await rememberedPartner();
    // A route that needs the database only to verify the key.
    const call = (): Promise<ApiResponse> => listJobs(other, partner, "page=0");
    const cut = async (): Promise<void> => proxy.disconnect();
    await expectWithinASecond(call, cut, 503);
    proxy.restore();
    await vi.waitFor(async () => expectData(await listJobs(other, partner)), 10_000);
  });
});

it("keeps other keys cached when one is rotated and revoked, even repeatedly", async () => {
  const [kept, rotated, revoked] = [
    await rememberedPartner(),
    await rememberedPartner(),
    await rememberedPartner(),
  ];
  await app.keys.rotate(await keyIdOf(rotated), 0, "test");
  const id = await keyIdOf(revoked);
  // Several changes of a key between two polls.
  await app.keys.rotate(id, 1, "test");
  await app.keys.revoke(id);
  await app.keys.revoke(id);
  await vi.waitFor(async () => {
    for (const partner of [rotated, revoked]) expectFailure(await listJobs(other, partner), 401);
  }, 10_000);
  const start = proxy.statements.length;
  expectData(await listJobs(other, kept));
  expect(proxy.statements.slice(start).filter((text) => text.includes("secret_hash"))).toEqual([]);
});

it("returns 403 for every key of a suspended organisation in every process", async () => {
  const partner = await app.createOrganization("agent");
  const second = await app.keys.create({ organizationId: partner.id, name: "second", createdBy: "test" });
  await app.keys.setSuspended(partner.id, true);
  for (const key of [partner.key, second.text])
    expectFailure(await listJobs(other, { key }), 403, "suspended");
});
