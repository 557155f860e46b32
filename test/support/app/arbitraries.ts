/** Random valid and hostile request values for property-based tests. */
import fc from "fast-check";
import { jobFieldNames, jobFields, type JobFieldName } from "../../../src/jobs/fields.ts";
import { sortFields } from "../../../src/jobs/list/operations.ts";

const hostile = fc.constantFrom(
  "",
  " ",
  "\0",
  "\ud800",
  "\udfff\ud800",
  "📦",
  "null",
  "0",
  "-1",
  "1e999",
  "%",
  "%00",
  "%2F",
  "..",
  "'",
  '"',
  "\\",
  ";",
  "$1",
  "{}",
  "[]",
  "2026-02-30",
  "0000-01-01",
  "9999-12-31",
  "infinity",
  "__proto__",
  "constructor",
  "x".repeat(121),
  "\r\n",
  "\u2028",
  "\ufeff",
  "true",
);
export const text = fc.oneof(hostile, fc.string({ unit: "binary", maxLength: 200 }), fc.string());
export const anyJson = fc.oneof(
  hostile,
  fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }),
  fc.double(),
  fc.integer(),
  fc.constant(null),
);
const fieldName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<string>(...jobFieldNames) },
  { weight: 1, arbitrary: text },
);
export const patch = fc.dictionary(fieldName, anyJson, { maxKeys: 8, noNullPrototype: true });

const day = fc
  .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const count = fc.integer({ min: 1, max: 100 }).map(String);
export const nonEmptyText = fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 });
export const listParameters: Record<string, fc.Arbitrary<string>> = {
  marking_number: nonEmptyText,
  batch_number: nonEmptyText,
  normalized_status: fc.constantFrom("pending", "completed,failed", "unheard_of"),
  updated_at_from: day,
  updated_at_to: day,
  scheduled_date_from: day,
  scheduled_date_to: day,
  page: count,
  page_size: count,
  cursor: nonEmptyText,
  sort: fc.constantFrom(...sortFields, ...sortFields.map((field) => `-${field}`)),
  updated_since: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  failure_reason: nonEmptyText,
  group_code: nonEmptyText,
  category: fc.constantFrom("open", "attention,return", "closed"),
  agent_id: fc.constantFrom("org_01KA2M8D6R4TX0VQ9ZC7JH3EWB", "none"),
  contractor_id: fc.constantFrom("org_01KA2M8D6R4TX0VQ9ZC7JH3EWB", "none"),
  created_at_from: day,
  created_at_to: day,
  provider_status: nonEmptyText,
  q: nonEmptyText,
};
export const feedParameters = {
  after: nonEmptyText,
  types: fc.constantFrom("job.created", "job.updated,job.assigned", "x"),
  page_size: count,
};

/** Generates query strings of `parameters`, mostly with valid values, sometimes with random ones. */
export function queryStrings(
  parameters: Readonly<Record<string, fc.Arbitrary<string>>>,
): fc.Arbitrary<string> {
  const raw = fc.string({ unit: fc.constantFrom(...Array.from("abc019-+%&=?,:.~*!'()")), maxLength: 12 });
  const escaped = text.filter((value) => value.isWellFormed()).map(encodeURIComponent);
  const anything = fc.oneof(raw, escaped);
  const matching = Object.entries(parameters).map(([name, value]) =>
    fc.tuple(fc.constant(name), value.filter((each) => each.isWellFormed()).map(encodeURIComponent)),
  );
  const pair = fc.oneof(
    { weight: 12, arbitrary: fc.oneof(...matching) },
    { weight: 1, arbitrary: fc.tuple(fc.constantFrom(...Object.keys(parameters)), anything) },
    { weight: 1, arbitrary: fc.tuple(anything, anything) },
  );
  return fc
    .array(pair, { maxLength: 5 })
    .map((pairs) => pairs.map((pairParts) => pairParts.join("=")).join("&"));
}

const freeText = fc
  .string({ unit: "grapheme", minLength: 0, maxLength: 20 })
  .filter((value) => !value.includes("\0"));
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
const valueByKind: Record<(typeof jobFields)[JobFieldName]["kind"], fc.Arbitrary<unknown>> = {
  text: freeText,
  integer: fc.integer({ min: 1 }),
  number: finite,
  date: day,
  boolean: fc.boolean(),
};
const fieldValue = (name: JobFieldName): fc.Arbitrary<unknown> => {
  if (name === "normalized_status") return fc.constantFrom("pending", "completed", "failed", "on_hold");
  if (name === "scheduled_delivery_pending") return fc.boolean();
  return fc.option(valueByKind[jobFields[name].kind], { freq: 4 });
};
/** Generates valid patches, including empty ones. */
export const validPatch = fc.record(
  Object.fromEntries(jobFieldNames.map((name) => [name, fieldValue(name)])),
  {
    requiredKeys: [],
  },
);
