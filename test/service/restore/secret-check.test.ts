/** A lost or wrong WAYMARK_SECRET: reports unreadable data, and how each kind is repaired. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { fromTypedId } from "../../../src/core/ids.ts";
import { systemActor, type OrganizationPrincipal } from "../../../src/core/principal.ts";
import { createSecretBox, type SecretBox } from "../../../src/core/secret-box.ts";
import { raw, sql } from "../../../src/core/postgres/sql.ts";
import { acceptSecret, checkSecret } from "../../../src/restore/secret-check.service.ts";
import { openWebhooks, type Webhooks } from "../../../src/webhooks/service.ts";
import { createTestUser, signIn, enableTwoFactor } from "../../support/accounts/session-client.ts";
import { eventually } from "../../support/eventually.ts";
import { testSecretBox } from "../../support/test-secret.ts";
import type { TestApp } from "../../support/app/app.fixture.ts";
import { isSigned } from "../../support/webhooks/is-signed.ts";
import { startTestReceiver } from "../../support/webhooks/receiver.ts";
import {
  startDispatcherFixture,
  type RunningDispatcher,
  type DispatcherFixture,
} from "../../support/webhooks/dispatcher.fixture.ts";

/** The server and dispatcher use the current secret. */
let rig: DispatcherFixture;
let app: TestApp;
let dispatcher: RunningDispatcher;
let owner: OrganizationPrincipal;
beforeAll(async () => {
  rig = await startDispatcherFixture();
  ({ app } = rig);
  dispatcher = await rig.startDispatcher();
  owner = { organizationId: rig.agent.id, organizationType: "agent", actor: systemActor };
});
afterAll(() => rig[Symbol.asyncDispose]());
beforeEach(() => app.database.query(raw("delete from webhook_endpoint")));

const lostBox = createSecretBox(Buffer.alloc(32, "lost"));

async function webhooksWith(secretBox: SecretBox): Promise<Webhooks> {
  const webhooks = await openWebhooks({
    database: app.database,
    secretBox,
    clock: systemClock,
    notifyWorkers: () => dispatcher.wake(),
    allowPrivate: true,
    retentionDays: 30,
    docsUrl: null,
  });
  onTestFinished(() => webhooks[Symbol.asyncDispose]());
  return webhooks;
}

describe("data sealed with a lost secret", () => {
  it("of an endpoint is reported until its secret is rotated and its headers are set again; then deliveries are sent", async () => {
    const receiver = await startTestReceiver();
    onTestFinished(() => receiver[Symbol.asyncDispose]());
    const before = (await webhooksWith(lostBox)).endpoints;
    const { endpoint } = await before.create(owner, { url: receiver.url, headers: { "X-Token": "former" } });
    const { endpoints, deliveries } = await webhooksWith(testSecretBox);
    const accept = () => acceptSecret(app.database, testSecretBox);
    expect(await accept()).toEqual({ endpoints: [endpoint.id], headers: [endpoint.id], userEmails: [] });

    const { secret } = await endpoints.rotateSecret(owner, endpoint.id);
    expect(await accept()).toEqual({ endpoints: [], headers: [endpoint.id], userEmails: [] });
    expect(await endpoints.get(owner, endpoint.id)).toMatchObject({
      problem: expect.stringMatching(/^The custom headers .* Set them again\./),
    });
    await expect(deliveries.ping(owner, endpoint.id)).rejects.toMatchObject({
      code: "ConflictException",
      message: expect.stringMatching(/^The custom headers .* Set them again\./),
    });

    await endpoints.update(owner, endpoint.id, { headers: { "X-Token": "present" } });
    expect(await accept()).toEqual({ endpoints: [], headers: [], userEmails: [] });
    expect(await endpoints.reveal(owner, endpoint.id)).toEqual({
      secrets: [secret],
      headers: { "X-Token": "present" },
    });
    await app.createJobs(rig.agent, [{}]);
    dispatcher.wake();
    await rig.waitForStatus(fromTypedId("whe", endpoint.id) as string, "delivered");
    expect(receiver.received).toMatchObject([{ headers: { "x-token": "present" } }]);
  });

  it("does not block an endpoint once the secret no longer signs", async () => {
    const receiver = await startTestReceiver();
    onTestFinished(() => receiver[Symbol.asyncDispose]());
    const id = await rig.createEndpoint({ url: receiver.url });
    await app.database.query(sql`
      update webhook_endpoint set secrets = secrets ||
        '[{"sealed": "s1.AAAA", "created_at": "2026-01-01T00:00:00Z", "expires_at": "2026-01-02T00:00:00Z"}]'
      where id = ${id}`);
    await app.createJobs(rig.agent, [{}]);
    dispatcher.wake();
    await rig.waitForStatus(id, "delivered");
    expect(await acceptSecret(app.database, testSecretBox)).toMatchObject({ endpoints: [] });
  });

  it("is reported for an endpoint if only its previous, still active secret is unreadable", async () => {
    const id = await rig.createEndpoint({ url: "http://127.0.0.1:9/" });
    await app.database.query(sql`
      update webhook_endpoint set secrets = secrets ||
        '[{"sealed": "s1.AAAA", "created_at": "2026-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00Z"}]'
      where id = ${id}`);
    const { endpoints } = await acceptSecret(app.database, testSecretBox);
    expect(endpoints.map((one) => fromTypedId("whe", one))).toEqual([id]);
  });

  it("of users is reported each time, without what they have set up since", async () => {
    const email = await withTwoFactor();
    expect(await acceptSecret(app.database, lostBox)).toMatchObject({ userEmails: [email] });
    expect(await acceptSecret(app.database, lostBox)).toMatchObject({ userEmails: [email] });
    expect(await acceptSecret(app.database, testSecretBox)).toMatchObject({ userEmails: [] });
  });
});

it("a rotated secret of an endpoint signs its next delivery, beside the previous one", async () => {
  const receiver = await startTestReceiver();
  onTestFinished(() => receiver[Symbol.asyncDispose]());
  const { endpoints } = await webhooksWith(testSecretBox);
  const { endpoint, secret: former } = await endpoints.create(owner, { url: receiver.url });
  const deliverOne = async (): Promise<void> => {
    const before = receiver.received.length;
    await app.createJobs(rig.agent, [{}]);
    dispatcher.wake();
    await eventually(() => expect(receiver.received).toHaveLength(before + 1));
  };
  await deliverOne();
  const { secret } = await endpoints.rotateSecret(owner, endpoint.id);
  await deliverOne();
  const signedBy = receiver.received.map((one) => [isSigned(former, one), isSigned(secret, one)]);
  expect(signedBy).toEqual([
    [true, false],
    [true, true],
  ]);
});

it("the first start accepts any secret, and later ones only that", async () => {
  // Also stores the identity.
  await acceptSecret(app.database, testSecretBox);
  await app.database.query(raw("update database_identity set secret_check = null"));
  await expect(checkSecret(app.database, lostBox)).resolves.toBeUndefined();
  await expect(checkSecret(app.database, testSecretBox)).rejects.toThrow("WAYMARK_SECRET is not the one");
});

/** Creates a user with two-factor authentication, without the mail about it. Returns the e-mail address. */
async function withTwoFactor(): Promise<string> {
  const person = await createTestUser(app, { organizationId: rig.agent.id, role: "dispatcher" });
  const browser = await signIn(app, person);
  await enableTwoFactor(browser, person);
  await app.database.query(raw("delete from mail"));
  return person.email;
}
