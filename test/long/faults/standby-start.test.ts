import { expect, it } from "vitest";
import { StartupError } from "../../../src/core/errors.ts";
import { startReplicatedPostgres } from "../../support/database/standby.ts";
import { runStartupCheck } from "../../support/database/startup-check.ts";

it("refuses to start on a standby, with a hint", async () => {
  await using postgres = await startReplicatedPostgres();
  await runStartupCheck(postgres.url);
  const standby = await postgres.addStandby();
  const refusal = await runStartupCheck(standby.url).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StartupError);
  expect(refusal).toMatchObject({
    message: expect.stringContaining("is a standby"),
    hint: expect.stringContaining("DATABASE_URL"),
  });
});
