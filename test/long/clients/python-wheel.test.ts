/** The wheel of the Python client: its format, its installation from the service, and the wheel that setuptools builds. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { strFromU8, unzipSync } from "fflate";
import { beforeEach, afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../../package.json" with { type: "json" };
import { buildPythonClient } from "../../../src/sdk/build-python.ts";
import { pythonVersion } from "../../../src/sdk/python-version.ts";
import type { Wheel } from "../../../src/sdk/wheel.ts";
import { startTestApp } from "../../support/app/app.fixture.ts";
import { HTTPX, preparePython, PYTHON_CLIENT, type PythonEnvironment } from "../../support/clients/python.ts";
import { BUILD_TIMEOUT_MS, buildSite } from "../../support/site.ts";

const VERSION = pythonVersion(manifest.version);
const FILE = `waymark_client-${VERSION}-py3-none-any.whl`;
const FOLDER = `waymark_client-${VERSION}.dist-info`;

/** Returns the texts of a wheel by path. */
function contentsOf(content: Uint8Array): Record<string, string> {
  return Object.fromEntries(
    Object.entries(unzipSync(content)).map(([path, bytes]) => [path, strFromU8(bytes)]),
  );
}

it.each([
  ["1.2.0", "1.2.0"],
  ["1.0.0-rc", "1.0.0rc0"],
  ["1.0.0-rc.2", "1.0.0rc2"],
  ["2.0.0-beta.1", "2.0.0b1"],
])("the version %s is %s in Python", (version, expected) => {
  expect(pythonVersion(version)).toBe(expected);
});

it("rejects a version that has no form in Python", () => {
  expect(() => pythonVersion("1.0.0-night.1")).toThrow("1.0.0-night.1 has no form in Python");
});

describe("the wheel", () => {
  let wheel: Wheel;
  let contents: Record<string, string>;

  beforeAll(async () => {
    wheel = await buildPythonClient(manifest.version);
    contents = contentsOf(wheel.content);
  });

  it("has the version of the product, and every module with its type marker", async () => {
    expect(wheel.file).toBe(FILE);
    const sources = await readdir(join(PYTHON_CLIENT, "waymark_client"), { recursive: true });
    const modules = sources.filter((path) => path.endsWith(".py")).map((path) => `waymark_client/${path}`);
    expect(Object.keys(contents).toSorted()).toEqual(
      [
        ...modules,
        "waymark_client/py.typed",
        ...["METADATA", "RECORD", "WHEEL", "licenses/LICENSE"].map((name) => `${FOLDER}/${name}`),
      ].toSorted(),
    );
    expect(contents["waymark_client/_version.py"]).toContain(`VERSION = "${VERSION}"`);
    expect(contents[`${FOLDER}/licenses/LICENSE`]).toBe(
      await readFile(new URL("../../../LICENSE", import.meta.url), "utf8"),
    );
  });

  it("records the SHA-256 and the size of each file", () => {
    const record = contents[`${FOLDER}/RECORD`]?.trim().split("\n") ?? [];
    const expected = Object.entries(contents).map(([path, text]) => {
      if (path.endsWith("/RECORD")) return `${path},,`;
      const digest = createHash("sha256").update(text).digest("base64url");
      return `${path},sha256=${digest},${Buffer.byteLength(text)}`;
    });
    expect(record.toSorted()).toEqual(expected.toSorted());
  });
});

describe("with Python", { timeout: BUILD_TIMEOUT_MS }, () => {
  let folder: string;
  let python: PythonEnvironment;

  beforeAll(async () => {
    await buildSite();
    folder = await mkdtemp(join(tmpdir(), "waymark-wheel-"));
    python = await preparePython(join(folder, "packages"), { packages: [HTTPX, "setuptools==80.9.0"] });
  }, BUILD_TIMEOUT_MS);
  afterAll(() => rm(folder, { recursive: true, force: true }));
  beforeEach(({ skip }) => skip(python.skipReason !== null, python.skipReason ?? ""));

  it("pip installs it from the service, and its requirements are met", async () => {
    await using app = await startTestApp();
    const script = [
      "python3 -m venv venv",
      `venv/bin/pip install --quiet --disable-pip-version-check ${app.url}/sdk/${FILE}`,
      // The command of the guide, for any version.
      (await readFile(new URL("../../../docs/guide/clients.md", import.meta.url), "utf8"))
        .split("\n")
        .find((line) => line.startsWith("pip install"))
        ?.replace("pip", "venv/bin/pip")
        .replace("http://127.0.0.1:4000", app.url),
      "venv/bin/pip check",
      `curl -fsSL -o client.whl ${app.url}/sdk/waymark_client.whl`,
      "venv/bin/python -m zipfile --test client.whl",
      `curl -fsS ${app.url}/sdk/${FILE}.sha256 | sed 's/ .*/  client.whl/' | sha256sum --check`,
      "venv/bin/python -c 'import waymark_client; print(waymark_client.VERSION, waymark_client.__file__)'",
    ];
    const program =
      "import subprocess, sys; sys.exit(subprocess.call(['sh', '-ec', sys.argv[1]], cwd=sys.argv[2]))";
    const result = await python.run(["-c", program, script.join("\n"), folder], { PYTHONPATH: "" });
    expect(result).toMatchObject({ code: 0 });
    expect(result.stdout).toContain("No broken requirements found.");
    expect(result.stdout).toContain("client.whl: OK");
    expect(result.stdout).toContain(`${VERSION} ${folder}/venv/`);
  });
});
