/** Renaming an organisation, resending its invitations and resetting two-factor authentication, by an operator. */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, describe, expect, it } from "vitest";
import { POLL_INTERVAL_MS } from "../../src/api-keys/verifier.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { ACCOUNT_ENV, listMailsTo, waitForMail } from "../support/accounts/mails.ts";
import { createSignedInUser, inviteMember } from "../support/accounts/signed-in-user.ts";
import { startTestApp } from "../support/app/app.fixture.ts";
import { eventually } from "../support/eventually.ts";
import { queryData } from "../support/graphql/client.ts";

const app = await startTestApp(ACCOUNT_ENV);
const operator = await createSignedInUser(app, null);
const agent = await app.createOrganization("agent");
const owner = await createSignedInUser(app, agent.id);
afterAll(() => app[Symbol.asyncDispose]());

const RENAME = `mutation ($id: ID!, $name: String!) { renameOrganization(id: $id, name: $name) {
  organization { name } userErrors { code field } } }`;
const RESET = `mutation ($id: ID!) { resetMemberTwoFactor(id: $id) { member { hasTwoFactor } userErrors { code } } }`;
const RESEND = `mutation ($id: ID!) { resendInvitation(id: $id) { invitation { id } userErrors { code } } }`;

const LOG = `query ($action: String!) { auditLog(actions: [$action]) { nodes {
  actor subject details organization { id } } } }`;
const auditOf = async (action: string) => (await operator.queryData(LOG, { action })).auditLog.nodes;

const VIEWER = "{ viewer { organization { name } } }";

const rename = async (id: string, name: string) =>
  (await operator.queryData(RENAME, { id: toTypedId("org", id), name })).renameOrganization;

describe("renameOrganization", () => {
  it("renames the organisation and its test organisations, and records both names once", async () => {
    const { id, name } = await app.createOrganization("contractor");
    const testKey = { organizationId: id, name: "test", createdBy: "test", testSide: "agent" } as const;
    await app.keys.create(testKey);
    const renamed = { organization: { name: "New name" }, userErrors: [] };
    expect(await rename(id, " New name ")).toEqual(renamed);
    expect(await rename(id, "New name")).toEqual(renamed);
    const tests = await app.database.query<{ name: string }>(
      sql`select name from organization where live_organization_id = ${id}::uuid order by name`,
    );
    expect(tests.map((test) => test.name)).toEqual(["New name", "Test agent of New name"]);
    const subject = toTypedId("org", id);
    expect(await auditOf("organization.renamed")).toEqual([
      {
        actor: operator.email,
        subject,
        details: { from: name, to: "New name" },
        organization: { id: subject },
      },
    ]);
  });

  it("reaches the keys of the organisation, which remember its name", async () => {
    const { id, key } = await app.createOrganization("contractor");
    const nameOf = async () => (await queryData(app, VIEWER, { key })).viewer.organization.name;
    // The first polls for changed keys drop a new key from memory.
    await nameOf();
    await pause(3 * POLL_INTERVAL_MS);
    await nameOf();
    await rename(id, `Renamed ${id}`);
    await eventually(async () => expect(await nameOf()).toBe(`Renamed ${id}`));
  });

  it("rejects a name that another organisation has, an empty one and a test organisation", async () => {
    const { id } = await app.createOrganization("contractor");
    expect((await rename(id, agent.name)).userErrors).toEqual([{ code: "CONFLICT", field: "name" }]);
    expect((await rename(id, " ")).userErrors).toMatchObject([{ code: "INVALID", field: "name" }]);
    const testKey = { organizationId: id, name: "test", createdBy: "test", testSide: "agent" } as const;
    const test = (await app.keys.create(testKey)).key.organization;
    expect((await rename(test?.id as string, "x")).userErrors).toMatchObject([{ code: "NOT_FOUND" }]);
  });
});

it("resendInvitation by an operator sends the invitation of an organisation again, whose owner sees that an operator did", async () => {
  const email = "resent@test.example";
  const { id } = await inviteMember(app, owner, { email });
  const { resendInvitation } = await operator.queryData(RESEND, { id });
  expect(resendInvitation).toEqual({ invitation: { id }, userErrors: [] });
  expect(await listMailsTo(app, email)).toHaveLength(2);
  const { auditLog } = await owner.queryData(
    `{ auditLog(actions: ["invitation.resent"]) { nodes { actor subject } } }`,
  );
  expect(auditLog.nodes).toEqual([{ actor: "operator", subject: id }]);
});

const turnOn = ({ id }: { id: string }) =>
  app.database.query(sql`update user_account set two_factor_enabled = true where id = ${id}::uuid`);
const errorsOf = async (id: string) =>
  (await operator.queryData(RESET, { id })).resetMemberTwoFactor.userErrors;

describe("resetMemberTwoFactor", () => {
  it("turns it off, ends the sessions, mails the user and records it for the organisation", async () => {
    const member = await createSignedInUser(app, agent.id, "dispatcher");
    await turnOn(member);
    const { resetMemberTwoFactor } = await operator.queryData(RESET, { id: toTypedId("usr", member.id) });
    expect(resetMemberTwoFactor).toEqual({ member: { hasTwoFactor: false }, userErrors: [] });
    expect((await member.graphql("{ viewer { kind } }")).status).toBe(401);
    await waitForMail(app, member.email, "two_factor_reset");
    expect(await auditOf("two_factor.reset")).toEqual([
      {
        actor: operator.email,
        subject: member.email,
        details: { sessions_ended: 1 },
        organization: { id: toTypedId("org", agent.id) },
      },
    ]);
  });

  it("rejects a member without it, an operator and an unknown user", async () => {
    const colleague = await createSignedInUser(app, null);
    await turnOn(colleague);
    expect(await errorsOf(toTypedId("usr", owner.id))).toEqual([{ code: "CONFLICT" }]);
    expect(await errorsOf(toTypedId("usr", colleague.id))).toEqual([{ code: "NOT_FOUND" }]);
    expect(await errorsOf("usr_unknown")).toEqual([{ code: "NOT_FOUND" }]);
  });
});
