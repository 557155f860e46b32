import { makeCalls } from "./checks.ts";
import {
  AccountApi,
  BatchUpdateFromJSON,
  Configuration,
  EventsApi,
  JobPatchFromJSON,
  JobsApi,
  ReferenceApi,
  ResponseError,
  type ListJobsSortEnum,
} from "./generated";

const configuration = new Configuration({
  basePath: process.env["BASE_URL"] ?? "",
  apiKey: process.env["API_KEY"] ?? "",
});
const jobs = new JobsApi(configuration);

/** The typed value must agree with the JSON that it was read from. */
async function answer(call: Promise<{ raw: Response; value(): Promise<unknown> }>) {
  try {
    const response = await call;
    const raw = response.raw.clone();
    await response.value();
    return { status: raw.status, body: await raw.json() };
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    return { status: error.response.status, body: await error.response.json() };
  }
}

await makeCalls({
  list: ({ page_size: pageSize, normalized_status: normalizedStatus, sort, ...rest }) =>
    answer(
      jobs.listJobsRaw({
        ...rest,
        ...(pageSize !== undefined && { pageSize: pageSize as number }),
        ...(normalizedStatus !== undefined && { normalizedStatus: normalizedStatus as string }),
        ...(sort !== undefined && { sort: sort as ListJobsSortEnum }),
      }),
    ),
  get: (markingNumber) => answer(jobs.getJobRaw({ markingNumber })),
  patch: (markingNumber, body, ifMatch) => {
    const jobPatch = JobPatchFromJSON(body);
    return answer(jobs.updateJobRaw({ markingNumber, jobPatch, ...(ifMatch !== undefined && { ifMatch }) }));
  },
  batch: (items) => answer(jobs.updateJobsRaw({ batchUpdate: BatchUpdateFromJSON({ jobs: items }) })),
  events: (types) => answer(new EventsApi(configuration).listEventsRaw({ types })),
  history: (markingNumber) => answer(jobs.listJobHistoryRaw({ markingNumber })),
  statuses: () => answer(new ReferenceApi(configuration).listStatusesRaw()),
  me: () => answer(new AccountApi(configuration).getMeRaw()),
  lookUp: (markingNumbers) => answer(jobs.lookUpJobsRaw({ jobLookup: { markingNumbers } })),
});
