import { join } from "node:path";
import { defineConfig } from "vitest/config";

// Half of the time to load the service is compiling it. `npm run test:all` measures coverage, which the cache would distort.
if (!process.argv.includes("--all"))
  process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules", ".cache", "tests");

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // `npm run test:all` runs these too.
    exclude: ["test/long/**"],
    tags: [{ name: "long", description: "`npm run test:all` alone runs these." }],
    // PostgreSQL starts once for the whole run; each file makes its own schema in it.
    globalSetup: ["test/support/global-setup.ts"],
    pool: "forks",
    // Node itself loads the code, as it does for users: what it cannot strip fails here too. Nothing is mocked.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Files share a process, one after the other: the service is loaded and compiled once, and apps are shared.
    isolate: false,
    // Much of the time is waiting: for leases, timeouts, processes that start.
    maxWorkers: 4,
    // These end what hangs. They are no expectations: on a busy machine a server takes half a minute to start.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    reporters: ["./test/support/progress.reporter.ts"],
    // Slow tests are not listed one by one: `npm test` ends with the slowest files.
    slowTestThreshold: 60_000,
    coverage: {
      provider: "v8",
      include: ["src/**"],
      // What runs in Chromium is not measured. The build runs only if its sources have changed.
      exclude: [
        "src/migrations/**",
        "src/console/**",
        "src/*/generated/**",
        "src/build.ts",
        "src/guide/**",
        "src/api/docs/page.mjs",
        "src/**/*.{css,json}",
      ],
      reporter: ["text-summary"],
      reportOnFailure: true,
      // Half a point below what the tests reach. Code that runs only in child processes does not count.
      thresholds: { lines: 90, functions: 89, branches: 84.7, statements: 89 },
    },
  },
});
