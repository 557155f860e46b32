/** The released clients in `clients/released`, and the version that the sources and the texts name. */
import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, describe, it, onTestFinished } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { compareVersions, listReleases } from "../../scripts/releases/snapshots.ts";
import { namedPackages } from "../../scripts/releases/version.ts";
import { packageFiles } from "../../src/sdk/api.ts";
import {
  buildClients,
  CHECKSUMS_FILE,
  findChangedRelease,
  keepReleasedClients,
  readReleasedClients,
  RELEASED_DIR,
} from "../../src/sdk/released.ts";

/** Released before the service offered clients. */
const FIRST_WITHOUT_CLIENTS = "1.0.0-rc";

const packages = (content: string) => ({
  typescript: Buffer.from(`${content} ts`),
  python: Buffer.from(`${content} py`),
});

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtempDisposable(join(tmpdir(), "waymark-released-"));
  onTestFinished(() => folder.remove());
  return folder.path;
}

async function releasedFolder(...versions: string[]): Promise<string> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, CHECKSUMS_FILE), "");
  for (const version of versions) await keepReleasedClients(version, packages(version), folder);
  return folder;
}

describe("the released clients", () => {
  it("are those of every release, unchanged, and nothing else", async () => {
    const released = await readReleasedClients();
    const versions = listReleases().filter((version) => version !== FIRST_WITHOUT_CLIENTS);
    expect([...released.keys()].toSorted(compareVersions)).toEqual(versions);
    const files = versions.flatMap((version) =>
      Object.values(packageFiles(version)).map((file) => join(version, file)),
    );
    const present = await readdir(RELEASED_DIR, { recursive: true });
    expect(present.toSorted()).toEqual([...files, ...versions, CHECKSUMS_FILE].toSorted());
  });

  it("of this version are what the sources build", async () => {
    expect(await findChangedRelease(manifest.version, await buildClients(manifest.version))).toBeNull();
  });
});

describe("a client whose sources have changed", () => {
  it("must have another version than a release", async () => {
    const folder = await releasedFolder("1.0.0");
    const changed = { ...packages("1.0.0"), python: Buffer.from("changed") };
    expect(await findChangedRelease("1.0.0", changed, folder)).toMatch(
      /^The packages of python differ .* 1\.0\.0, which never change. Raise the version/,
    );
    expect(await findChangedRelease("1.0.0", packages("1.0.0"), folder)).toBeNull();
    expect(await findChangedRelease("1.1.0-alpha", changed, folder)).toBeNull();
  });
});

describe("keeping a release", () => {
  it("keeps the packages of earlier ones, newest first, with checksums for sha256sum", async () => {
    const folder = await releasedFolder("1.9.0", "1.10.0");
    expect([...(await readReleasedClients(folder))]).toEqual([
      ["1.10.0", packages("1.10.0")],
      ["1.9.0", packages("1.9.0")],
    ]);
    const [line] = (await readFile(join(folder, CHECKSUMS_FILE), "utf8")).split("\n");
    expect(line).toMatch(/^[\da-f]{64} {2}1\.9\.0\/waymark-client-1\.9\.0\.tgz$/);
  });

  it("is refused for a version that was kept, and noticed if a file changes later", async () => {
    const folder = await releasedFolder("1.0.0");
    await expect(keepReleasedClients("1.0.0", packages("other"), folder)).rejects.toThrow(
      "clients/released/1.0.0 exists: a release never changes",
    );
    await writeFile(join(folder, "1.0.0", "waymark-client-1.0.0.tgz"), "changed");
    await expect(readReleasedClients(folder)).rejects.toThrow(
      "clients/released/1.0.0/waymark-client-1.0.0.tgz has changed since its release",
    );
  });
});

it("the texts name the packages of this version", () => {
  const current: string[] = Object.values(packageFiles(manifest.version));
  const texts = namedPackages();
  expect(texts.length).toBeGreaterThan(5);
  const wrong = texts.flatMap(({ file, names }) =>
    names.filter((name) => !current.includes(name)).map((name) => `${file}: ${name}`),
  );
  expect(wrong).toEqual([]);
});
