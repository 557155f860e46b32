/** A WAYMARK_SECRET that is lost, or wrong: what it had sealed is named, and mended by what is said to mend it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { createMailService } from "../../src/mail/mail.service.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { fromTypedId } from "../../src/platform/ids.ts";
import { systemActor, type OrganizationPrincipal } from "../../src/platform/principal.ts";
import { createSecretBox, type SecretBox } from "../../src/platform/secret-box.ts";
import { raw, sql } from "../../src/platform/postgres/sql.ts";
import { acceptSecret, checkSecret } from "../../src/restore/secret-check.service.ts";
import { openWebhooks, type Webhooks } from "../../src/webhooks/webhooks.service.ts";
import { createTestUser, signIn, enableTwoFactor } from "../support/accounts/session-client.ts";
import { newMailTo } from "../support/mail.fixture.ts";
import { testSecretBox } from "../support/test-secret.ts";
import type { TestApp } from "../support/app/app.fixture.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";
import {
  startDispatcherFixture,
  type RunningDispatcher,
  type DispatcherFixture,
} from "../support/webhooks/dispatcher.fixture.ts";

/** Its server and dispatcher have the present secret. */
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

describe("what a lost secret had sealed", () => {
  it("of an endpoint is named until it is rotated and its headers are set again; then deliveries go out", async () => {
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
      problem: expect.stringMatching(/^The custom headers .* set them again/),
    });
    await expect(deliveries.sendTest(owner, endpoint.id)).rejects.toMatchObject({
      code: "ConflictException",
      message: expect.stringMatching(/^The custom headers .* set them again/),
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

  it("does not hold up an endpoint once it signs no more", async () => {
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

  it("names an endpoint of which only a former secret, which still signs, cannot be read", async () => {
    const id = await rig.createEndpoint({ url: "http://127.0.0.1:9/" });
    await app.database.query(sql`
      update webhook_endpoint set secrets = secrets ||
        '[{"sealed": "s1.AAAA", "created_at": "2026-01-01T00:00:00Z", "expires_at": "2999-01-01T00:00:00Z"}]'
      where id = ${id}`);
    const { endpoints } = await acceptSecret(app.database, testSecretBox);
    expect(endpoints.map((one) => fromTypedId("whe", one))).toEqual([id]);
  });

  it("of people is named each time, and not what they have set up since", async () => {
    const email = await withSecondFactor();
    expect(await acceptSecret(app.database, lostBox)).toMatchObject({ userEmails: [email] });
    expect(await acceptSecret(app.database, lostBox)).toMatchObject({ userEmails: [email] });
    expect(await acceptSecret(app.database, testSecretBox)).toMatchObject({ userEmails: [] });
  });
});

describe("a wrong secret, at the first start that checks it, is refused by", () => {
  beforeEach(async () => {
    await app.database.query(raw("update database_identity set secret_check = null"));
    await app.database.query(raw("delete from mail"));
    await app.database.query(raw("delete from user_account"));
  });

  it("nothing where nothing is sealed", async () => {
    await expect(checkSecret(app.database, lostBox)).resolves.toBeUndefined();
    await expect(checkSecret(app.database, testSecretBox)).rejects.toThrow("WAYMARK_SECRET is not the one");
  });

  it.each([
    ["an endpoint", () => rig.createEndpoint({ url: "http://127.0.0.1:9/" })],
    ["a second factor", withSecondFactor],
    ["a mail that waits", withMail],
  ])("%s", async (_what, make) => {
    await make();
    await expect(checkSecret(app.database, lostBox)).rejects.toThrow("WAYMARK_SECRET is not the one");
    await expect(checkSecret(app.database, testSecretBox)).resolves.toBeUndefined();
  });
});

async function withMail(): Promise<void> {
  const mails = createMailService({
    database: app.database,
    secretBox: testSecretBox,
    isSmtpConfigured: true,
  });
  await mails.enqueue(app.database, newMailTo("somebody@waymark.example"));
}

/** Makes a person who has one, and no mail that says so; answers with their address. */
async function withSecondFactor(): Promise<string> {
  const person = await createTestUser(app, { organizationId: rig.agent.id, role: "member" });
  const browser = await signIn(app, person);
  await enableTwoFactor(browser, person);
  await app.database.query(raw("delete from mail"));
  return person.email;
}
