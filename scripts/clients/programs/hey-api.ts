import { makeCalls } from "./checks.ts";
import { client } from "./generated/client.gen";
import * as api from "./generated/sdk.gen";

client.setConfig({
  baseUrl: process.env["BASE_URL"] ?? "",
  headers: { "x-api-key": process.env["API_KEY"] ?? "" },
});
const answer = ({ response, data, error }: { response?: Response; data?: unknown; error?: unknown }) => ({
  status: response?.status ?? 0,
  body: data ?? error,
});

await makeCalls({
  list: async (query) => answer(await api.listJobs({ query })),
  get: async (markingNumber) => answer(await api.getJob({ path: { markingNumber } })),
  patch: async (markingNumber, body, etag) => {
    const headers = etag === undefined ? {} : { "If-Match": etag };
    return answer(await api.updateJob({ path: { markingNumber }, body, headers }));
  },
  batch: async (jobs) =>
    answer(await api.updateJobs({ body: { jobs: jobs as { marking_number: string }[] } })),
  events: async (types) => answer(await api.listEvents({ query: { types } })),
  history: async (markingNumber) => answer(await api.listJobHistory({ path: { markingNumber } })),
  statuses: async () => answer(await api.listStatuses()),
  me: async () => answer(await api.getMe()),
  lookUp: async (numbers) => answer(await api.lookUpJobs({ body: { marking_numbers: numbers } })),
});
