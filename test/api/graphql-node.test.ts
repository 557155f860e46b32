/** `node(id:)` for each accepted prefix. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { createTenantCanary, type TenantCanary } from "../support/graphql/tenant-canary.ts";
import { queryData } from "../support/graphql/client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";

let app: TestApp;
let owner: TenantCanary;
let operator: SignedInTestUser;
let outsider: SignedInTestUser;

beforeAll(async () => {
  // Without a worker, which would change deliveries and e-mails.
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on", WAYMARK_ROLE: "api" });
  operator = await createSignedInUser(app, null);
  owner = await createTenantCanary(app, operator);
  outsider = await createSignedInUser(app, (await app.createOrganization("agent")).id);
});
afterAll(() => app[Symbol.asyncDispose]());

const accepted = {
  job: "Job",
  evt: "JobEvent",
  org: "Organization",
  whe: "WebhookEndpoint",
  dlv: "WebhookDelivery",
  att: "WebhookAttempt",
  key: "ApiKey",
  usr: "User",
  arq: "AccountRequest",
  aud: "AuditEntry",
  eml: "Mail",
  inv: "Invitation",
  viw: "SavedView",
};
/** Who may read an object of the prefix, where it is not both its organization's key and every operator. */
const readers: Record<string, readonly ("key" | "owner" | "operator")[]> = {
  arq: ["operator"],
  aud: ["owner", "operator"],
  eml: ["operator"],
  inv: ["owner"],
  viw: ["owner"],
};
const query = "query ($id: ID!) { node(id: $id) { id __typename } }";

it.each(Object.entries(accepted))(
  "returns the object for an ID with the prefix %s_ to those who may see it, and null to others",
  async (prefix, type) => {
    const id = owner.ids.find((other) => other.startsWith(`${prefix}_`));
    const may = readers[prefix] ?? ["key", "owner", "operator"];
    const seenBy = (reader: (typeof may)[number]) => ({
      node: may.includes(reader) ? { id, __typename: type } : null,
    });
    expect(await operator.queryData(query, { id })).toEqual(seenBy("operator"));
    expect(await owner.owner.queryData(query, { id })).toEqual(seenBy("owner"));
    expect(await queryData(app, query, { key: owner.key, variables: { id } })).toEqual(seenBy("key"));
    expect(await outsider.queryData(query, { id })).toEqual({ node: null });
  },
);
