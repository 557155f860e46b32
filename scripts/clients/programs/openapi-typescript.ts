import createClient from "openapi-fetch";
import { makeCalls } from "./checks.ts";
import type { paths } from "./generated";

const client = createClient<paths>({
  baseUrl: process.env["BASE_URL"] ?? "",
  headers: { "x-api-key": process.env["API_KEY"] ?? "" },
});
const answer = ({ response, data, error }: { response: Response; data?: unknown; error?: unknown }) => ({
  status: response.status,
  body: data ?? error,
});
const path = "/jobs/by-marking/{markingNumber}";

await makeCalls({
  list: async (query) => answer(await client.GET("/jobs", { params: { query } })),
  get: async (markingNumber) => answer(await client.GET(path, { params: { path: { markingNumber } } })),
  patch: async (markingNumber, body, etag) => {
    const header = etag === undefined ? {} : { "If-Match": etag };
    return answer(await client.PATCH(path, { params: { path: { markingNumber }, header }, body }));
  },
  batch: async (jobs) =>
    answer(await client.PATCH("/jobs/batch", { body: { jobs: jobs as { marking_number: string }[] } })),
  events: async (types) => answer(await client.GET("/events", { params: { query: { types } } })),
  history: async (markingNumber) =>
    answer(await client.GET(`${path}/history`, { params: { path: { markingNumber } } })),
  statuses: async () => answer(await client.GET("/reference/statuses")),
  me: async () => answer(await client.GET("/me")),
  lookUp: async (numbers) =>
    answer(await client.POST("/jobs/lookup", { body: { marking_numbers: numbers } })),
});
