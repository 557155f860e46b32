/** The operations of jobs and of the reference data. */
import { z } from "zod";
import {
  type Access,
  type Operation,
  type ReadAccess,
  operation,
  type RestOperation,
  restOperation,
} from "../operations/operation.ts";
import { userRoles } from "../organizations/api.ts";
import { getJobStats } from "./counters/operations.ts";
import { failureReasonView, type JobReferenceData, statusSettings, statusView } from "./reference-data.ts";
import type { JobService } from "./service.ts";
import { getJob, listJobs, lookUpJobs, readJobs } from "./list/operations.ts";
import { changeJobs, updateJob, updateJobs } from "./update/operations.ts";
import { rescheduleJobs } from "./update/reschedule.operations.ts";

export const jobOperations: readonly RestOperation<{ readonly jobs: JobService }>[] = [
  listJobs,
  getJobStats,
  lookUpJobs,
  updateJobs,
  rescheduleJobs,
  getJob,
  updateJob,
];

interface Services {
  readonly referenceData: JobReferenceData;
}

const listStatuses = restOperation({
  ...readJobs,
  name: "listStatuses",
  rest: { method: "get", path: "/reference/statuses" },
  output: z.object({ items: z.array(statusView) }).meta({ id: "StatusList" }),
  text: {
    tag: "Reference",
    summary: "List the status codes",
    description: "The codes of `normalized_status`. New codes may be added at any time.",
    result: {
      description: "The status codes.",
      examples: {
        "Two status codes": {
          items: [
            { code: "completed", label: "Completed", category: "success", isTerminal: true },
            { code: "failed", label: "Delivery failed", category: "attention", isTerminal: false },
          ],
        },
      },
    },
  },
  run: async ({ referenceData }: Services) => ({ items: await referenceData.statuses() }),
});

const listFailureReasons = restOperation({
  ...readJobs,
  name: "listFailureReasons",
  rest: { method: "get", path: "/reference/failure-reasons" },
  output: z.object({ items: z.array(failureReasonView) }).meta({ id: "FailureReasonList" }),
  text: {
    tag: "Reference",
    summary: "List the failure reasons",
    description:
      "Suggested values of `failure_reason`. Any other text of up to 64 characters is accepted too.",
    result: {
      description: "The failure reasons.",
      examples: {
        "One failure reason": {
          items: [
            {
              code: "wrong_incomplete_address",
              label: "Wrong or incomplete address",
              appliesTo: ["failed", "on_hold"],
              nextStep: "action",
            },
          ],
        },
      },
    },
  },
  run: async ({ referenceData }: Services) => ({ items: await referenceData.failureReasons() }),
});

export const referenceOperations: readonly RestOperation<Services>[] = [listStatuses, listFailureReasons];

const operateJobs: Access = { ...changeJobs, role: "operator" };

const upsertJobStatus = operation({
  name: "upsertJobStatus",
  access: operateJobs,
  fresh: false,
  input: statusSettings,
  run: ({ referenceData }: Services, _operator, settings) => referenceData.upsertStatus(settings),
});

export const statusOperations: readonly Operation<Services>[] = [upsertJobStatus];

/** Importing files in the console: by operators, and by users who change the jobs of an agent that an operator allowed it. */
export const importAccess: ReadAccess = (principal) =>
  principal.organizationId !== null && principal.canImportJobs ? changeJobs : operateJobs;

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const jobAccess = {
  job: getJob.access,
  jobs: listJobs.access,
  jobsByMarkingNumber: lookUpJobs.access,
  jobStats: getJobStats.access,
  jobsToday: { ...getJobStats.access, role: userRoles } satisfies Access,
  jobStatuses: listStatuses.access,
  failureReasons: listFailureReasons.access,
  updateJob: changeJobs,
  updateJobs: changeJobs,
  rescheduleJobs: changeJobs,
  createJobs: operateJobs,
  assignJobs: operateJobs,
  setProviderStatus: operateJobs,
};
