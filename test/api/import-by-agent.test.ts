/** An operator lets the users of an agent import jobs in the console. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { beforeAll, beforeEach, expect, it } from "vitest";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import type { UserRole } from "../../src/organizations/api.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";
import { newMarkingNumber } from "../support/jobs/service.fixture.ts";

const ALLOW = `mutation ($id: ID!, $allowed: Boolean!) { allowJobImport(id: $id, allowed: $allowed) {
  organization { id canImportJobs } userErrors { code message } } }`;

const { app } = useSharedApp();
let operator: SignedInTestUser;
let agent: TestOrganization;

beforeAll(async () => {
  operator = await createSignedInUser(app, null);
});
beforeEach(async () => {
  agent = await app.createOrganization("agent");
});

const allow = async (id: string, allowed = true) =>
  (await operator.queryData(ALLOW, { id: toTypedId("org", id), allowed })).allowJobImport;

const send = (user: SignedInTestUser, file: string, path = "/console-api/imports?file_name=mine.csv") =>
  app.request(path, {
    method: "POST",
    body: file,
    headers: { ...user.headers, origin: app.url, "content-type": "text/csv" },
  });

const statusOf = async (role: UserRole): Promise<number> =>
  (await send(await createSignedInUser(app, agent.id, role), "marking_number\nTEST-\n")).status;

const agentOf = async (markingNumber: string) =>
  await app.database.query(sql`select agent_id from job where marking_number = ${markingNumber}`);

it("is off until an operator allows it, and then on for owners and dispatchers only", async () => {
  const roles = ["owner", "dispatcher", "developer", "viewer"] as const;
  expect(await Promise.all(roles.map(statusOf))).toEqual([403, 403, 403, 403]);
  const id = toTypedId("org", agent.id);
  expect(await allow(agent.id)).toEqual({ organization: { id, canImportJobs: true }, userErrors: [] });
  expect(await Promise.all(roles.map(statusOf))).toEqual([200, 200, 403, 403]);
  await allow(agent.id, false);
  expect(await statusOf("owner")).toBe(403);
});

it("imports jobs of the agent alone, records them for its owner, and tells the session that it may", async () => {
  await allow(agent.id);
  await allow(agent.id);
  const user = await createSignedInUser(app, agent.id);
  const { body } = await user.client.call("/auth/session");
  expect(body.data.organization).toMatchObject({ can_import_jobs: true });
  const number = newMarkingNumber();
  const sample = await send(user, `marking_number\n${number}\n`, "/console-api/imports/sample");
  expect(sample.status).toBe(200);
  const { text } = await send(user, `marking_number\n${number}\n`);
  expect(JSON.parse(text.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ counts: { created: 1 } });
  expect(await agentOf(number)).toEqual([{ agent_id: agent.id }]);
  const { auditLog } = await user.queryData("{ auditLog { nodes { action actor subject } } }");
  const importing = auditLog.nodes.filter(({ action }: { action: string }) => action.includes("import"));
  expect(importing.toReversed()).toEqual([
    { action: "organization.import_allowed", actor: "operator", subject: toTypedId("org", agent.id) },
    { action: "import.started", actor: user.email, subject: "mine.csv" },
    { action: "import.finished", actor: user.email, subject: "mine.csv" },
  ]);
});

const rows = (count: number): string =>
  Array.from({ length: count }, () => `${newMarkingNumber()},${"x".repeat(900)}\n`).join("");

it("stops an import that runs while an operator forbids it", async () => {
  await allow(agent.id);
  const user = await createSignedInUser(app, agent.id);
  const last = newMarkingNumber();
  const file = async function* (): AsyncGenerator<string> {
    yield `marking_number,instructions\n${rows(1_500)}`;
    const jobs = sql`select from job where agent_id = ${agent.id}::uuid`;
    await eventually(async () => expect((await app.database.query(jobs)).length).toBeGreaterThan(0));
    await allow(agent.id, false);
    yield `${rows(1_500)}${last},end\n`;
  };
  const upload = httpRequest(`${app.url}/console-api/imports`, {
    method: "POST",
    headers: { ...user.headers, "content-type": "text/csv" },
  });
  const [[response]] = await Promise.all([
    once(upload, "response") as Promise<[IncomingMessage]>,
    pipeline(Readable.from(file()), upload),
  ]);
  const report = JSON.parse((await textOf(response)).trimEnd().split("\n").at(-1) ?? "");
  expect(report).toMatchObject({ type: "report", stopped: { code: "ForbiddenException" } });
  expect(await agentOf(last)).toEqual([]);
});

it("is not for contractors", async () => {
  const { id } = await app.createOrganization("contractor");
  expect(await allow(id)).toMatchObject({ organization: null, userErrors: [{ code: "INVALID" }] });
});
