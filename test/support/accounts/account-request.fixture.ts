/** The shared app with a signed-in operator, for tests that submit and review account requests. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { createSessionClient } from "./session-client.ts";
import { extractLinkToken, waitForMail } from "./mails.ts";
import { createSignedInUser } from "./signed-in-user.ts";
import { sharedApp } from "../app/shared-app.ts";

export interface AccountRequestBody {
  email: string;
  organization_name: string;
  organization_type: string;
  message?: string | null;
}

export type AccountRequestFixture = Awaited<ReturnType<typeof openAccountRequestFixture>>;

export function newAccountRequest(): AccountRequestBody {
  const name = randomBytes(6).toString("hex");
  return { email: `${name}@test.example`, organization_name: `Haulage ${name}`, organization_type: "agent" };
}

const REQUEST_SELECTION = `accountRequest { id status decidedAt decidedBy registrationExpiresAt organization { id name type }
  notes { by kind text } } userErrors { code field message }`;

export async function openAccountRequestFixture() {
  const app = await sharedApp("api");
  const agent = await app.createOrganization("agent");
  const operator = await createSignedInUser(app, null);
  const submit = (body: unknown, headers: Record<string, string> = {}) => {
    const init = { method: "POST", headers, body: JSON.stringify(body) };
    return createSessionClient(app).call("/auth/account-requests", init);
  };
  /** Newest first. */
  const findRequests = async (email: string) => {
    const { accountRequests } = await operator.queryData(
      "{ accountRequests(first: 100) { nodes { id status email organizationName warnings } } }",
    );
    type Found = Record<"id" | "status" | "email" | "organizationName", string> & { warnings: string[] };
    return (accountRequests.nodes as Found[]).filter((request) => request.email === email);
  };
  /** Submits a request and waits until operators can see it. */
  const submitAndWait = async (request: AccountRequestBody = newAccountRequest()) => {
    expect((await submit(request)).status).toBe(202);
    await waitForMail(app, request.email.toLowerCase(), "account_request_received");
    const [submitted] = await findRequests(request.email);
    return { ...request, id: submitted?.id as string };
  };
  /** Runs the review mutation `field` as the operator. */
  const decide = async (field: string, args: Record<string, unknown>) => {
    const given = Object.entries(args).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    const mutation = `mutation { ${field}(${given.join(", ")}) { ${REQUEST_SELECTION} } }`;
    return (await operator.queryData(mutation))[field];
  };
  const registrationToken = async (email: string) =>
    extractLinkToken(await waitForMail(app, email, "registration"), "register");
  return {
    app,
    agent,
    operator,
    submit,
    findRequests,
    submitAndWait,
    decide,
    /** Returns the token of the newest mailed link. */
    registrationToken,
    /** An approved request and the token of its link. */
    async approve(change: Partial<AccountRequestBody> = {}) {
      const request = await submitAndWait({ ...newAccountRequest(), ...change });
      await decide("approveAccountRequest", { id: request.id });
      return { ...request, token: await registrationToken(request.email) };
    },
  };
}
