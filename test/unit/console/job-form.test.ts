import { describe, expect, it } from "vitest";
import type { JobRowFragment } from "../../../src/console/generated/job-row.ts";
import {
  validateInputs,
  findField,
  jobFields,
  toFormValues,
  toPatch,
  withStatus,
} from "../../../src/console/pages/jobs/job.fields.ts";
import { rebase } from "../../../src/console/pages/jobs/detail/job.merge.ts";
import { formatValue, userErrorMessage, userErrorField } from "../../../src/console/pages/jobs/job.labels.ts";
import { jobFieldNames } from "../../../src/jobs/fields.ts";

function job(difference: Partial<JobRowFragment> = {}): JobRowFragment {
  return {
    id: "job_1",
    markingNumber: "WM-1",
    version: 3,
    batchNumber: null,
    groupCode: null,
    pieceQuantity: 2,
    labels: null,
    pts: null,
    weight: 8.25,
    recipientName: "Harbour Street Bakery",
    recipientContact: null,
    deliveryAddress: "12 Harbour Street",
    postalCode: "049315",
    scheduledDate: "2026-11-24",
    instructions: null,
    normalizedStatus: "pending",
    failureReason: null,
    scheduledDeliveryDate: null,
    scheduledDeliveryPending: false,
    providerStatus: null,
    createdAt: "2026-11-20T00:00:00.000Z",
    updatedAt: "2026-11-20T00:00:00.000Z",
    status: { code: "pending", label: "Pending", category: "OPEN" },
    agent: { id: "org_1", name: "Northwind Agency" },
    contractor: null,
    ...difference,
  };
}

const camelCase = (name: string) =>
  name.replaceAll(/_(.)/g, (_match, letter: string) => letter.toUpperCase());

const labels = {
  statuses: new Map([["pending", "Pending"]]),
  reasons: new Map([["other", "Other"]]),
  organizations: new Map([["org_1", "Northwind Agency"]]),
};

describe("the job form", () => {
  it("has all editable fields", () => {
    expect(jobFields.map(({ name }) => name).toSorted()).toEqual(jobFieldNames.map(camelCase).toSorted());
  });

  it("sends changed fields in their own type, null for cleared ones, and nothing else", () => {
    const base = toFormValues(job());
    expect(toPatch(base, toFormValues(job()))).toEqual({});
    const values = {
      ...base,
      weight: " 12.5 ",
      pieceQuantity: "4",
      recipientName: "",
      labels: " kept as it is ",
      scheduledDeliveryPending: "true",
    };
    expect(toPatch(base, values)).toEqual({
      weight: 12.5,
      pieceQuantity: 4,
      recipientName: null,
      labels: " kept as it is ",
      scheduledDeliveryPending: true,
    });
  });

  it.each([
    ["pieceQuantity", "0"],
    ["pieceQuantity", "1.5"],
    ["pieceQuantity", "2147483648"],
    ["weight", "12,5"],
    ["weight", "1e999"],
    ["pts", "0x10"],
    ["labels", "x".repeat(256)],
    ["normalizedStatus", ""],
  ] as const)("rejects %s %j with a message", (name, input) => {
    const problem = validateInputs([name], { ...toFormValues(job()), [name]: input })[name];
    expect(problem).toContain(findField(name)?.label);
  });

  it.each([
    ["pieceQuantity", "2147483647"],
    ["weight", "-0.5"],
    ["pts", "1e3"],
    ["labels", "😀".repeat(255)],
    ["failureReason", ""],
  ] as const)("accepts %s %j", (name, input) => {
    expect(validateInputs([name], { ...toFormValues(job()), [name]: input })).toEqual({});
  });
});

describe("rebase on another user's change", () => {
  const base = toFormValues(job());

  it("keeps own changes and takes over the others'", () => {
    const mine = { ...base, labels: "mine" };
    const theirs = { ...base, pts: "7" };
    expect(rebase(base, mine, theirs)).toEqual({
      values: { ...base, labels: "mine", pts: "7" },
      conflicts: [],
      changedByOthers: ["pts"],
    });
  });

  it("reports a conflict if both changed a field differently, and keeps the own value until it is resolved", () => {
    const { values, conflicts } = rebase(base, { ...base, labels: "mine" }, { ...base, labels: "theirs" });
    expect(values.labels).toBe("mine");
    expect(conflicts).toEqual([{ name: "labels", base: "", mine: "mine", theirs: "theirs" }]);
    expect(rebase(base, { ...base, labels: "same" }, { ...base, labels: "same" }).conflicts).toEqual([]);
  });
});

const takesReason = (status: string) => status === "failed" || status === "on_hold";

describe("the failure reason", () => {
  const failed = toFormValues(job({ normalizedStatus: "failed", failureReason: "other" }));
  const after = (...statuses: string[]) =>
    statuses.reduce((values, status) => withStatus(values, status, failed, takesReason), failed);

  it.each([
    [["completed"], ""],
    [["on_hold"], "other"],
    [["completed", "failed"], "other"],
    [["completed", "pending"], ""],
  ])("after the statuses %j is %j", (statuses, failureReason) => {
    expect(after(...statuses)).toEqual({ ...failed, normalizedStatus: statuses.at(-1), failureReason });
  });

  it("stays empty if the user cleared it", () => {
    const cleared = { ...failed, failureReason: "" };
    expect(withStatus(cleared, "on_hold", failed, takesReason).failureReason).toBe("");
  });
});

describe("job values", () => {
  it.each([
    ["normalizedStatus", "pending", "Pending"],
    ["normalizedStatus", "unheard_of", "unheard_of"],
    ["failureReason", "other", "Other"],
    ["contractorId", "org_1", "Northwind Agency"],
    ["scheduledDeliveryPending", true, "yes"],
    ["labels", null, "empty"],
    ["labels", "", "empty"],
    ["somethingNew", { a: 1 }, '{"a":1}'],
  ])("formats %s %j as %s", (field, value, text) => {
    expect(formatValue(field, value, labels)).toBe(text);
  });

  it("shows a user error at its field, with the field's label", () => {
    const userError = {
      code: "INVALID",
      field: "items.3.patch.pieceQuantity",
      message: "patch.pieceQuantity must be at least 1",
    };
    expect(userErrorField(userError)).toBe("pieceQuantity");
    expect(userErrorMessage(userError)).toBe("Pieces must be at least 1");
    expect(userErrorField({ ...userError, field: "input.expectedVersion" })).toBeNull();
    expect(userErrorField({ ...userError, field: "input.patch.constructor" })).toBeNull();
  });
});
