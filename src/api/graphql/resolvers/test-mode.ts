/** Mutations of test mode, for principals of test organisations only. */
import { JOBS_PER_REQUEST, type JobRun, STEP_INTERVAL, type TestPrincipal } from "../../../test-mode/api.ts";
import { AppError } from "../../../core/errors.ts";
import { authorize } from "../authorize.ts";
import type { AuthenticatedPrincipal } from "../authenticated-principal.ts";
import type { GraphqlContext } from "../context.ts";
import type { MutationResolvers } from "../generated/schema-types.ts";
import { type Caller, mutation } from "../mutation.ts";
import { toJobNode } from "../nodes/job.node.ts";
import type { ErrorPath } from "../user-errors.ts";
import { toContractFields } from "./job-mutations.ts";

export const testModeMutations: MutationResolvers = {
  createTestJobs: mutation(authorizeTest, inputErrors(null), async (caller, { input }, { services }) => {
    const jobs = await services.testMode.createJobs(requireTest(caller), {
      count: input.count ?? JOBS_PER_REQUEST.default,
      template: toContractFields(input.template ?? {}),
      assigned: input.assigned ?? true,
    });
    return { jobs: jobs.map(toJobNode) };
  }),

  runTestJob: mutation(
    authorizeTest,
    inputErrors("input.markingNumber"),
    async (caller, { input }, { services }) => {
      const run = await services.testMode.startRun(requireTest(caller), input.markingNumber, {
        path: input.path ?? undefined,
        steps: input.steps ?? undefined,
        intervalMs: input.intervalMs ?? STEP_INTERVAL.default,
      });
      return { run: toRunNode(run) };
    },
  ),

  cancelTestRun: mutation(
    authorizeTest,
    inputErrors("input.markingNumber"),
    async (caller, { input }, { services }) => ({
      run: toRunNode(await services.testMode.cancelRun(requireTest(caller), input.markingNumber)),
    }),
  ),

  sendSampleEvent: mutation(authorizeEvent, inputErrors(null), async (caller, { input }, { services }) => ({
    deliveries: await services.testMode.sendEvent(requireTest(caller), {
      type: input.type,
      markingNumber: input.markingNumber ?? undefined,
      endpointId: input.endpointId ?? undefined,
    }),
  })),

  resetTestData: mutation(authorizeTest, inputErrors(null), async (caller, _args, { services }) => ({
    deleted: await services.testMode.reset(requireTest(caller)),
  })),
};

function toRunNode({ nextStepAt, endsAt, ...run }: JobRun) {
  return { ...run, nextStepAt: nextStepAt.toISOString(), endsAt: endsAt.toISOString() };
}

function inputErrors(subject: string | null): ErrorPath {
  return { fields: "input", subject };
}

function authorizeTest(context: GraphqlContext): AuthenticatedPrincipal {
  authorize(context, "jobs:write");
  return authorize(context, "jobs:read");
}

/** An endpoint receives whole jobs. */
function authorizeEvent(context: GraphqlContext): AuthenticatedPrincipal {
  authorize(context, "webhooks:manage");
  return authorize(context, "jobs:read");
}

/** Throws NotFoundException for a live principal, as REST does. */
function requireTest(caller: Caller<AuthenticatedPrincipal>): TestPrincipal {
  if (caller.organizationId === null || caller.liveOrganizationId === undefined)
    throw new AppError("NotFoundException", "This works only in test mode: use a test key");
  return caller;
}
