import { makeCalls } from "./checks.ts";
import * as api from "./generated";

const headers: Record<string, string> = { "x-api-key": process.env["API_KEY"] ?? "" };
const answer = ({ status, data }: { status: number; data: unknown }) => ({ status, body: data });

await makeCalls({
  list: async (query) => answer(await api.listJobs(query, { headers })),
  get: async (number) => answer(await api.getJob(number, { headers })),
  patch: async (number, body, etag) => {
    const more: Record<string, string> = etag === undefined ? {} : { "If-Match": etag };
    return answer(await api.updateJob(number, body, {}, { headers: { ...headers, ...more } }));
  },
  batch: async (jobs) =>
    answer(await api.updateJobs({ jobs: jobs as { marking_number: string }[] }, {}, { headers })),
  events: async (types) => answer(await api.listEvents({ types }, { headers })),
  history: async (number) => answer(await api.listJobHistory(number, {}, { headers })),
  statuses: async () => answer(await api.listStatuses({ headers })),
  me: async () => answer(await api.getMe({ headers })),
  lookUp: async (numbers) => answer(await api.lookUpJobs({ marking_numbers: numbers }, { headers })),
});
