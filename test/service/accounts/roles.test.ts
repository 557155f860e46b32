/** Compares the rights of every role with the declarations of all operations and root fields. */
import { beforeAll, describe, expect, it } from "vitest";
import type { SessionMode, SessionPrincipal } from "../../../src/accounts/api.ts";
import { type Scope, scopes as allScopes } from "../../../src/api-keys/api.ts";
import { isAllowed } from "../../../src/operations/admit.ts";
import { operations, rootAccess } from "../../../src/operations/all.ts";
import type { Access, ReadAccess } from "../../../src/operations/operation.ts";
import { type UserRole, userRoles } from "../../../src/organizations/api.ts";
import { createSignedInUser } from "../../support/accounts/signed-in-user.ts";
import { sharedApp } from "../../support/app/shared-app.ts";

const rights: Record<UserRole, { live: readonly Scope[]; test: readonly Scope[] | null }> = {
  owner: { live: allScopes, test: allScopes },
  developer: { live: ["jobs:read", "webhooks:manage", "keys:manage"], test: allScopes },
  dispatcher: { live: ["jobs:read", "jobs:write"], test: ["jobs:read", "jobs:write"] },
  viewer: { live: ["jobs:read"], test: ["jobs:read"] },
  operator: { live: allScopes, test: null },
};

/** The operations and root fields that name some roles of an organisation. */
const named: Record<string, readonly UserRole[]> = {
  inviteMember: ["owner", "operator"],
  resendInvitation: ["owner", "operator"],
  revokeInvitation: ["owner", "operator"],
  removeMember: ["owner", "operator"],
  singleSignOn: ["owner", "operator"],
  setSingleSignOn: ["owner", "operator"],
  verifySingleSignOnDomain: ["owner", "operator"],
  removeSingleSignOn: ["owner", "operator"],
  setMemberRole: ["owner", "operator"],
  resetMemberTwoFactor: ["operator"],
  viewAsOrganization: ["operator"],
  setTimeZone: ["owner"],
  invitations: ["owner", "operator"],
  saveView: ["owner", "dispatcher", "operator"],
  shareView: ["owner", "dispatcher", "operator"],
  deleteView: ["owner", "dispatcher", "operator"],
  savedViews: ["owner", "dispatcher", "operator"],
  notifications: ["owner", "developer", "dispatcher", "viewer"],
  setNotifications: ["owner", "developer", "dispatcher", "viewer"],
  setNotificationWebhook: ["owner", "developer", "dispatcher", "viewer"],
  sendTestNotification: ["owner", "developer", "dispatcher", "viewer"],
  revealWebhookSecret: userRoles,
  jobsToday: userRoles,
};

const declared: readonly (readonly [string, ReadAccess])[] = [
  ...operations.map(({ name, access }) => [name, access] as const),
  ...Object.entries<ReadAccess>(rootAccess),
];

const principals = new Map<string, SessionPrincipal>();

beforeAll(async () => {
  const app = await sharedApp("api");
  const { id } = await app.createOrganization("agent");
  const owner = await createSignedInUser(app, id);
  await owner.client.post("/auth/test-mode");
  for (const role of userRoles) {
    const { headers } = await createSignedInUser(app, role === "operator" ? null : id, role);
    const verify = (mode: SessionMode) => app.accounts.sessionVerifier.verify(headers, "127.0.0.1", mode);
    principals.set(`${role} live`, await verify("live"));
    if (role !== "operator") principals.set(`${role} test`, await verify("test"));
  }
});

function isDeclared(access: Access, role: UserRole, mode: "live" | "test"): boolean {
  const { scopes, role: needed } = access;
  if (!scopes.every((scope) => rights[role][mode]?.includes(scope))) return false;
  if (access.mode === "live" && mode === "test") return false;
  if (needed === "operator") return role === "operator";
  return needed === undefined || needed.includes(role);
}

describe.each(["live", "test"] as const)("in %s mode", (mode) => {
  const present = userRoles.filter((role) => rights[role][mode] !== null);

  it.each(present)("%s has the scopes of the role", (role) => {
    expect(principals.get(`${role} ${mode}`)?.scopes.toSorted()).toEqual(rights[role][mode]?.toSorted());
  });

  it.each(present)("%s may use exactly the operations whose declaration allows it", (role) => {
    const principal = principals.get(`${role} ${mode}`)!;
    const allowed = declared.map(([name, access]) => [name, isAllowed(access, principal)]);
    const expected = declared.map(([name, access]) => [
      name,
      isDeclared(typeof access === "function" ? access(principal) : access, role, mode),
    ]);
    expect(allowed).toEqual(expected);
  });
});

it("names the roles of an organisation only where scopes do not say who may do it", () => {
  const naming = declared.flatMap(([name, access]) =>
    typeof access === "object" && Array.isArray(access.role) ? [[name, access.role] as const] : [],
  );
  expect(Object.fromEntries(naming)).toEqual(named);
});

it("needs a recent sign-in for what gives or ends access", () => {
  // The others that need it do so for some inputs only.
  const always = operations.filter(({ fresh }) => fresh === true).map(({ name }) => name);
  expect(new Set(always)).toEqual(
    new Set([
      "rotateApiKey",
      "createWebhookEndpoint",
      "rotateWebhookSecret",
      "removeMember",
      "setMemberRole",
      "resetMemberTwoFactor",
      "setNotificationWebhook",
      "setSingleSignOn",
      "verifySingleSignOnDomain",
      "removeSingleSignOn",
    ]),
  );
});
