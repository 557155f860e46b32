/** `q` in REST and `search` in GraphQL return the same jobs. */
import { beforeAll, describe, expect, it } from "vitest";
import { listJobs, markingNumbersOf } from "../support/app/job-client.ts";
import type { TestOrganization } from "../support/app/app.fixture.ts";
import { useSharedApp } from "../support/app/shared-app.ts";
import { graphql, queryData } from "../support/graphql/client.ts";

const { app, agent, contractor } = useSharedApp();
let otherAgent: TestOrganization;
/** Of the jobs, each by a short name. */
const numbers: Record<string, string> = {};
const unique = Math.random().toString(36).slice(2, 8).toUpperCase();

const jobs = {
  priya: {
    recipient_name: "Priya Raghunathan 123",
    recipient_contact: "+44 20 7946 0123",
    postal_code: "E1 6AN",
  },
  soren: {
    recipient_name: "Søren Kierkegård",
    recipient_contact: "soren@example.dk",
    delivery_address: "Vimmelskaftet 47",
  },
  zoe: {
    recipient_name: "ZOË Müller-Weiß",
    recipient_contact: "030 901820",
    delivery_address: "Straße des 17. Juni 135",
  },
  brien: {
    recipient_name: "O’Brien & Sons",
    recipient_contact: "+44 (0)161 496 0999",
    delivery_address: "12 Harbour Street, #04-01",
  },
  us: { recipient_name: "100%_off\\ Ltd", recipient_contact: "(207) 555-0199", postal_code: "04101" },
  greek: {
    recipient_name: "ΓΙΏΡΓΟΣ",
    recipient_contact: "\u202A+30 21 0123 4567\u202C",
    delivery_address: "رقم ١٢ שלום",
  },
  empty: {},
};
type Name = keyof typeof jobs;

beforeAll(async () => {
  otherAgent = await app.createOrganization("agent");
  const names = Object.keys(jobs) as Name[];
  const markingNumbers = await app.createJobs(
    agent,
    names.map((name, index) => ({
      markingNumber: `Big-${unique}-${14_990 + index}`,
      patch: jobs[name],
      ...(name === "soren" && { contractor }),
    })),
  );
  for (const [index, name] of names.entries()) numbers[name] = markingNumbers[index] as string;
  await app.createJobs(otherAgent, [{ markingNumber: `OTHER-${unique}`, patch: jobs.priya }]);
});

const own = (name: Name): string => numbers[name] as string;

async function inRest(partner: TestOrganization, text: string): Promise<string[]> {
  const query = new URLSearchParams({ q: text, page_size: "100" });
  const response = await listJobs(app, partner, query.toString());
  const found = markingNumbersOf(response);
  expect(response.body.data).toMatchObject({ pagination: { total: found.length } });
  return found;
}

const SEARCH = `query ($text: String!) { jobs(filter: { search: $text }, first: 100) {
  totalCount nodes { markingNumber } listedNumbers { count notFound } } }`;

async function inGraphql({ key }: TestOrganization, text: string) {
  const { jobs: found } = await queryData(app, SEARCH, { key, variables: { text } });
  const markingNumbers = found.nodes.map((node: { markingNumber: string }) => node.markingNumber) as string[];
  expect(found.totalCount).toBe(markingNumbers.length);
  return {
    found: markingNumbers,
    listed: found.listedNumbers as { count: number; notFound: string[] } | null,
  };
}

const namesOf = (found: readonly string[]): string[] =>
  found.map((number) => Object.keys(numbers).find((name) => numbers[name] === number) ?? number).toSorted();

describe("a search finds", () => {
  it.each<[what: string, text: string, found: Name[]]>([
    ["a phone number as stored", "+44 20 7946 0123", ["priya"]],
    ["a phone number with 00", "0044 20 7946 0123", ["priya"]],
    ["a phone number without its country code", "02079460123", ["priya"]],
    ["the end of a phone number", "7946-0123", ["priya"]],
    ["a phone number with (0), by its number abroad", "+441614960999", ["brien"]],
    ["a phone number with (0), by its number at home", "0161 496 0999", ["brien"]],
    ["a phone number stored without country code, by its number abroad", "+49 30 901820", ["zoe"]],
    ["an American number in another spelling", "+1 207.555.0199", ["us"]],
    ["a phone number with invisible characters", "\u202A0210 1234567\u202C", ["greek"]],
    ["a phone number and a word", "priya 0 20 7946 0123", ["priya"]],
    ["no job by four digits in another spelling", "79-46", []],
    ["an e-mail address", "SOREN@example.dk", ["soren"]],
    ["the end of a Marking Number, in lower case", `ig-${unique.toLowerCase()}-14991`, ["soren"]],
    ["words in any order", "123 priya", ["priya"]],
    ["words of several fields", "harbour brien 04-01", ["brien"]],
    ["no job that has only one of the words", "priya harbour", []],
    ["a part of a postal code", "1 6an", ["priya"]],
    ["ø by o", "soren kierkegard", ["soren"]],
    ["o by ø", "SØREN KIERKEGÅRD", ["soren"]],
    ["letters with combining marks", "Zoe\u0308 mu\u0308ller", ["zoe"]],
    ["ß by ss", "weiss strasse", ["zoe"]],
    ["ss by ß", "weiß", ["zoe"]],
    ["a typewriter apostrophe", "o'brien", ["brien"]],
    ["another final letter of a Greek name", "γιωργος", ["greek"]],
    ["words from right to left", "שלום رقم", ["greek"]],
    ["a percent sign as text", "0%_off\\", ["us"]],
    ["an underscore as text", "_", ["us"]],
    ["a backslash as text", "\\", ["us"]],
    ["two letters", "ΓΙ", ["greek"]],
    ["no job by a word of 200 letters", "a".repeat(200), []],
    ["no job by quotes and braces", "'\"{}[]()--;$1", []],
  ])("%s", async (_what, text, found) => {
    expect(namesOf(await inRest(agent, text))).toEqual(found);
    expect(namesOf((await inGraphql(agent, text)).found)).toEqual(found);
  });
});

describe("a list of Marking Numbers", () => {
  it.each(["\n", "\r\n", ", ", ";", "\t", " "])(
    "separated by %j finds its jobs, and says which it did not find",
    async (separator) => {
      const list = [own("priya"), own("zoe"), `NO-${unique}`, own("us"), own("us")].join(separator);
      expect(namesOf(await inRest(agent, list))).toEqual(["priya", "us", "zoe"]);
      const { found, listed } = await inGraphql(agent, list);
      expect(namesOf(found)).toEqual(["priya", "us", "zoe"]);
      expect(listed).toEqual({ count: 4, notFound: [`NO-${unique}`] });
    },
  );

  it("finds numbers that are written in capitals by small letters", async () => {
    const [number] = await app.createJobs(agent, [{ markingNumber: `CAPS-${unique}` }]);
    const { found, listed } = await inGraphql(agent, `${number?.toLowerCase()}\n${own("zoe")}`);
    expect(new Set(found)).toEqual(new Set([number, own("zoe")]));
    expect(listed).toEqual({ count: 2, notFound: [] });
  });

  it("has up to 500 numbers", async () => {
    const unknown = Array.from({ length: 499 }, (_, index) => `NO-${unique}-${index}`);
    const { found, listed } = await inGraphql(agent, [...unknown, own("zoe")].join("\n"));
    expect(namesOf(found)).toEqual(["zoe"]);
    expect(listed).toEqual({ count: 500, notFound: unknown });
    const { errors } = await graphql(app, SEARCH, {
      key: agent.key,
      variables: { text: [...unknown, "a", "b"].join("\n") },
    });
    expect(errors?.[0]?.extensions.problems).toMatchObject([
      { field: "filter.search", message: expect.stringMatching(/at most 500 Marking Numbers, got 501$/) },
    ]);
  });

  it("is not made of words", async () => {
    for (const text of ["priya 123", "+44 20 7946 0123", "Harbour Street, London", own("zoe")])
      expect((await inGraphql(agent, text)).listed).toBeNull();
    expect((await inGraphql(agent, "NO-1\nNO-2")).listed).toEqual({ count: 2, notFound: ["NO-1", "NO-2"] });
  });
});

/** Its limits: list-jobs.test.ts and test/service/jobs/filter-rejected.test.ts. */
describe("a search", () => {
  it("finds and names only what the organisation can see", async () => {
    const list = `${own("priya")}\n${own("soren")}`;
    for (const text of ["02079460123", "priya", list, `OTHER-${unique}`, "79460"]) {
      expect(await inRest(contractor, text)).toEqual(text === list ? [own("soren")] : []);
      expect(await inRest(otherAgent, text)).toEqual(text === list ? [] : [`OTHER-${unique}`]);
    }
    for (const text of ["soren", `ig-${unique.toLowerCase()}-14991`, "so"])
      expect(await inRest(contractor, text)).toEqual([own("soren")]);
    expect((await inGraphql(contractor, list)).listed).toEqual({ count: 2, notFound: [own("priya")] });
    expect((await inGraphql(otherAgent, list)).listed).toEqual({
      count: 2,
      notFound: [own("priya"), own("soren")],
    });
  });

  it("counts 255 characters as people do", async () => {
    expect(await inRest(agent, "📦".repeat(255))).toEqual([]);
  });
});
