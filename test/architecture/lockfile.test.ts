import { existsSync, readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { missingEntries, type LockFile } from "../../scripts/complete-lockfile.ts";

const root = join(import.meta.dirname, "..", "..");
const readLock = async (folder: string): Promise<LockFile> =>
  JSON.parse(await readFile(join(root, folder, "package-lock.json"), "utf8")) as LockFile;

it.each([".", "bench"])(
  "the lock file of %s contains the packages of every platform (to fix: node scripts/complete-lockfile.ts)",
  async (folder) => {
    expect(Object.keys(missingEntries(await readLock(folder)))).toEqual([]);
  },
);

describe("the lock file of bench", () => {
  it.each(["pg", "graphql", "graphql-ws", "ws", "@types/node", "@types/pg"])(
    "has the project's version of %s, which files of bench use as well",
    async (name) => {
      const [own, ofBench] = await Promise.all([readLock("."), readLock("bench")]);
      const version = own.packages[`node_modules/${name}`]?.version;
      expect(version).toMatch(/^\d/);
      expect(ofBench.packages[`node_modules/${name}`]?.version).toBe(version);
    },
  );

  it("has every product to compare with, and the project's own has none", async () => {
    const [own, ofBench] = await Promise.all([readLock("."), readLock("bench")]);
    const products = ["postgraphile", "mercurius", "fastify", "graphile-worker"];
    const inLock = ({ packages }: LockFile): string[] =>
      products.filter((name) => `node_modules/${name}` in packages);
    expect(inLock(ofBench)).toEqual(products);
    expect(inLock(own)).toEqual([]);
  });
});

describe("the starter kits", () => {
  interface Package {
    readonly dependencies?: Readonly<Record<string, string>>;
    readonly devDependencies?: Readonly<Record<string, string>>;
  }
  const kits = join("clients", "examples");
  const versionsIn = async (folder: string): Promise<Record<string, string>> => {
    const { dependencies, devDependencies } = JSON.parse(
      await readFile(join(root, folder, "package.json"), "utf8"),
    ) as Package;
    return { ...dependencies, ...devDependencies };
  };

  const packages = readdirSync(join(root, kits)).filter((kit) =>
    existsSync(join(root, kits, kit, "package.json")),
  );

  it.each(packages)("%s has the versions that the project tests", async (kit) => {
    expect(await versionsIn(".")).toMatchObject(await versionsIn(join(kits, kit)));
  });
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
