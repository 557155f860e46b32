/** Runs the startup check of a database, as a starting process does. */
import { entities } from "../../../src/app/entities.ts";
import { type LockedConnection, migrateDatabase } from "../../../src/core/postgres/migrate.ts";
import { checkDatabase, type RestoreResult } from "../../../src/restore/service.ts";
import { testSecretBox } from "../test-secret.ts";

/** Returns the recoveries that were needed. */
export async function runStartupCheck(url: string, box = testSecretBox): Promise<RestoreResult[]> {
  const recoveries: RestoreResult[] = [];
  const options = {
    openBox: () => Promise.resolve(box),
    onRecovered: (recovery: RestoreResult) => void recoveries.push(recovery),
  };
  const afterMigrate = (database: LockedConnection) => checkDatabase(database, options);
  await migrateDatabase({ url, poolSize: 2, entities }, { afterMigrate });
  return recoveries;
}
