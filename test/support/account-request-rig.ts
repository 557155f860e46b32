/** An app of which people ask for accounts, with the operator who reads their requests and decides. */
import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { openBrowser } from "./account.ts";
import { ACCOUNT_ENV, mailOf, somewhere } from "./account-mails.ts";
import { newPerson, type SignedIn } from "./graphql-person.ts";
import { ask, type GraphqlAnswer, type GraphqlQuestion } from "./graphql.ts";
import type { Answer } from "./instance.ts";
import { startTestApp, type Partner, type TestApp } from "./start-app.ts";

export interface Asked {
  email: string;
  organization_name: string;
  organization_type: string;
  message?: string | null;
}

/** A request as operators see it. */
export interface AskedRow {
  id: string;
  status: string;
  email: string;
  organizationName: string;
  warnings: string[];
}

export interface AccountRequestRig extends AsyncDisposable {
  readonly app: TestApp;
  readonly agent: Partner;
  readonly operator: SignedIn;
  submit(body: unknown, from?: Record<string, string>): Promise<Answer>;
  /** Asks, and waits until it has come. */
  submitted(request?: Asked): Promise<Asked & { id: string }>;
  rowsOf(email: string): Promise<AskedRow[]>;
  /** By the mutation `field`, as the operator unless `asking` says otherwise. */
  decide(
    field: string,
    args: Record<string, unknown>,
    asking?: GraphqlQuestion,
  ): Promise<GraphqlAnswer["data"]>;
}

export function newRequest(): Asked {
  const name = randomBytes(6).toString("hex");
  return { email: `${name}@test.example`, organization_name: `Haulage ${name}`, organization_type: "agent" };
}

const REQUEST = `accountRequest { id status decidedAt decidedBy registrationExpiresAt organization { id name type }
  notes { by kind text } } userErrors { code field message }`;

const TYPES = {
  id: "ID!",
  organizationName: "String",
  reason: "String!",
  question: "String!",
  text: "String!",
};

export async function openAccountRequestRig(): Promise<AccountRequestRig> {
  const app = await startTestApp(ACCOUNT_ENV);
  const agent = await app.partner("agent");
  const operator = await newPerson(app, null);
  const submit: AccountRequestRig["submit"] = (body, from = somewhere()) => {
    const init = { method: "POST", headers: from, body: JSON.stringify(body) };
    return openBrowser(app).call("/auth/account-requests", init);
  };
  const rowsOf: AccountRequestRig["rowsOf"] = async (email) => {
    const { accountRequests } = await operator.ask(
      `{ accountRequests(first: 100) { nodes { id status email organizationName warnings } } }`,
    );
    return (accountRequests.nodes as AskedRow[]).filter((node) => node.email === email);
  };
  return {
    app,
    agent,
    operator,
    submit,
    rowsOf,
    async submitted(request = newRequest()) {
      expect((await submit(request)).status).toBe(202);
      await mailOf(app, request.email.toLowerCase(), "account_request_received");
      const found = await rowsOf(request.email);
      return { ...request, id: found[0]?.id as string };
    },
    async decide(field, args, asking = { headers: operator.headers }) {
      const names = Object.keys(args) as (keyof typeof TYPES)[];
      const head = names.map((name) => `$${name}: ${TYPES[name]}`).join(", ");
      const inner = names.map((name) => `${name}: $${name}`).join(", ");
      const data = await ask(app, `mutation (${head}) { ${field}(${inner}) { ${REQUEST} } }`, {
        ...asking,
        variables: args,
      });
      return data[field];
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  };
}
