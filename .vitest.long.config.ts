import { defineConfig } from "vitest/config";
import quick from "./.vitest.config.ts";

/** Faults over minutes, clusters, tools and client packages: one file after the other, so that each has the machine. */
export default defineConfig({
  test: {
    ...quick.test,
    include: ["test/long/**/*.test.ts"],
    exclude: [],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    maxWorkers: 1,
  },
});
