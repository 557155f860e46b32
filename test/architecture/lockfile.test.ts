import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { missingEntries, type LockFile } from "../../scripts/complete-lockfile.ts";

const lockPath = join(import.meta.dirname, "..", "..", "package-lock.json");

it("the lock file contains the packages of every platform (to fix: node scripts/complete-lockfile.ts)", async () => {
  const lock = JSON.parse(await readFile(lockPath, "utf8")) as LockFile;
  expect(Object.keys(missingEntries(lock))).toEqual([]);
});

it("the entry of a missing platform package is derived from its name", () => {
  const lock: LockFile = {
    packages: {
      "node_modules/linter": {
        version: "1.0.0",
        dev: true,
        optionalDependencies: { "@linter/binding-linux-arm64-musl": "1.0.0", "@linter/darwin-x64": "1.0.0" },
      },
      "node_modules/@linter/darwin-x64": { version: "1.0.0", optional: true },
    },
  };
  expect(missingEntries(lock)).toEqual({
    "node_modules/@linter/binding-linux-arm64-musl": {
      version: "1.0.0",
      cpu: ["arm64"],
      dev: true,
      libc: ["musl"],
      optional: true,
      os: ["linux"],
    },
  });
});
