/** The audit log, and the suspension of organisations. */
import { describe, expect, it } from "vitest";
import { recordAuditEvent } from "../../src/audit/service.ts";
import { createLogger } from "../../src/core/logger.ts";
import { listenToChannel } from "../../src/core/postgres/notify.ts";
import { DELIVERIES_CHANNEL } from "../../src/webhooks/dispatcher/dispatcher.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { createSessionClient, signIn } from "../support/accounts/session-client.ts";
import { createSignedInUser, signInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { expectData, expectFailure } from "../support/app/assertions.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { startDispatcherFixture } from "../support/webhooks/dispatcher.fixture.ts";
import { startTestReceiver } from "../support/webhooks/receiver.ts";
import { eventually } from "../support/eventually.ts";

const app = await sharedApp("api");
const operator = await createSignedInUser(app, null);

interface Entry {
  id: string;
  action: string;
  actor: string;
  subject: string | null;
  details: Record<string, unknown> | null;
  ipAddress: string | null;
  requestId: string | null;
  organization: { id: string } | null;
}

const LOG = `query ($first: Int, $actions: [String!], $organizationId: ID) {
  auditLog(first: $first, actions: $actions, organizationId: $organizationId) {
    nodes { id at action actor subject details ipAddress requestId organization { id } }
  } }`;

async function log(reader: SignedInTestUser, variables: Record<string, unknown> = {}): Promise<Entry[]> {
  return (await reader.queryData(LOG, variables)).auditLog.nodes as Entry[];
}

/** Returns an organisation and its signed-in owner. */
async function place() {
  const partner = await app.createOrganization("agent");
  return { partner, owner: await createSignedInUser(app, partner.id), id: toTypedId("org", partner.id) };
}

const SUSPEND = `mutation ($id: ID!, $reason: String!) {
  suspendOrganization(id: $id, reason: $reason) { organization { id suspendedAt } userErrors { code field } } }`;
const RESTORE = `mutation ($id: ID!) {
  restoreOrganization(id: $id) { organization { id suspendedAt } userErrors { code field } } }`;
const REMOVE = `mutation ($id: ID!) { removeMember(id: $id) { id } }`;

const suspend = async (id: string, reason = "They asked for it") =>
  (await operator.queryData(SUSPEND, { id, reason })).suspendOrganization;
const restore = async (id: string) => (await operator.queryData(RESTORE, { id })).restoreOrganization;

describe("the audit log", () => {
  // evidence: audit-log-fields
  it("records the actor, subject, IP address and request of an event", async () => {
    const { partner, owner, id } = await place();
    const person = await createSignedInUser(app, partner.id, "dispatcher");
    const removed = await owner.graphql(REMOVE, { id: toTypedId("usr", person.id) });
    const [entry] = await log(owner, { actions: ["member.removed"] });
    expect(entry).toMatchObject({
      action: "member.removed",
      actor: owner.email,
      subject: toTypedId("usr", person.id),
      details: { email: person.email, role: "dispatcher" },
      requestId: removed.headers.get("x-request-id"),
      organization: { id },
    });
    expect(entry?.id).toMatch(/^aud_/);
    expect(entry?.ipAddress).toContain("127.0.0.1");
  });

  it("keeps the e-mail address of a removed user", async () => {
    const { partner, owner } = await place();
    const second = await createSignedInUser(app, partner.id);
    const third = await createSignedInUser(app, partner.id, "dispatcher");
    await second.queryData(REMOVE, { id: toTypedId("usr", third.id) });
    await owner.queryData(REMOVE, { id: toTypedId("usr", second.id) });
    const removals = await log(owner, { actions: ["member.removed"] });
    expect(removals[1]).toMatchObject({ actor: second.email });
  });

  it("shows an organisation only its own events, and hides the operator, reason and IP address of operators' events", async () => {
    const mine = await place();
    const other = await place();
    await suspend(mine.id, "Internal reason");
    await restore(mine.id);
    await suspend(other.id, "Another");
    const entries = await log(await signInUser(app, mine.owner), { first: 100 });
    expect(new Set(entries.map(({ organization }) => organization?.id))).toEqual(new Set([mine.id]));
    const suspended = entries.find(({ action }) => action === "organization.suspended");
    expect(suspended).toMatchObject({ actor: "operator", details: null, ipAddress: null, requestId: null });
    expect(JSON.stringify(entries)).not.toContain("Internal reason");
    expect(JSON.stringify(entries)).not.toContain(operator.email);

    const [seen] = await log(operator, { actions: ["organization.suspended"], organizationId: mine.id });
    expect(seen).toMatchObject({ actor: operator.email, details: { reason: "Internal reason" } });
  });

  // evidence: sign-in-failures-in-audit-log
  it("shows an organisation the IP addresses of failed sign-ins to its users' accounts", async () => {
    const { owner } = await place();
    const body = JSON.stringify({ email: owner.email, password: "not my password" });
    const refused = await createSessionClient(app).call("/auth/sign-in/email", {
      method: "POST",
      headers: { "x-forwarded-for": "203.0.113.7" },
      body,
    });
    expectFailure(refused, 401);
    const entry = await eventually(async () => {
      const [found] = await log(owner, { actions: ["session.sign_in_failed"] });
      expect(found).toBeDefined();
      return found;
    });
    expect(entry).toMatchObject({ actor: "system", subject: owner.email, ipAddress: "203.0.113.7" });
  });

  it("stores no IP address of a client that is gone, and does not take it for an operator", async () => {
    const { partner, owner } = await place();
    await recordAuditEvent(app.database, {
      action: "session.sign_in_failed",
      actor: { type: "system", id: null },
      organizationId: partner.id,
      ipAddress: "",
      requestId: "req_of_a_client_that_is_gone",
    });
    const [entry] = await log(owner, { actions: ["session.sign_in_failed"] });
    expect(entry).toMatchObject({
      actor: "system",
      ipAddress: null,
      requestId: "req_of_a_client_that_is_gone",
    });
  });

  it("shows owners their organisation, without naming it", async () => {
    const { id, owner } = await place();
    const asking = await owner.graphql(LOG, { organizationId: id });
    expect(asking.errors?.[0]?.extensions.problems).toMatchObject([{ field: "organizationId" }]);
  });

  it.each([
    ["an invalid action", { actions: ["member.removed\0"] }, "actions.0"],
    ["an invalid organisation id", { organizationId: "org_x" }, "organizationId"],
  ])("refuses %s", async (_what, variables, field) => {
    const { errors } = await operator.graphql(LOG, variables);
    expect(errors?.[0]?.extensions.problems).toMatchObject([{ field }]);
  });
});

describe("a suspended organisation", () => {
  // evidence: suspension-ends-sessions
  it("has its keys rejected until it is restored, and its members' sessions ended", async () => {
    const { partner, owner, id } = await place();
    const other = await place();
    expect((await app.call("/v1/jobs", { key: partner.key })).status).toBe(200);
    const answer = await suspend(id);
    expect(answer.userErrors).toEqual([]);
    expect(Date.parse(answer.organization.suspendedAt)).toBeGreaterThan(Date.now() - 60_000);
    for (const path of ["/auth/session", "/auth/sessions", "/auth/passkey/list-user-passkeys"])
      expect((await owner.client.get(path)).status).toBe(403);
    expect((await owner.client.post("/auth/password/change")).status).toBe(403);
    expect((await owner.graphql("{ members { id } }")).status).toBe(403);
    await eventually(async () => {
      const refused = await app.call("/v1/jobs", { key: partner.key });
      expect(refused.status).toBe(403);
    });
    expect((await restore(id)).userErrors).toEqual([]);
    expectFailure(await owner.client.get("/auth/session"), 401);
    expectData(await (await signIn(app, owner)).get("/auth/session"));
    expectData(await other.owner.client.get("/auth/session"));
    expectData(await operator.client.get("/auth/session"));
  });

  it("is recorded once if it is suspended again", async () => {
    const { id } = await place();
    await suspend(id);
    await suspend(id);
    await restore(id);
    await restore(id);
    const entries = await log(operator, { organizationId: id, first: 100 });
    const acts = entries.map(({ action }) => action).filter((action) => action.startsWith("organization."));
    expect(acts).toEqual(["organization.restored", "organization.suspended"]);
  });

  it("must exist, and the reason must be text", async () => {
    const { id } = await place();
    for (const wrong of ["org_00000000000000000000000000", "nothing"])
      expect(await suspend(wrong)).toMatchObject({ userErrors: [{ code: "NOT_FOUND", field: "id" }] });
    expect(await suspend(id, " ")).toMatchObject({ userErrors: [{ code: "INVALID", field: "reason" }] });
  });
});

it("deliveries of a suspended organisation stay pending and are sent when it is restored", async () => {
  await using rig = await startDispatcherFixture();
  await using receiver = await startTestReceiver();
  const { organizationChanges } = rig.app.membership;
  const context = { actor: { type: "system", id: null }, ipAddress: null, requestId: null } as const;
  const endpoint = await rig.createEndpoint({ url: receiver.url });
  const dispatcher = await rig.startDispatcher();
  const id = toTypedId("org", rig.agent.id);
  await organizationChanges.suspend(context, id, null);
  await rig.app.createJobs(rig.agent, [{}, {}]);
  dispatcher.wake();
  await rig.sweep(dispatcher);
  // The delivery of another organisation shows that the dispatcher has run.
  const neighbour = await rig.createEndpoint({ url: receiver.url }, rig.contractor);
  await rig.app.createJobs(rig.agent, [{ contractor: rig.contractor }]);
  dispatcher.wake();
  await rig.waitForStatus(neighbour, "delivered");
  const pending = await rig.deliveries(endpoint);
  expect(pending.map(({ status, attempts }) => ({ status, attempts }))).toEqual(
    pending.map(() => ({ status: "pending", attempts: 0 })),
  );
  expect(pending.length).toBeGreaterThanOrEqual(3);
  let notifications = 0;
  await using opened = new AsyncDisposableStack();
  const listening = {
    url: rig.app.databaseUrl,
    channel: DELIVERIES_CHANNEL,
    applicationName: "test",
    logger: createLogger("silent"),
    onNotification() {
      notifications += 1;
    },
  };
  opened.use(listenToChannel(listening));
  // The first call belongs to the connection itself.
  await eventually(() => expect(notifications).toBe(1));
  await organizationChanges.restore(context, id);
  await eventually(() => expect(notifications).toBe(2));
  dispatcher.wake();
  expect(await rig.waitForStatus(endpoint, "delivered")).toHaveLength(pending.length);
});
