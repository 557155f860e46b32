import { describe, expect, it } from "vitest";
import { createJobReferenceData, statusSettings } from "../../../src/jobs/reference-data.ts";
import { useOperatorJobFixture } from "../../support/jobs/operator-service.fixture.ts";
import { summarizeOutcomes } from "../../support/jobs/service.fixture.ts";

const { services, create, newJob } = useOperatorJobFixture();

describe("the catalogue of statuses", () => {
  const atCustoms = {
    code: "at_customs",
    label: "At customs",
    category: "attention",
    isTerminal: false,
  } as const;

  it("appends a new status, which every process accepts immediately", async () => {
    const elsewhere = createJobReferenceData(services().database);
    await elsewhere.statuses();
    expect(await services().referenceData.upsertStatus(atCustoms)).toEqual(atCustoms);
    await services().referenceData.upsertStatus({ ...atCustoms, code: "a_later_one" });
    expect((await services().referenceData.statuses()).slice(-2).map(({ code }) => code)).toEqual([
      "at_customs",
      "a_later_one",
    ]);
    expect(await elsewhere.isKnownStatus("at_customs")).toBe(true);
    expect(
      summarizeOutcomes(await create([newJob({ fields: { normalized_status: "at_customs" } })])),
    ).toEqual(["created"]);
  });

  it("changes a status without moving it", async () => {
    const order = (await services().referenceData.statuses()).map(({ code }) => code);
    const changed = { code: "on_hold", label: "Held", category: "return", isTerminal: true } as const;
    await services().referenceData.upsertStatus(changed);
    const statuses = await services().referenceData.statuses();
    expect(statuses.map(({ code }) => code)).toEqual(order);
    expect(statuses.find(({ code }) => code === "on_hold")).toEqual(changed);
  });

  it.each([
    ["code", { code: "Upper" }],
    ["code", { code: "1st" }],
    ["code", { code: "a".repeat(65) }],
    ["label", { label: " " }],
    ["label", { label: "x".repeat(101) }],
    ["category", { category: "lost" }],
  ])("rejects an invalid %s: %j", (field, invalid) => {
    const { error } = statusSettings.safeParse({ ...atCustoms, ...invalid });
    expect(error?.issues).toMatchObject([{ path: [field] }]);
  });

  it("accepts a code of 64 and a label of 100 characters", async () => {
    const longest = statusSettings.parse({ ...atCustoms, code: "a".repeat(64), label: "📦".repeat(100) });
    expect(await services().referenceData.upsertStatus(longest)).toMatchObject({ label: longest.label });
  });
});
