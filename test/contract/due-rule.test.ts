/** When a job is due and late is one sentence, wherever it is stated. */
import { expect, it } from "vitest";
import { readSdl } from "../../src/api/graphql/sdl.ts";
import { DUE_RULE as consoleRule } from "../../src/console/pages/jobs/job.due.ts";
import { DUE_RULE } from "../../src/jobs/due.ts";
import { rescheduleJobs } from "../../src/jobs/update/reschedule.operations.ts";
import { readPage } from "../support/docs/guide-pages.ts";

it.each([
  ["the console", () => consoleRule],
  ["OpenAPI", () => rescheduleJobs.text.description],
  ["the SDL", () => readSdl()],
  ["the guide on dates", () => readPage("guide/jobs.md")],
  ["the guide on updates", () => readPage("guide/updating.md")],
])("%s states the rule", (_where, text) => {
  expect(text().replaceAll(/\s+/g, " ")).toContain(DUE_RULE);
});
