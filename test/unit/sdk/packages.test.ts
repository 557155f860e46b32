/** The packages at `/sdk` have the same bytes wherever and whenever they are built. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, mkdtempDisposable, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { buildSdk } from "../../../src/sdk/build.ts";
import { isInstalled } from "../../../src/sdk/installed.ts";
import { tarball } from "../../../src/sdk/tarball.ts";

const ROOT = join(import.meta.dirname, "..", "..", "..");
const run = promisify(execFile);

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtempDisposable(join(tmpdir(), "waymark-sdk-"));
  onTestFinished(() => folder.remove());
  return folder.path;
}

async function checksumsIn(folder: string): Promise<Record<string, string>> {
  const files = (await readdir(folder)).toSorted();
  const checksums = files.map(async (file): Promise<[string, string]> => {
    const content = await readFile(join(folder, file));
    return [file, createHash("sha256").update(content).digest("hex")];
  });
  return Object.fromEntries(await Promise.all(checksums));
}

it("every package is the same from a copy of the sources in another folder, with other times, zone and umask", async () => {
  const [here, copy] = [await temporaryFolder(), await temporaryFolder()];
  await buildSdk(here);

  const isSource = (path: string): boolean => !isInstalled(path.slice(ROOT.length));
  for (const name of ["clients", "src/sdk", "package.json", "LICENSE"])
    await cp(join(ROOT, name), join(copy, name), { recursive: true, filter: isSource });
  await symlink(join(ROOT, "node_modules"), join(copy, "node_modules"));
  for (const path of await readdir(join(copy, "clients"), { recursive: true }))
    await utimes(join(copy, "clients", path), new Date("2001-02-03"), new Date("2001-02-03"));
  const program =
    'umask 077; exec "$0" -e "import(process.argv[1]).then((build) => build.buildSdk(process.argv[2]))" "$@"';
  const args = [process.execPath, join(copy, "src", "sdk", "build.ts"), join(copy, "sdk")];
  await run("sh", ["-c", program, ...args], { cwd: copy, env: { TZ: "Pacific/Kiritimati" } });

  expect(await checksumsIn(join(copy, "sdk"))).toEqual(await checksumsIn(here));
});

it("a tarball is the same for the same files in any order, and readable by tar", async () => {
  const files: [string, Buffer][] = [
    ["a.js", Buffer.from("a".repeat(513))],
    ["b/c.js", Buffer.alloc(0)],
  ];
  const content = await tarball("package", new Map(files));
  const folder = await temporaryFolder();
  await writeFile(join(folder, "x.tgz"), content);
  const { stdout } = await run("tar", ["--extract", "--to-stdout", "--file", "x.tgz"], { cwd: folder });

  expect(await tarball("package", new Map(files.toReversed()))).toEqual(content);
  expect(stdout).toBe("a".repeat(513));
});

it("a tarball has the same bytes on every processor and system", async () => {
  const text = Array.from(
    { length: 500 },
    (_, index) => `line ${(index * index) % 97}
`,
  ).join("");
  const content = await tarball("package", new Map([["a.js", Buffer.from(text)]]));
  // No time, and the system is always Unix.
  expect(content.subarray(0, 10).toString("hex")).toBe("1f8b0800000000000203");
  expect(createHash("sha256").update(content).digest("hex")).toBe(
    "67a325f6a1c1f2e4d451bb234c95374a8e2cfdd90970c930a94962c3c130395c",
  );
});
