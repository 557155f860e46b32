/** Arguments and payloads of test mode that differ from its operations. */
import type { JobPatch } from "../generated/schema-types.ts";
import { toJobNode } from "../nodes/job.node.ts";
import type { Adjustment } from "../operation-mutations.ts";
import { toContractFields } from "./job-mutations.ts";

export const testModeAdjustments: Readonly<Record<string, Adjustment>> = {
  createTestJobs: {
    toInput: ({ input }) => {
      const { template, ...others } = input as { template?: JobPatch };
      return { input: { ...others, ...(template && { template: toContractFields(template) }) } };
    },
    toPayload: ({ rows }: { rows: readonly Parameters<typeof toJobNode>[0][] }) => ({
      jobs: rows.map(toJobNode),
    }),
  },
  sendSampleEvent: { toPayload: ({ items }: { items: readonly unknown[] }) => ({ deliveries: items }) },
};
