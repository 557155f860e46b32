import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sql } from "../../../src/platform/postgres/sql.ts";
import { VALID_PASSWORD, createSessionClient, signIn } from "../../support/accounts/session-client.ts";
import { expectData, expectFailure } from "../../support/app/assertions.ts";
import { createCliRunner } from "../../support/processes/cli-process.ts";
import { startTestApp, type TestApp } from "../../support/app/app.fixture.ts";

let app: TestApp;
const { run, runJson: documentOf } = createCliRunner(() => ({
  DATABASE_URL: app.databaseUrl,
  PUBLIC_URL: "https://console.example",
}));

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app[Symbol.asyncDispose]());

async function createOperator(email: string): Promise<string> {
  const { url } = await documentOf("operator", "create", "--email", email);
  const [, token = ""] = /^https:\/\/console\.example\/invitation#token=([\w-]{43})$/.exec(url) ?? [];
  return token;
}

const accept = (token: string) =>
  createSessionClient(app).post("/auth/links/accept", { token, name: "A Heron", password: VALID_PASSWORD });

// Each command is a process of its own, which takes a while on a busy machine.
describe("operator create", { timeout: 90_000 }, () => {
  it("gives a link by which the person chooses a password and signs in as an operator", async () => {
    const token = await createOperator("First@Test.example");
    expectData(await accept(token));
    const browser = await signIn(app, { email: "first@test.example", password: VALID_PASSWORD });
    expect(expectData(await browser.get("/auth/session"))).toMatchObject({
      user: { name: "A Heron", role: "operator" },
      organization: null,
    });
    expectFailure(await accept(token), 404);
  });

  it("gives a new link when asked again, and the former ends", async () => {
    const former = await createOperator("second@test.example");
    const token = await createOperator("second@test.example");
    expectFailure(await accept(former), 404);
    expectData(await accept(token));
  });

  it("is refused for an address that has an account, and for what is no address", async () => {
    expectData(await accept(await createOperator("third@test.example")));
    const [known, nonsense, missing] = await Promise.all([
      run("operator", "create", "--email", "third@test.example"),
      run("operator", "create", "--email", "nonsense"),
      run("operator", "create"),
    ]);
    expect(known).toMatchObject({ code: 1, stdout: "" });
    expect(known.stderr).toContain("has an account already");
    expect(nonsense).toMatchObject({ code: 2, stdout: "" });
    expect(missing).toMatchObject({ code: 2, stdout: "" });
  });

  it("is kept account of", async () => {
    await createOperator("fourth@test.example");
    const [act] = await app.database.query(sql`
      select action, actor, details from audit_entry where details ->> 'email' = 'fourth@test.example'`);
    expect(act).toMatchObject({ action: "member.invited", actor: "system" });
  });
});
