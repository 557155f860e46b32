/** Runs the startup check of a database, as a starting process does. */
import { entities } from "../../../src/app/entities.ts";
import { migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { createStartupCheck, type RestoreResult } from "../../../src/restore/service.ts";
import { testSecretBox } from "../test-secret.ts";

/** Returns the recoveries that were needed. */
export async function runStartupCheck(url: string, box = testSecretBox): Promise<RestoreResult[]> {
  const recoveries: RestoreResult[] = [];
  const afterMigrate = createStartupCheck({
    openBox: async () => box,
    onRecovered: (recovery) => recoveries.push(recovery),
  });
  await migrateDatabase({ url, poolSize: 2, entities }, { afterMigrate });
  return recoveries;
}
