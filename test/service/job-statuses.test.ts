import { describe, expect, it } from "vitest";
import { createJobCodes } from "../../src/jobs/job.codes.ts";
import { useJobOperations } from "../support/job-operations-rig.ts";
import { operator, outcomesOf } from "../support/job-services.ts";

const { services, create, newJob } = useJobOperations();

describe("the catalogue of statuses", () => {
  const held = { code: "at_customs", label: "At customs", category: "attention", isTerminal: false };

  it("takes a new one at its end, which every process knows when it is used", async () => {
    const elsewhere = createJobCodes(services().database);
    await elsewhere.statuses();
    expect(await services().codes.upsertStatus(operator, held)).toEqual({
      code: "at_customs",
      label: "At customs",
      category: "attention",
      is_terminal: false,
    });
    await services().codes.upsertStatus(operator, { ...held, code: "a_later_one" });
    expect((await services().codes.statuses()).slice(-2).map(({ code }) => code)).toEqual([
      "at_customs",
      "a_later_one",
    ]);
    expect(await elsewhere.isKnownStatus("at_customs")).toBe(true);
    expect(outcomesOf(await create([newJob({ fields: { normalized_status: "at_customs" } })]))).toEqual([
      "created",
    ]);
  });

  it("changes one in its place", async () => {
    const order = (await services().codes.statuses()).map(({ code }) => code);
    const changed = { code: "on_hold", label: "Held", category: "return", isTerminal: true };
    await services().codes.upsertStatus(operator, changed);
    const statuses = await services().codes.statuses();
    expect(statuses.map(({ code }) => code)).toEqual(order);
    expect(statuses.find(({ code }) => code === "on_hold")).toEqual({
      code: "on_hold",
      label: "Held",
      category: "return",
      is_terminal: true,
    });
  });

  it.each([
    ["code", { code: "" }],
    ["code", { code: "Upper" }],
    ["code", { code: "1st" }],
    ["code", { code: "a".repeat(65) }],
    ["code", { code: "a\n" }],
    ["label", { label: " " }],
    ["label", { label: "x".repeat(101) }],
    ["label", { label: "\0" }],
    ["category", { category: "lost" }],
  ])("refuses a wrong %s: %j", async (field, wrong) => {
    await expect(services().codes.upsertStatus(operator, { ...held, ...wrong })).rejects.toMatchObject({
      code: "BadRequestException",
      details: [{ field }],
    });
  });

  it("takes the longest code and label", async () => {
    const longest = { ...held, code: "a".repeat(64), label: "📦".repeat(100) };
    expect(await services().codes.upsertStatus(operator, longest)).toMatchObject({ label: longest.label });
  });
});
