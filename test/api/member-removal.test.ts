/** The keys and invitations that are revoked with a removed member. */
import { randomBytes } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { queryData } from "../support/graphql/client.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { sharedApp, type SharedApp } from "../support/app/shared-app.ts";
import { toTypedId } from "../../src/core/ids.ts";

let app: SharedApp;
beforeAll(async () => {
  app = await sharedApp("api");
});

/** A key has the scope for keys only if its creator names it. */
const SCOPES = ["JOBS_READ", "JOBS_WRITE", "WEBHOOKS_MANAGE", "KEYS_MANAGE"];

interface Created {
  id: string;
  secret: string;
}

const CREATE =
  "mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } secret } }";

async function createdBy(person: SignedInTestUser, organizationId?: string): Promise<Created> {
  const { createApiKey } = await person.queryData(CREATE, {
    input: { name: "of a person", organizationId, scopes: SCOPES },
  });
  return { id: createApiKey.apiKey.id, secret: createApiKey.secret };
}

async function createdByKey(key: string): Promise<Created> {
  const { createApiKey } = await queryData(app, CREATE, {
    key,
    variables: { input: { name: "of a key", scopes: SCOPES } },
  });
  return { id: createApiKey.apiKey.id, secret: createApiKey.secret };
}

async function invite(person: SignedInTestUser, role = "DISPATCHER"): Promise<string> {
  const email = `${randomBytes(6).toString("hex")}@test.example`;
  const { inviteMember } = await person.queryData(
    `mutation { inviteMember(input: { email: "${email}", role: ${role} }) { invitation { id } userErrors { message } } }`,
  );
  return inviteMember.invitation.id as string;
}

interface Removed {
  id: string | null;
  revokedKeys: { id: string }[] | null;
  revokedInvitations: string[] | null;
  userErrors: { code: string }[];
}

async function remove(by: SignedInTestUser, id: string, options = ""): Promise<Removed> {
  const { removeMember } = await by.queryData(
    `mutation { removeMember(id: "${id}"${options}) { id revokedKeys { id } revokedInvitations userErrors { code } } }`,
  );
  return removeMember as Removed;
}

async function goodKeysOf(person: SignedInTestUser): Promise<string[]> {
  const { apiKeys } = await person.queryData("{ apiKeys { id revokedAt } }");
  return (apiKeys as { id: string; revokedAt: string | null }[])
    .filter(({ revokedAt }) => revokedAt === null)
    .map(({ id }) => id);
}

async function invitationsOf(person: SignedInTestUser): Promise<string[]> {
  const { invitations } = await person.queryData("{ invitations { id } }");
  return (invitations as { id: string }[]).map(({ id }) => id);
}

/** Two owners, each with a key, a key that this key created, and an invitation. */
async function twoOwners() {
  const { id: organizationId } = await app.createOrganization("agent");
  const owners = [
    await createSignedInUser(app, organizationId),
    await createSignedInUser(app, organizationId),
  ] as const;
  const [leaving, staying] = await Promise.all(
    owners.map(async (person) => {
      const key = await createdBy(person);
      const further = await createdByKey(key.secret);
      const { members } = await person.queryData("{ members { id email } }");
      const { id } = (members as { id: string; email: string }[]).find(
        ({ email }) => email === person.email,
      )!;
      return { person, id, keys: [key.id, further.id].toSorted(), invitation: await invite(person) };
    }),
  );
  return { organizationId, leaving: leaving!, staying: staying! };
}

describe("removing an owner", () => {
  it("revokes the invitations that they sent and leaves their keys unless the mutation says otherwise", async () => {
    const { leaving, staying } = await twoOwners();
    const removed = await remove(staying.person, leaving.id);
    expect(removed).toEqual({
      id: leaving.id,
      revokedKeys: [],
      revokedInvitations: [leaving.invitation],
      userErrors: [],
    });
    expect(await goodKeysOf(staying.person)).toEqual(expect.arrayContaining(leaving.keys));
    expect(await invitationsOf(staying.person)).toEqual([staying.invitation]);
  });

  it("revokes on request the keys that they created and those that these created, and no others", async () => {
    const { leaving, staying } = await twoOwners();
    const before = await goodKeysOf(staying.person);
    const removed = await remove(staying.person, leaving.id, ", revokeKeys: true, revokeInvitations: false");
    expect(removed.revokedKeys?.map(({ id }) => id).toSorted()).toEqual(leaving.keys);
    expect(removed.revokedInvitations).toEqual([]);
    expect((await goodKeysOf(staying.person)).toSorted()).toEqual(
      before.filter((id) => !leaving.keys.includes(id)).toSorted(),
    );
    expect((await invitationsOf(staying.person)).toSorted()).toEqual(
      [leaving.invitation, staying.invitation].toSorted(),
    );
  });

  // evidence: member-removal-audited
  it("records each revoked key and invitation in the audit log, with the owner who did it", async () => {
    const { leaving, staying } = await twoOwners();
    await remove(staying.person, leaving.id, ", revokeKeys: true");
    const { auditLog } = await staying.person.queryData(
      '{ auditLog(first: 20, actions: ["member.removed", "key.revoked", "invitation.revoked"]) { nodes { action actor subject } } }',
    );
    const actor = staying.person.email;
    const acts = auditLog.nodes as { action: string; subject: string; actor: string }[];
    expect(acts).toHaveLength(4);
    expect(acts).toEqual(
      expect.arrayContaining([
        { action: "member.removed", subject: leaving.id, actor },
        ...leaving.keys.map((subject) => ({ action: "key.revoked", subject, actor })),
        { action: "invitation.revoked", subject: leaving.invitation, actor },
      ]),
    );
  });

  it("revokes nothing of a member of another organisation, nor of the last owner", async () => {
    const [ours, theirs] = [await twoOwners(), await twoOwners()];
    const before = await goodKeysOf(theirs.staying.person);
    const refused = { id: null, revokedKeys: null, revokedInvitations: null };
    const all = ", revokeKeys: true, revokeInvitations: true";
    expect(await remove(ours.staying.person, theirs.leaving.id, all)).toEqual({
      ...refused,
      userErrors: [{ code: "NOT_FOUND" }],
    });
    await remove(ours.staying.person, ours.leaving.id);
    expect(await remove(ours.staying.person, ours.staying.id, all)).toEqual({
      ...refused,
      userErrors: [{ code: "CONFLICT" }],
    });
    expect(await goodKeysOf(theirs.staying.person)).toEqual(before);
    expect(await invitationsOf(theirs.staying.person)).toHaveLength(2);
    expect(await goodKeysOf(ours.staying.person)).toEqual(expect.arrayContaining(ours.staying.keys));
    expect(await invitationsOf(ours.staying.person)).toEqual([ours.staying.invitation]);
  });
});

describe("removing an operator", () => {
  it("revokes on request the operators' keys that they created, and leaves organisations' keys", async () => {
    const staying = await createSignedInUser(app, null);
    const leaving = await createSignedInUser(app, null);
    const { organizationId } = await twoOwners();
    const own = await createdBy(leaving);
    const ofOrganization = await createdBy(leaving, toTypedId("org", organizationId));
    const { members } = await staying.queryData("{ members { id email } }");
    const { id } = (members as { id: string; email: string }[]).find(({ email }) => email === leaving.email)!;
    const removed = await remove(staying, id, ", revokeKeys: true");
    expect(removed.revokedKeys).toEqual([{ id: own.id }]);
    expect(await goodKeysOf(staying)).toContain(ofOrganization.id);
  });
});
