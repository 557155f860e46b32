/** Creates a database for a test file in the test run's MongoDB. */
import { randomBytes } from "node:crypto";
import { MongoClient } from "mongodb";
import { inject } from "vitest";

export type TestMongo = ReturnType<typeof createTestMongo>;

export function createTestMongo() {
  const url = inject("mongoUrl").replace("/waymark?", `/test_${randomBytes(6).toString("hex")}?`);
  return {
    /** Value for MONGODB_URL. */
    url,
    async [Symbol.asyncDispose]() {
      await using client = new MongoClient(url);
      await client.db().dropDatabase();
    },
  };
}
