/** A release with deprecations: what the documents, the responses and the feeds say about them. */
import {
  buildClientSchema,
  getIntrospectionQuery,
  isEnumType,
  isObjectType,
  type IntrospectionQuery,
} from "graphql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDeprecations, deprecations, type Deprecation } from "../../src/deprecations/api.ts";
import { createFactories, type TestOrganization } from "../support/app/app.fixture.ts";
import { startAppInstance, type AppInstance, type RequestOptions } from "../support/app/app-instance.ts";
import { sharedApp } from "../support/app/shared-app.ts";

const dates = { since: "2027-01-31", sunset: "2028-01-31" };
const registry: readonly Deprecation[] = [
  {
    id: "jobs-page",
    target: { operation: "GET /v1/jobs", part: { in: "query", name: "page" } },
    ...dates,
    replacement: "Pass next_cursor as cursor.",
  },
  {
    id: "history",
    target: { operation: "GET /v1/jobs/by-marking/{markingNumber}/history" },
    since: "2027-03-01",
    sunset: "2028-06-01",
    replacement: "Follow GET /v1/events.",
    successor: "/v1/events",
  },
  {
    id: "pts",
    target: { operation: "PATCH /v1/jobs/batch", part: { in: "request", name: "jobs[].pts" } },
    ...dates,
    replacement: "Send weight.",
  },
  {
    id: "job-labels",
    target: { operation: "GET /v1/jobs", part: { in: "response", name: "items[].labels" } },
    ...dates,
    replacement: "Read group_code.",
  },
  { id: "graphql-pts", target: { coordinate: "Job.pts" }, ...dates, replacement: "Select weight." },
  { id: "graphql-patch-pts", target: { coordinate: "JobPatch.pts" }, ...dates, replacement: "Send weight." },
  { id: "graphql-first", target: { coordinate: "Job.history(first:)" }, ...dates, replacement: "Omit it." },
];

let databaseUrl: string;
let app: AppInstance;
let agent: TestOrganization;
let number: string;

beforeAll(async () => {
  ({ databaseUrl } = await sharedApp("api"));
  app = await startAppInstance(databaseUrl, { WAYMARK_ROLE: "api" }, { deprecations: registry });
  const { createOrganization, createJobs } = createFactories(app);
  agent = await createOrganization("agent");
  [number = ""] = await createJobs(agent, [{}]);
});
afterAll(() => app[Symbol.asyncDispose]());

/** Returns the three headers of the response to a request. */
async function headersOf(path: string, options: RequestOptions = {}): Promise<(string | undefined)[]> {
  const response = await app.request(path, { key: agent.key, ...options });
  return ["deprecation", "sunset", "link"].map((name) => response.get(name));
}

async function ask(query: string, variables: object = {}): Promise<(string | undefined)[]> {
  return await headersOf("/graphql", { method: "POST", body: JSON.stringify({ query, variables }) });
}

/** Returns the headers of a batch of one job with `fields`. */
async function patch(fields: object): Promise<(string | undefined)[]> {
  const body = JSON.stringify({ jobs: [{ marking_number: number, ...fields }] });
  return await headersOf("/v1/jobs/batch", { method: "PATCH", body });
}

const SINCE = "@1801353600";
const SUNSET = "Mon, 31 Jan 2028 00:00:00 GMT";

describe("a REST request that uses something deprecated has the headers", () => {
  it("if it sends the parameter, beside the links of the list", async () => {
    const [deprecation, sunset, link] = await headersOf("/v1/jobs?page=1");
    expect({ deprecation, sunset }).toEqual({ deprecation: SINCE, sunset: SUNSET });
    expect(link).toContain('rel="first"');
    expect(link).toContain(`<${app.url}/guide/versioning#deprecation>; rel="deprecation"`);
    expect((await headersOf("/v1/jobs?page=1", { method: "HEAD" }))[0]).toBe(SINCE);
    expect((await headersOf("/v1/jobs?page=x"))[0]).toBe(SINCE);
  });

  it("if it calls the operation, with the one that replaces it", async () => {
    const [deprecation, sunset, link] = await headersOf(`/v1/jobs/by-marking/${number}/history`);
    expect(deprecation).toBe(`@${Date.parse("2027-03-01") / 1000}`);
    expect(sunset).toBe("Thu, 01 Jun 2028 00:00:00 GMT");
    expect(link).toContain(`<${app.url}/v1/events>; rel="successor-version"`);
  });

  it("if its body has the field", async () => {
    expect((await patch({ pts: null }))[0]).toBe(SINCE);
    expect(await patch({ weight: 2 })).toEqual([undefined, undefined, undefined]);
  });

  it("and no other request has them", async () => {
    const others = [
      "/v1/jobs?cursor=x",
      "/v1/events",
      `/v1/jobs/by-marking/${number}`,
      "/v1/none",
      "/openapi.json",
    ];
    for (const path of others) expect((await headersOf(path)).slice(0, 2)).toEqual([undefined, undefined]);
    const list = await headersOf("/v1/jobs");
    expect(list.slice(0, 2)).toEqual([undefined, undefined]);
    expect(list[2]).not.toContain("deprecation");
  });
});

describe("a GraphQL request that uses something deprecated has the headers", () => {
  it.each<[string, string, object]>([
    ["a field", "{ jobs(first: 1) { nodes { id pts } } }", {}],
    ["a field in a fragment", "{ jobs(first: 1) { nodes { ...F } } } fragment F on Job { id pts }", {}],
    ["an argument", "{ jobs(first: 1) { nodes { id history(first: 1) { nodes { id } } } } }", {}],
    [
      "a field of a variable",
      'mutation M($patch: JobPatch!) { updateJob(input: { markingNumber: "x", patch: $patch }) { userErrors { code } } }',
      { patch: { pts: 1 } },
    ],
    [
      "a field of an input",
      'mutation { updateJob(input: { markingNumber: "x", patch: { pts: 1 } }) { userErrors { code } } }',
      {},
    ],
  ])("if it has %s", async (_what, query, variables) => {
    // The second answer comes from the caches.
    for (const time of [1, 2])
      expect({ time, headers: (await ask(query, variables)).slice(0, 2) }).toEqual({
        time,
        headers: [SINCE, SUNSET],
      });
  });

  it("and no other request has them", async () => {
    const query =
      'mutation M($patch: JobPatch!) { updateJob(input: { markingNumber: "x", patch: $patch }) { userErrors { code } } }';
    expect(await ask(query, { patch: { weight: 1 } })).toEqual([undefined, undefined, undefined]);
    expect(await ask("{ jobs(first: 1) { nodes { id weight } } }")).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

// oxlint-disable-next-line typescript/no-explicit-any -- tests read documents of any shape
type Json = any;

describe("the documents", () => {
  it("OpenAPI marks what is deprecated, with its dates and headers", async () => {
    const { body }: { body: Json } = await app.request("/openapi.json");
    const { paths, components } = body;
    const page = paths["/jobs"].get.parameters.find(({ name }: Json) => name === "page");
    expect(page.deprecated).toBe(true);
    expect(page.description).toContain(
      "Deprecated since 2027-01-31, and removed on 2028-01-31. Pass next_cursor",
    );
    const history = paths["/jobs/by-marking/{markingNumber}/history"].get;
    expect(history.deprecated).toBe(true);
    expect(Object.keys(history.responses["200"].headers)).toEqual(
      expect.arrayContaining(["Deprecation", "Sunset"]),
    );
    expect(components.schemas.BatchItem.properties.pts.deprecated).toBe(true);
    expect(components.schemas.ListedJob.properties.labels.deprecated).toBe(true);
    const marked = JSON.stringify({ paths, components }).match(/"deprecated":true/g);
    expect(marked).toHaveLength(4);
  });

  it("the GraphQL schema has @deprecated with the reason", async () => {
    const body = JSON.stringify({ query: getIntrospectionQuery({ inputValueDeprecation: true }) });
    const response = await app.request("/graphql", { method: "POST", key: agent.key, body });
    const schema = buildClientSchema((response.body as { data: IntrospectionQuery }).data);
    const job = schema.getType("Job");
    if (!isObjectType(job)) throw new Error("Job is an object type");
    expect(job.getFields()["pts"]?.deprecationReason).toBe(
      "Deprecated since 2027-01-31, and removed on 2028-01-31. Select weight.",
    );
    expect(job.getFields()["weight"]?.deprecationReason).toBeNull();
    expect(
      job.getFields()["history"]?.args.find(({ name }) => name === "first")?.deprecationReason,
    ).toContain("Omit it");
    const enums = Object.values(schema.getTypeMap())
      .filter(isEnumType)
      .flatMap((type) => type.getValues());
    expect(enums.filter(({ deprecationReason }) => deprecationReason)).toEqual([]);
  });
});

describe("the change feeds", () => {
  it("have the releases and the deprecations, newest first", async () => {
    const { body }: { body: Json } = await app.request("/changelog.json");
    const { items } = body;
    const days = items.map((item: Json) => item.date_published);
    expect(days).toEqual(days.toSorted((left: string, right: string) => right.localeCompare(left)));
    expect(items[0]).toMatchObject({
      id: "deprecation-history",
      title: "Deprecated: GET /v1/jobs/by-marking/{markingNumber}/history",
      date_published: "2027-03-01T00:00:00Z",
      tags: ["deprecation"],
    });
    expect(items).toHaveLength(registry.length + 1);
    expect(items.at(-1)).toMatchObject({ title: "Waymark 1.0.0-rc", tags: ["release"] });
    expect(items.at(-1).content_text).toContain("### Added");
  });

  it("are the same as Atom, with an ETag", async () => {
    const response = await app.request("/changelog.atom").buffer();
    expect(response.get("content-type")).toBe("application/atom+xml; charset=utf-8");
    expect(response.text.match(/<entry>/g)).toHaveLength(registry.length + 1);
    expect(response.text).toContain(`<link rel="self" href="${app.url}/changelog.atom"/>`);
    const etag = response.get("etag") ?? "";
    const repeated = await app.request("/changelog.atom", { headers: { "if-none-match": etag } });
    expect(repeated.status).toBe(304);
  });
});

describe("the registry", () => {
  const [first] = registry as [Deprecation];

  it("is valid, and names parts that exist", async () => {
    expect(() => checkDeprecations(deprecations)).not.toThrow();
    const wrong = { ...first, target: { coordinate: "Job.none" } };
    const starting = startAppInstance(databaseUrl, { WAYMARK_ROLE: "api" }, { deprecations: [wrong] });
    await expect(starting).rejects.toThrow("The SDL has no Job.none");
  });

  it.each<[string, readonly Deprecation[], string]>([
    ["less than 12 months", [{ ...first, sunset: "2028-01-30" }], "needs 12 months"],
    ["an invalid date", [{ ...first, since: "2027-02-30x" }], "needs dates"],
    ["the same ID twice", [first, first], "same ID"],
  ])("refuses %s", (_what, list, message) => {
    expect(() => checkDeprecations(list)).toThrow(message);
  });
});
