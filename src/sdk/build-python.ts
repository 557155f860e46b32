/** Builds the package of the Python client without Python, from the metadata in `clients/python/pyproject.toml`. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { pythonVersion } from "./python-version.ts";
import { pythonWheel, type Wheel } from "./wheel.ts";

const SOURCE_DIR = join(import.meta.dirname, "..", "..", "clients", "python");

/** The fields of `pyproject.toml` that a wheel needs. */
interface PythonProject {
  project: {
    name: string;
    description: string;
    license: string;
    "requires-python": string;
    dependencies: string[];
    classifiers: string[];
  };
  tool: { setuptools: { packages: string[] } };
}

export async function buildPythonClient(version: string): Promise<Wheel> {
  const toml = await readFile(join(SOURCE_DIR, "pyproject.toml"), "utf8");
  const { project, tool } = parse(toml) as unknown as PythonProject;
  const modules = await Promise.all(tool.setuptools.packages.map(readPackage));
  return pythonWheel(
    {
      name: project.name,
      version: pythonVersion(version),
      summary: project.description,
      license: project.license,
      requiresPython: project["requires-python"],
      dependencies: project.dependencies,
      classifiers: project.classifiers,
      // The mark of samples that tests don't run.
      readme: (await readFile(join(SOURCE_DIR, "README.md"), "utf8")).replaceAll(/^(```\w+) no-run$/gm, "$1"),
      licenseText: await readFile(join(SOURCE_DIR, "LICENSE")),
    },
    new Map(modules.flat()),
  );
}

/** Returns the modules of a package such as `waymark_client._generated`, and its file `py.typed`. */
async function readPackage(name: string): Promise<[string, Uint8Array][]> {
  const folder = name.replaceAll(".", "/");
  const files = await readdir(join(SOURCE_DIR, folder));
  return await Promise.all(
    files
      .filter((file) => file.endsWith(".py") || file === "py.typed")
      .map(async (file): Promise<[string, Uint8Array]> => [
        `${folder}/${file}`,
        await readFile(join(SOURCE_DIR, folder, file)),
      ]),
  );
}
