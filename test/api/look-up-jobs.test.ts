/** POST /v1/jobs/lookup. Its number of statements: test/service/jobs/organization-names.test.ts. */
import { beforeAll, describe, expect, it } from "vitest";
import { useSharedApp } from "../support/app/shared-app.ts";
import { expectData, expectProblems } from "../support/app/assertions.ts";
import { getJob } from "../support/app/job-client.ts";

const { app, agent } = useSharedApp();
/** Of the jobs of the agent. */
let numbers: string[];
let foreign: string;

beforeAll(async () => {
  numbers = await app.createJobs(agent, 100);
  foreign = await app.createJob(await app.createOrganization("agent"));
});

function lookUp(markingNumbers: unknown) {
  const body = JSON.stringify({ marking_numbers: markingNumbers });
  return app.call("/v1/jobs/lookup", { method: "POST", key: agent.key, body });
}

type Items = ({ marking_number: string } | null)[];

async function found(markingNumbers: readonly string[]): Promise<(string | null)[]> {
  const { items } = expectData(await lookUp(markingNumbers)) as { items: Items };
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
