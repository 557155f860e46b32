/** The TypeScript client over many requests. `test/contract/typescript-client` has the same with fewer. */
import { expect, it } from "vitest";
import { startTestApp } from "../support/app/app.fixture.ts";
import { expectChangesExactlyOnce } from "../support/clients/changes-through-proxy.ts";
import { changeThroughProxy, listWhileChanging } from "../support/clients/typescript.ts";

it(
  "applies each of 10,000 changes once through a proxy that loses, delays and refuses answers",
  { timeout: 900_000 },
  async () => {
    await using app = await startTestApp();
    await expectChangesExactlyOnce(app, 10_000, changeThroughProxy);
  },
);

it("lists each of 2,537 jobs once while they change", async () => {
  await using app = await startTestApp();
  const agent = await app.createOrganization("agent");
  const numbers = await app.createJobs(
    agent,
    Array.from({ length: 2_537 }, () => ({})),
  );
  const { listed, changed } = await listWhileChanging({ baseUrl: app.url, key: agent.key }, numbers);
  expect(listed.toSorted()).toEqual(numbers.toSorted());
  expect(changed).toBeGreaterThan(500);
});
