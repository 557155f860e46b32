/** Creates a database for a test file in the test run's MongoDB. */
import { randomBytes } from "node:crypto";
import { MongoClient } from "mongodb";
import { inject } from "vitest";

export interface TestMongo extends AsyncDisposable {
  /** Value for MONGODB_URL. */
  readonly url: string;
}

export function createTestMongo(): TestMongo {
  const url = inject("mongoUrl").replace("/waymark?", `/test_${randomBytes(6).toString("hex")}?`);
  return {
    url,
    async [Symbol.asyncDispose]() {
      await using client = new MongoClient(url);
      await client.db().dropDatabase();
    },
  };
}
