/** The operations that list, get and look up jobs. */
import { z } from "zod";
import { badRequest, invariant, type Problem, problemIn } from "../../core/errors.ts";
import { Answer, restOperation } from "../../operations/operation.ts";
import {
  count,
  cursorParameter,
  malformedPage,
  MAX_PAGE_SIZE,
  mustBe,
  nextCursor,
  optionalParameter,
  pageNumber,
  pageParameter,
  pageSize,
  pageSizeParameter,
} from "../../operations/schemas.ts";
import { exampleJob } from "../example-job.ts";
import { jobSchema, markingNumberPath, noMarkingNumber } from "../schema.ts";
import type { JobService } from "../service.ts";
import { markingNumberValue } from "../values.ts";
import { toJobWire } from "../wire.ts";
import { unknownStatus } from "../update/validate-patch.ts";
import { jobCursor, orderName, readJobCursor, toOrder } from "./cursor.ts";
import { contractFilters, otherFilters, toJobFilter } from "./parameters.ts";

interface Services {
  readonly jobs: JobService;
}

const tag = "Jobs";
const inQuery = problemIn("query");
const inBody = problemIn("body");

export const readJobs = { access: { scopes: ["jobs:read"] }, rate: "read", fresh: false } as const;

/** Not by Marking Number: pages in that order have no offset. */
export const sortFields = ["created_at", "updated_at", "scheduled_date"] as const;
const sortNames = sortFields.flatMap((field) => [field, `-${field}`] as const);
const DEFAULT_SORT = "-created_at";

/** Returns the enum name for generated clients: `CREATED_AT_DESC` for `-created_at`. */
function toEnumName(sort: string): string {
  return sort.replace(/^-(.*)/, "$1_desc").toUpperCase();
}

/** Returns null for text that is no cursor of a list in one of these orders. */
function readCursor(text: string) {
  const cursor = readJobCursor(text);
  const name = cursor && orderName(cursor.order);
  return cursor && sortNames.some((sortName) => sortName === name) ? cursor : null;
}

/** The contract's parameters come first. */
const listParameters = z.object({
  ...contractFilters,
  page: pageParameter,
  pageSize: pageSizeParameter,
  cursor: cursorParameter(readCursor, {
    description: "`pagination.next_cursor` of the previous page, unchanged. Cannot be combined with `page`.",
    code: "malformed",
  }),
  sort: optionalParameter(
    z.enum(sortNames, { error: `must be one of ${sortNames.join(", ")}` }),
    "Order of the list, with `-` for descending; newest first by default. Ties are ordered by ID and nulls come last.",
    "-updated_at",
    { "x-enum-varnames": sortNames.map(toEnumName) },
  ),
  ...otherFilters,
});

type ListInput = z.output<typeof listParameters>;

const jobPage = z
  .object({
    items: z.array(jobSchema).max(MAX_PAGE_SIZE),
    pagination: z
      .object({
        page: pageNumber
          .optional()
          .meta({ description: "Page number; absent if the list is read by cursor" }),
        pageSize,
        total: count("Number of matching jobs on all pages", 25),
        nextCursor,
      })
      .meta({
        id: "ListPagination",
        description: "Position of a page of jobs, and the cursor of the next page.",
      }),
  })
  .meta({ id: "JobList" });

export const listJobs = restOperation({
  ...readJobs,
  name: "listJobs",
  rest: { method: "get", path: "/jobs" },
  input: listParameters,
  output: jobPage,
  text: {
    tag,
    summary: "List delivery jobs",
    description: `The delivery jobs visible to the key's organization, newest first, in pages.

A job must match all given filters. Empty and malformed parameters return 400, as do repeated ones that take one value; unknown parameters are
ignored and named in \`X-Ignored-Parameters\`. To read many pages, pass \`pagination.next_cursor\` as \`cursor\`: every page is equally fast, and no job is
skipped if jobs are added meanwhile.

Jobs can change while you read. What a list by \`cursor\` guarantees depends on \`sort\`:

- \`created_at\`, \`-created_at\`: each job is returned exactly once.
- \`updated_at\`: no job is skipped, and a job that changes is returned again at the end. A change that is still being written can
  be missing, so start the next list with \`updated_since\` at the newest \`updated_at\` minus 60 seconds.
- \`-updated_at\`: a job that changes before you reach it is not returned. It is on the first page of a new list.
- \`scheduled_date\`, \`-scheduled_date\`: a job whose scheduled date changes can be returned twice or not at all.

With \`page\`, a job can be returned twice or not at all in each order if jobs are added or change. To keep a copy of the jobs,
follow \`GET /v1/events\`: it has each change exactly once and depends on no time.`,
    result: {
      description: "A page of jobs.",
      examples: {
        "A page of one job": {
          items: [exampleJob],
          pagination: { page: 1, pageSize: 10, total: 1, nextCursor: null },
        },
        "A page read by cursor, with further pages": {
          items: [exampleJob],
          pagination: { pageSize: 1, total: 25, nextCursor: "WzEsImpvYnMiLCItY3JlYXRlZF9hdCJd" },
        },
      },
    },
    malformed: [
      malformedPage,
      {
        summary: "An unknown status",
        problems: [inQuery("normalized_status", ...unknownStatus("lost"))],
      },
    ],
  },
  problems: ({ jobs }: Services, input) => listProblems(jobs, input, startOf(input)),
  async run({ jobs }, principal, input) {
    const start = startOf(input);
    const problems = await listProblems(jobs, input, start);
    if (problems.length > 0) throw badRequest(problems);
    const { page = 1, pageSize: limit, sort = DEFAULT_SORT } = input;
    const order = start?.order ?? toOrder(sort);
    const { items, hasNext, total } = await jobs.list(principal, {
      filter: toJobFilter(input),
      order,
      page: start
        ? { direction: "forward", limit, position: start.position }
        : { limit, offset: (page - 1) * limit },
      include: { items: true, total: true },
    });
    invariant(total !== null, "the query includes the total");
    const last = items.at(-1);
    return {
      items: items.map(toJobWire),
      pagination: {
        ...(!start && { page }),
        pageSize: limit,
        total,
        nextCursor: hasNext && last ? jobCursor(order, last) : null,
      },
    };
  },
});

/** Returns where the list continues; null without a cursor. */
function startOf({ cursor }: Partial<ListInput>) {
  return cursor === undefined ? null : readCursor(cursor);
}

/** The problems that the schema does not find: an unknown status, and parameters that a cursor excludes. */
async function listProblems(
  jobs: JobService,
  { page, sort, normalizedStatus }: Partial<ListInput>,
  start: ReturnType<typeof startOf>,
): Promise<Problem[]> {
  const problems = await jobs.statusProblems(normalizedStatus);
  if (!start) return problems;
  const name = orderName(start.order);
  if (page !== undefined) problems.push(inQuery("page", "conflict", "cannot be combined with cursor"));
  if (sort !== undefined && sort !== name)
    problems.push(inQuery("sort", "conflict", `must be ${name}, the order of the cursor`));
  return problems;
}

export const getJob = restOperation({
  ...readJobs,
  name: "getJob",
  rest: { method: "get", path: "/jobs/by-marking/{markingNumber}" },
  versioned: true,
  params: markingNumberPath,
  output: jobSchema,
  text: {
    tag,
    summary: "Get one delivery job",
    description:
      "The job with this Marking Number. Returns 404 if it doesn't exist or isn't visible to the key's organization.",
    result: { description: "The job.", examples: { "The job": exampleJob } },
    malformed: [noMarkingNumber],
  },
  async run({ jobs }: Services, principal, { markingNumber }) {
    const job = await jobs.get(principal, markingNumber);
    return new Answer(toJobWire(job), { version: job.version });
  },
});

const MAX_NUMBERS = 100;
const sizeError = {
  error: ({ input }: { input?: unknown }) =>
    `must have 1 to ${MAX_NUMBERS} items, got ${(input as unknown[]).length}`,
};

export const lookUpJobs = restOperation({
  ...readJobs,
  name: "lookUpJobs",
  rest: { method: "post", path: "/jobs/lookup" },
  input: z
    .object({
      markingNumbers: z
        .array(
          markingNumberValue.meta({ minLength: 1, examples: ["MN-2026-000123"] }),
          mustBe(`a list of 1 to ${MAX_NUMBERS} Marking Numbers`),
        )
        .min(1, sizeError)
        .max(MAX_NUMBERS, sizeError)
        .meta({
          description: "Marking Numbers; each is matched exactly, and may occur more than once",
          examples: [["MN-2026-000123", "MN-2026-000124"]],
        }),
    })
    .meta({ id: "JobLookup" }),
  output: z
    .object({
      items: z.array(z.union([jobSchema, z.null()])).meta({
        description:
          "One entry per Marking Number, in the order of the request: the job, or null if no visible job has it",
      }),
    })
    .meta({ id: "JobLookupResult" }),
  text: {
    tag,
    summary: "Look up 1 to 100 jobs by Marking Number",
    description: `Returns the jobs in the order of the request, with null for a job that doesn't exist or isn't visible to the key's
organization. The request reads only, so it takes no Idempotency-Key. The body may have up to 64 KiB.`,
    body: {
      description: "The Marking Numbers.",
      examples: {
        two: { summary: "Two jobs", value: { markingNumbers: ["MN-2026-000123", "MN-2026-999999"] } },
      },
    },
    result: {
      name: "JobLookup",
      description: "The jobs.",
      examples: { "A job, and null for one that isn't visible": { items: [exampleJob, null] } },
    },
    malformed: [
      {
        summary: "No Marking Numbers",
        problems: [inBody("marking_numbers", "too_small", "must have 1 to 100 items, got 0")],
      },
      {
        summary: "Two malformed Marking Numbers",
        problems: [
          inBody("marking_numbers[1]", "invalid_type", "must be a string"),
          inBody("marking_numbers[4]", "too_big", "must be at most 120 characters"),
        ],
      },
    ],
  },
  async run({ jobs }: Services, principal, { markingNumbers }) {
    const found = await jobs.findByMarkingNumbers(principal, markingNumbers);
    return { items: found.map((job) => job && toJobWire(job)) };
  },
});
