/** Checks the guide on GraphQL: its queries return data of the demo, and its tables match the code. */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApolloServerErrorCode } from "@apollo/server/errors";
import {
  getNamedType,
  isObjectType,
  parse,
  Kind,
  TypeInfo,
  validate,
  visit,
  visitWithTypeInfo,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from "graphql";
import { CloseCode } from "graphql-ws";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureDemo } from "../../src/dev/demo/demo.ts";
import { ErrorFormatter } from "../../src/api/graphql/execution/error-formatter.ts";
import { exampleDocument } from "../../src/api/graphql/explorer/sandbox.ts";
import { limits, MAX_BODY_BYTES, MAX_INPUT_CONTAINERS } from "../../src/api/graphql/execution/limits.ts";
import { createSchema } from "../../src/api/graphql/schema.ts";
import { closeCodes } from "../../src/api/graphql/subscriptions/limits.ts";
import { errorGuidePath } from "../../src/guide/api.ts";
import { errorHeadings } from "../../src/guide/error-sections.ts";
import { toTypedId } from "../../src/core/ids.ts";
import { AppError, errorCodes } from "../../src/core/errors.ts";
import { ReauthenticationRequiredError } from "../../src/core/fresh-authentication.ts";
import { createLogger } from "../../src/core/logger.ts";
import { restOperations } from "../../src/operations/all.ts";
import { mutationOf } from "../../src/operations/operation.ts";
import { waitUntilFeedIsComplete } from "../support/app/feed-client.ts";
import { queryData } from "../support/graphql/client.ts";
import { startTestApp, type TestApp } from "../support/app/app.fixture.ts";
import { codeBlocks, guidePages, readPage, tableRows } from "../support/docs/guide-pages.ts";

const pages = {
  overview: readPage("guide/graphql/overview.md"),
  queries: readPage("guide/graphql/queries.md"),
  mutations: readPage("guide/graphql/mutations.md"),
  subscriptions: readPage("guide/graphql/subscriptions.md"),
};

interface Example {
  name: string;
  kind: OperationDefinitionNode["operation"];
  document: string;
  /** From the following block, if it contains variables. */
  variables: Record<string, unknown> & { items?: object[]; input?: object };
}

/** The examples of all pages, of which those outside `docs/guide/graphql` need other keys. */
const examples = guidePages.flatMap((page) => {
  const blocks = codeBlocks(readPage(page));
  return blocks.flatMap(({ language, text }, index): Example[] => {
    if (language !== "graphql") return [];
    const [operation] = parse(text).definitions;
    if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error("An example is one operation");
    const next = blocks[index + 1];
    const variables = next?.language === "json" ? (JSON.parse(next.text) as Example["variables"]) : {};
    return [{ name: operation.name?.value ?? "", kind: operation.operation, document: text, variables }];
  });
});
const example = (name: string): Example => {
  const match = examples.find((each) => each.name === name);
  if (!match) throw new Error(`The guide has no example ${name}`);
  return match;
};

let app: TestApp;
let key: string;
let dataDir: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "waymark-guide-"));
  app = await startTestApp({ WEBHOOK_ALLOW_PRIVATE: "on" });
  key = (await ensureDemo({ ...app, dataDir }))?.agent ?? "";
});

afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await rm(dataDir, { recursive: true });
});

/** Values of the responses that must not be empty, because the guide says so. */
const finds: Record<string, (data: never) => unknown> = {
  Late: ({ jobs }: { jobs: { totalCount: number } }) => jobs.totalCount,
  Day: ({ jobStats }: { jobStats: { groups: unknown[] } }) => jobStats.groups.length,
  History: ({ job }: { job: { history: { nodes: unknown[] } } }) => job.history.nodes.length,
  Where: ({ jobsByMarkingNumber }: { jobsByMarkingNumber: unknown[] }) => jobsByMarkingNumber.at(0),
  Failures: ({ jobStats }: { jobStats: { groups: unknown[] } }) => jobStats.groups.length,
  Changed: ({ jobs }: { jobs: { nodes: unknown[] } }) => jobs.nodes.length,
  Heavy: ({ jobs }: { jobs: { nodes: unknown[] } }) => jobs.nodes.length,
  Pasted: ({ jobs }: { jobs: { totalCount: number; listedNumbers: { count: number } } }) =>
    jobs.totalCount === 2 && jobs.listedNumbers.count === 3,
  Delivered: ({ updateJobs }: { updateJobs: { updatedCount: number } }) => updateJobs.updatedCount,
  Move: ({ rescheduleJobs }: { rescheduleJobs: { updatedCount: number } }) => rescheduleJobs.updatedCount,
};

describe("the examples", () => {
  const direct = examples.filter(({ name }) => name in finds);

  it.each(direct.map((each) => [each.name, each] as const))("%s returns data", async (name, each) => {
    // The demo's dates are relative to the day on which it is created.
    const variables = name === "Day" ? { day: new Date().toISOString().slice(0, 10) } : each.variables;
    const data = await queryData(app, each.document, { key, variables });
    expect(finds[name]?.(data as never)).toBeTruthy();
  });

  it("Live and Missed: a subscription and the feed have events with the same IDs", async () => {
    const live = example("Live");
    expect(live.kind).toBe("subscription");
    expect(validate(createSchema(), parse(live.document))).toEqual([]);
    await waitUntilFeedIsComplete(app.database);
    const before = await queryData(app, "{ events(first: 1) { nodes { cursor } } }", { key });
    const after: string = before.events.nodes[0].cursor;
    const missed = await queryData(app, example("Missed").document, { key, variables: { after } });
    expect(missed.events.nodes.length).toBeGreaterThan(0);
  });

  it("Keys, Rotate and Revoke: a rotated key is listed, and revoked", async () => {
    const created = await queryData(
      app,
      'mutation { createApiKey(input: { name: "leaked" }) { apiKey { id } } }',
      { key },
    );
    const { id } = created.createApiKey.apiKey;
    const rotated = await queryData(app, example("Rotate").document, { key, variables: { id } });
    expect(rotated.rotateApiKey).toMatchObject({ secret: expect.stringMatching(/^wmk_/), userErrors: [] });
    const { apiKeys } = await queryData(app, example("Keys").document, { key });
    expect(apiKeys.map((each: { id: string }) => each.id)).toContain(id);
    const revoked = await queryData(app, example("Revoke").document, { key, variables: { id } });
    expect(revoked.revokeApiKey).toMatchObject({
      apiKey: { id, revokedAt: expect.any(String) },
      userErrors: [],
    });
  });

  it("Failed and Again: returns a failed delivery with its error, and replays it", async () => {
    const created = await queryData(
      app,
      'mutation { createWebhookEndpoint(input: { url: "http://127.0.0.1:9/closed" }) { endpoint { id } } }',
      { key },
    );
    const endpointId: string = created.createWebhookEndpoint.endpoint.id;
    await queryData(app, `mutation { sendTestEvent(endpointId: "${endpointId}") { delivery { status } } }`, {
      key,
    });
    const failed = await queryData(app, example("Failed").document, { key });
    expect(failed.webhookDeliveries.nodes).toMatchObject([
      { outcome: "connect_refused", attempts: [{ number: 1, error: expect.any(String) }] },
    ]);
    const health = await queryData(app, example("Health").document, { key });
    expect(health.webhookEndpoints).toMatchObject([
      { health24h: { attempts: 1, successRate: 0, lastError: { outcome: "connect_refused" } } },
    ]);
    const variables = { endpointId, since: "2026-01-01T00:00:00Z" };
    const again = await queryData(app, example("Again").document, { key, variables });
    // A test event belongs to no real event, so there is nothing to replay.
    expect(again.replayDeliveries).toEqual({ replayed: 0, hasMore: false, userErrors: [] });
  });

  it("Simulate: starts a run of a test job", async () => {
    const agent = await app.createOrganization("agent");
    const testKey = await app.createKey(agent.id, { testSide: "agent" });
    const created = await queryData(
      app,
      "mutation { createTestJobs(input: {}) { jobs { id markingNumber } } }",
      { key: testKey },
    );
    const { markingNumber } = created.createTestJobs.jobs[0];
    const { document, variables } = example("Simulate");
    const input = { ...variables.input, markingNumber };
    const data = await queryData(app, document, { key: testKey, variables: { input } });
    expect(data.runTestJob).toMatchObject({ run: { steps: expect.any(Array) }, userErrors: [] });
  });

  it("NewJobs and CarrierFeed: create a job once, and set its provider status as an event", async () => {
    const agent = await app.createOrganization("agent");
    const operatorKey = await app.createKey(null);
    const jobs = example("NewJobs");
    const agentId = toTypedId("org", agent.id);
    const variables = { items: jobs.variables.items?.map((item) => ({ ...item, agentId })) };
    const { createJobs } = await queryData(app, jobs.document, { key: operatorKey, variables });
    expect(createJobs).toMatchObject({ createdCount: 1, failedCount: 0, results: [{ outcome: "CREATED" }] });
    const again = await queryData(app, jobs.document, { key: operatorKey, variables });
    expect(again.createJobs.results).toMatchObject([
      { outcome: "FAILED", userErrors: [{ code: "CONFLICT" }] },
    ]);

    const feed = example("CarrierFeed");
    const { setProviderStatus } = await queryData(app, feed.document, {
      key: operatorKey,
      variables: feed.variables,
    });
    expect(setProviderStatus).toMatchObject({
      updatedCount: 1,
      results: [{ outcome: "UPDATED", job: { version: 2, providerStatus: "Sorted at hub 12" } }],
    });
    const number = setProviderStatus.results[0].markingNumber as string;
    const { body } = await app.call(`/v1/jobs/by-marking/${number}/history`, { key: agent.key });
    expect(body.data).toMatchObject({
      items: [{ changes: { provider_status: { to: "Sorted at hub 12" } } }, { type: "job.created" }],
    });
  });

  it("are all covered here", () => {
    const tested = [
      ...Object.keys(finds),
      "Live",
      "Missed",
      "Failed",
      "Health",
      "Again",
      "Keys",
      "Rotate",
      "Revoke",
      "Simulate",
      "NewJobs",
      "CarrierFeed",
    ];
    expect(examples.map(({ name }) => name).toSorted()).toEqual(tested.toSorted());
  });
});

it("every code has a section in the guide on errors", () => {
  expect([...sendableCodes()].filter((code) => !errorHeadings.has(code))).toEqual([]);
});

/** Every `extensions.code` that can be sent: those of Apollo Server and those of the adapter. */
function sendableCodes(): Set<string> {
  const format = new ErrorFormatter({ logger: createLogger("silent"), errorUrl: errorGuidePath });
  const during = { requestId: "req_1" };
  const cancelled = new AppError("ServiceUnavailableException", "", { cause: { code: "57014" } });
  const failures = [
    ...errorCodes.map((code) => new AppError(code, "")),
    new ReauthenticationRequiredError(),
    cancelled,
  ];
  const translated = failures.map(
    (failure) => format.translate(failure, during).extensions["code"] as string,
  );
  const folder = new URL("../../src/api/graphql/", import.meta.url);
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const written = sources.flatMap((name) =>
    [...readFileSync(new URL(name, folder), "utf8").matchAll(/extensions(?: =|:) \{ code: "([A-Z_]+)"/g)].map(
      ([, code = ""]) => code,
    ),
  );
  const apollo = Object.values(ApolloServerErrorCode) as string[];
  // There are no persisted queries, so none is looked up.
  const neverSent = "PERSISTED_QUERY_NOT_FOUND";
  return new Set([...translated, ...written, ...apollo].filter((code) => code !== neverSent));
}

/** Returns the GraphQL documents of a page, also those inside samples in other languages, with the path of the page. */
function documentsIn(path: string): (readonly [string, string])[] {
  return codeBlocks(readPage(path)).flatMap(({ language, text }) => {
    const inside = [...text.matchAll(/\bquery"?: ("(?:[^"\\]|\\.)*")/g)];
    const documents =
      language === "graphql" ? [text] : inside.map(([, json = ""]) => JSON.parse(json) as string);
    return documents.map((document) => [path, document] as const);
  });
}

/** Paths of selection sets that omit the `id` of an object type. */
function selectionsWithoutId(schema: GraphQLSchema, document: string, name: string): string[] {
  const types = new TypeInfo(schema);
  const missing: string[] = [];
  visit(
    parse(document),
    visitWithTypeInfo(types, {
      Field({ name: field, selectionSet }) {
        const type = getNamedType(types.getType());
        if (!selectionSet || !isObjectType(type) || !("id" in type.getFields())) return;
        const isSelected = selectionSet.selections.some(
          (each) => each.kind === Kind.FIELD && each.name.value === "id",
        );
        if (!isSelected) missing.push(`${name}: ${field.value}`);
      },
    }),
  );
  return missing;
}

describe("the pages", () => {
  // evidence: graphql-limits-documented
  it("has the limits that `viewer` returns", async () => {
    const { viewer } = await queryData(
      app,
      "{ viewer { limits { depth aliases rootFields introspections pageSize listSize filterParts filterDepth cost groups tokens selections } } }",
      { key },
    );
    expect(viewer.limits).toEqual(limits);
    expect(limits.listSize).toBe(limits.pageSize);
    expect(tableRows(pages.overview, "What")).toEqual([
      ["Depth", String(limits.depth)],
      ["Aliases", String(limits.aliases)],
      ["Root fields", String(limits.rootFields)],
      ["Page or list", `${limits.pageSize} items`],
      ["Filter", `${limits.filterParts} conditions, nested ${limits.filterDepth} deep`],
      ["Groups of jobStats", `${limits.groups.toLocaleString("en")}; then truncated is true`],
      ["Cost", `${limits.cost.toLocaleString("en")} per operation`],
      ["Body", `${MAX_BODY_BYTES / 1024} KiB`],
      ["Tokens of the document", `${limits.tokens.toLocaleString("en")}: pass lists as variables`],
      ["Fields with fragments expanded", limits.selections.toLocaleString("en")],
      ["Variable", `${MAX_INPUT_CONTAINERS.toLocaleString("en")} lists and objects`],
      ["Time", "5 seconds"],
    ]);
  });

  it("lists every error code that the server can send", () => {
    const listed = tableRows(pages.mutations, "`extensions.code`").flatMap(([cell = ""]) => cell.split(", "));
    expect(listed).toHaveLength(new Set(listed).size);
    expect(new Set(listed)).toEqual(sendableCodes());
  });

  it("lists every close code that the server can send", () => {
    const rows = tableRows(pages.subscriptions, "Code");
    const listed = rows.flatMap(([cell = ""]) => cell.split(", ").map(Number));
    // Codes that graphql-ws and ws send themselves.
    const library = [
      CloseCode.Unauthorized,
      CloseCode.SubprotocolNotAcceptable,
      CloseCode.ConnectionInitialisationTimeout,
      CloseCode.SubscriberAlreadyExists,
      CloseCode.TooManyInitialisationRequests,
    ];
    const sent = [...Object.values(closeCodes), ...library, 1009];
    expect(listed).toHaveLength(new Set(listed).size);
    expect(new Set(listed)).toEqual(new Set(sent));
  });

  it("are valid, and select the ID of each object, in every sample of the guide and the explorers", () => {
    const schema = createSchema();
    const documents = [...guidePages.flatMap(documentsIn), ["the explorers", exampleDocument] as const];
    expect(documents.length).toBeGreaterThan(15);
    for (const [path, document] of documents) {
      expect([path, validate(schema, parse(document))]).toEqual([path, []]);
      expect(selectionsWithoutId(schema, document, path)).toEqual([]);
    }
  });

  it("list exactly the mutations that an API key may use", () => {
    const rows = tableRows(pages.mutations, "For");
    const listed = rows.flatMap(([, cell = ""]) => cell.split(", "));
    const fields = Object.values(createSchema().getMutationType()?.getFields() ?? {});
    const forKeys = fields.filter(({ description }) => /Needs the\s+scopes?\b/.test(description ?? ""));
    // It asks for the password of a user.
    const names = forKeys.map(({ name }) => name).filter((name) => name !== "revealWebhookSecret");
    expect(listed.toSorted()).toEqual(names.toSorted());
  });

  it("list exactly the mutations that take an Idempotency-Key", () => {
    const [, list = ""] = /^- It works for (.+?)\. /m.exec(pages.mutations) ?? [];
    const listed = [...list.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
    expect(listed.toSorted()).toEqual(
      restOperations
        .filter(({ once }) => once)
        .map(mutationOf)
        .toSorted(),
    );
  });
});
