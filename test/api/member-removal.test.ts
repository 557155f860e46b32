/** The keys and invitations that are revoked with a removed member. */
import { describe, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import {
  createSignedInUser,
  inviteMember,
  type SignedInTestUser,
} from "../support/accounts/signed-in-user.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { queryData } from "../support/graphql/client.ts";

const app = await sharedApp("api");

/** A key has the scope for keys only if its creator names it. */
const scopes = ["JOBS_READ", "JOBS_WRITE", "WEBHOOKS_MANAGE", "KEYS_MANAGE"];
const CREATE = `mutation ($input: CreateApiKeyInput!) { createApiKey(input: $input) { apiKey { id } secret } }`;

interface CreatedKey {
  apiKey: { id: string };
  secret: string;
}

/** Creates a key as a user, or with a key. */
async function createKey(by: SignedInTestUser | string, organizationId?: string): Promise<CreatedKey> {
  const variables = { input: { name: "created", organizationId, scopes } };
  const data =
    typeof by === "string"
      ? await queryData(app, CREATE, { key: by, variables })
      : await by.queryData(CREATE, variables);
  return data.createApiKey as CreatedKey;
}

async function remove(by: SignedInTestUser, { id }: { id: string }, options = "") {
  const { removeMember } = await by.queryData(
    `mutation { removeMember(id: "${toTypedId("usr", id)}"${options}) {
      id revokedKeys { id } revokedInvitations userErrors { code } } }`,
  );
  return removeMember as {
    id: string | null;
    revokedKeys: { id: string }[] | null;
    revokedInvitations: string[] | null;
    userErrors: { code: string }[];
  };
}

async function validKeysOf(user: SignedInTestUser): Promise<string[]> {
  const { apiKeys } = await user.queryData("{ apiKeys { id revokedAt } }");
  const keys = apiKeys as { id: string; revokedAt: string | null }[];
  return keys.filter(({ revokedAt }) => revokedAt === null).map(({ id }) => id);
}

async function invitationsOf(user: SignedInTestUser): Promise<string[]> {
  const { invitations } = await user.queryData("{ invitations { id } }");
  return (invitations as { id: string }[]).map(({ id }) => id).toSorted();
}

/** An owner with a key, a key that this key created, and an invitation. */
async function newOwner(organizationId: string) {
  const user = await createSignedInUser(app, organizationId);
  const key = await createKey(user);
  const further = await createKey(key.secret);
  const keys = [key.apiKey.id, further.apiKey.id].toSorted();
  return {
    user,
    id: user.id,
    typedId: toTypedId("usr", user.id),
    keys,
    invitation: (await inviteMember(app, user)).id,
  };
}

async function twoOwners() {
  const { id: organizationId } = await app.createOrganization("agent");
  const [leaving, staying] = [await newOwner(organizationId), await newOwner(organizationId)];
  return { organizationId, leaving, staying };
}

describe("removing an owner", () => {
  it("revokes the invitations that they sent and leaves their keys unless the mutation says otherwise", async () => {
    const { leaving, staying } = await twoOwners();
    expect(await remove(staying.user, leaving)).toEqual({
      id: leaving.typedId,
      revokedKeys: [],
      revokedInvitations: [leaving.invitation],
      userErrors: [],
    });
    expect(await validKeysOf(staying.user)).toEqual(expect.arrayContaining(leaving.keys));
    expect(await invitationsOf(staying.user)).toEqual([staying.invitation]);
  });

  it("revokes on request the keys that they created and those that these created, and no others", async () => {
    const { leaving, staying } = await twoOwners();
    const kept = (await validKeysOf(staying.user)).filter((id) => !leaving.keys.includes(id));
    const removed = await remove(staying.user, leaving, ", revokeKeys: true, revokeInvitations: false");
    expect(removed.revokedKeys?.map(({ id }) => id).toSorted()).toEqual(leaving.keys);
    expect(removed.revokedInvitations).toEqual([]);
    expect(await validKeysOf(staying.user)).toEqual(kept);
    const invitations = [leaving.invitation, staying.invitation].toSorted();
    expect(await invitationsOf(staying.user)).toEqual(invitations);
  });

  // evidence: member-removal-audited
  it("records each revoked key and invitation in the audit log, with the owner who did it", async () => {
    const { leaving, staying } = await twoOwners();
    await remove(staying.user, leaving, ", revokeKeys: true");
    const { auditLog } = await staying.user.queryData(
      '{ auditLog(first: 20, actions: ["member.removed", "key.revoked", "invitation.revoked"]) { nodes { action actor subject } } }',
    );
    const actor = staying.user.email;
    const expected = [
      { action: "member.removed", subject: leaving.typedId, actor },
      ...leaving.keys.map((subject) => ({ action: "key.revoked", subject, actor })),
      { action: "invitation.revoked", subject: leaving.invitation, actor },
    ];
    expect(new Set(auditLog.nodes)).toEqual(new Set(expected));
  });

  it("revokes nothing of the last owner", async () => {
    const { leaving, staying } = await twoOwners();
    await remove(staying.user, leaving);
    const refused = await remove(staying.user, staying, ", revokeKeys: true, revokeInvitations: true");
    const nothing = { id: null, revokedKeys: null, revokedInvitations: null };
    expect(refused).toEqual({ ...nothing, userErrors: [{ code: "CONFLICT" }] });
    expect(await validKeysOf(staying.user)).toEqual(
      expect.arrayContaining([...leaving.keys, ...staying.keys]),
    );
    expect(await invitationsOf(staying.user)).toEqual([staying.invitation]);
  });
});

it("removing an operator revokes on request the operators' keys that they created, and leaves organisations' keys", async () => {
  const [staying, leaving] = [await createSignedInUser(app, null), await createSignedInUser(app, null)];
  const { id: organizationId } = await app.createOrganization("agent");
  const own = await createKey(leaving);
  const ofOrganization = await createKey(leaving, toTypedId("org", organizationId));
  const removed = await remove(staying, leaving, ", revokeKeys: true");
  expect(removed.revokedKeys).toEqual([own.apiKey]);
  expect(await validKeysOf(staying)).toContain(ofOrganization.apiKey.id);
});
