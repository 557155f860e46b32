/** POST /v1/jobs/lookup: up to 100 jobs by Marking Number, in one statement. */
import { beforeAll, describe, expect, it } from "vitest";
import { startAppInstance } from "../support/app/app-instance.ts";
import { type SharedApp, useSharedApp } from "../support/app/shared-app.ts";
import { expectData, expectProblems } from "../support/app/assertions.ts";
import { getJob } from "../support/app/job-client.ts";
import { startFaultProxy, withoutBackground } from "../support/database/fault-proxy.ts";

const { app, agent, contractor } = useSharedApp();
/** Jobs of the agent; every second one is assigned to the contractor. */
let numbers: string[];
let foreign: string;

beforeAll(async () => {
  const jobs = Array.from({ length: 100 }, (_, index) => (index % 2 === 0 ? { contractor } : {}));
  numbers = await app.createJobs(agent, jobs);
  foreign = await app.createJob(await app.createOrganization("agent"));
});

function lookUp(markingNumbers: unknown, key = agent.key, api: Pick<SharedApp, "call"> = app) {
  const body = JSON.stringify({ marking_numbers: markingNumbers });
  return api.call("/v1/jobs/lookup", { method: "POST", key, body });
}

type Items = ({ marking_number: string } | null)[];

async function found(markingNumbers: readonly string[], key = agent.key): Promise<(string | null)[]> {
  const { items } = expectData(await lookUp(markingNumbers, key)) as { items: Items };
  return items.map((job) => job && job.marking_number);
}

describe("the items", () => {
  it("are the jobs as the list shows them, with their version", async () => {
    const [number = ""] = numbers;
    const one = await getJob(app, agent, number);
    const version = Number(/\d+/.exec(one.headers.get("etag") ?? "")?.[0]);
    expect(expectData(await lookUp([number])).items).toEqual([{ ...expectData(one), version }]);
  });

  it("are null for an unknown number and for another organisation's job, with the same response", async () => {
    const unknown = "NO-SUCH-JOB";
    const [number = ""] = numbers;
    expect(await found([unknown, number, foreign])).toEqual([null, number, null]);
    const [one, other] = [await lookUp([unknown]), await lookUp([foreign])];
    expect(other.body.data).toEqual(one.body.data);
    expect([...other.headers.keys()]).toEqual([...one.headers.keys()]);
  });
});

describe("the number of Marking Numbers", () => {
  it("is 1 to 100", async () => {
    expect(await found(numbers.slice(0, 1))).toHaveLength(1);
    expect(await found(numbers)).toEqual(numbers);
  });

  it.each([0, 101])("400 for %i", async (length) => {
    const [problem] = expectProblems(await lookUp(Array.from({ length }, () => numbers[0])), "body", [
      "marking_numbers",
    ]);
    expect(problem?.message).toBe(`must have 1 to 100 items, got ${length}`);
  });
});

it.each<[string, unknown, string[]]>([
  ["no list", "MN-1", ["marking_numbers"]],
  [
    "numbers that no job can have",
    [1, "A", "", "A\0"],
    [0, 2, 3].map((index) => `marking_numbers[${index}]`),
  ],
])("400 for %s", async (_what, markingNumbers, fields) => {
  expectProblems(await lookUp(markingNumbers), "body", fields);
});

it("of 100 numbers takes one statement; if the key is not cached, another one reads the key", async () => {
  await using proxy = await startFaultProxy(app.databaseUrl);
  await using instance = await startAppInstance(proxy.url, { WAYMARK_ROLE: "api" });
  const cold = await app.createKey(agent.id, { scopes: ["jobs:read"] });
  const statementsOf = async (): Promise<string[]> => {
    const start = proxy.statements.length;
    expect(expectData(await lookUp(numbers, cold, instance)).items).toHaveLength(100);
    return withoutBackground(proxy.statements.slice(start));
  };
  const [ofKey = "", ofJobs = "", ...others] = await statementsOf();
  expect(ofKey).toContain("from api_key");
  expect(ofJobs).toContain("job.marking_number = any(");
  expect(others).toEqual([]);
  // A cached key is read again after a second.
  expect((await statementsOf()).filter((statement) => statement !== ofKey)).toEqual([ofJobs]);
});
