import { expect, it } from "vitest";
import { entities } from "../../../src/app/entities.ts";
import { StartupError } from "../../../src/core/errors.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { createStartupCheck } from "../../../src/restore/service.ts";
import { startReplicatedPostgres } from "../../support/database/standby.ts";
import { testSecretBox } from "../../support/test-secret.ts";

const start = (url: string): Promise<string[]> =>
  migrateDatabase(
    { url, poolSize: 2, entities },
    {
      afterMigrate: createStartupCheck({
        openBox: async () => testSecretBox,
        onRecovered: () => undefined,
      }),
    },
  );

it("refuses to start on a standby, with a hint", async () => {
  await using postgres = await startReplicatedPostgres();
  await start(postgres.url);
  const standby = await postgres.addStandby();
  const refusal = await start(standby.url).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(StartupError);
  expect(refusal).toMatchObject({
    message: expect.stringContaining("is a standby"),
    hint: expect.stringContaining("DATABASE_URL"),
  });
});
