import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/core/postgres/sql.ts";
import { VALID_PASSWORD, createSessionClient, signIn } from "../../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";

let app: TestApp;
const { run, runJson } = createCliRunner(() => ({
  DATABASE_URL: app.databaseUrl,
  PUBLIC_URL: "https://console.example",
}));

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function createOperator(email: string): Promise<string> {
  const { url } = await runJson("operator", "create", "--email", email);
  const [, token = ""] = /^https:\/\/console\.example\/invitation#token=([\w-]{43})$/.exec(url) ?? [];
  return token;
}

const accept = (token: string) =>
  createSessionClient(app).post("/auth/links/accept", { token, name: "A Heron", password: VALID_PASSWORD });

describe("operator create", () => {
  it("prints a link that lets the operator choose a password and sign in", async () => {
    const token = await createOperator("First@Test.example");
    expectData(await accept(token));
    const browser = await signIn(app, { email: "first@test.example", password: VALID_PASSWORD });
    expect(expectData(await browser.get("/auth/session"))).toMatchObject({
      user: { name: "A Heron", role: "operator" },
      organization: null,
    });
    expectFailure(await accept(token), 404);
  });

  it("prints a new link when run again, and the previous link stops working", async () => {
    const previous = await createOperator("second@test.example");
    const token = await createOperator("second@test.example");
    expectFailure(await accept(previous), 404);
    expectData(await accept(token));
  });

  it("fails for an e-mail address that has an account, and for an invalid one", async () => {
    expectData(await accept(await createOperator("third@test.example")));
    const [known, nonsense, missing] = await Promise.all([
      run("operator", "create", "--email", "third@test.example"),
      run("operator", "create", "--email", "nonsense"),
      run("operator", "create"),
    ]);
    expect(known).toMatchObject({ code: 1, stdout: "" });
    expect(known.stderr).toContain("already has an account");
    expect(nonsense).toMatchObject({ code: 2, stdout: "" });
    expect(missing).toMatchObject({ code: 2, stdout: "" });
  });

  it("records an audit entry", async () => {
    await createOperator("fourth@test.example");
    const [entry] = await app.database.query(sql`
      select action, actor, details from audit_entry where details ->> 'email' = 'fourth@test.example'`);
    expect(entry).toMatchObject({ action: "member.invited", actor: "system" });
  });
});
