/** Writes a Python wheel: a ZIP file with metadata and the checksum of each file. The same files always give the same bytes. */
import { createHash } from "node:crypto";
import { zipSync } from "fflate";

export interface WheelProject {
  name: string;
  version: string;
  /** One line. */
  summary: string;
  /** An SPDX expression. */
  license: string;
  requiresPython: string;
  /** Requirements, such as `httpx>=0.27,<1`. */
  dependencies: readonly string[];
  classifiers: readonly string[];
  /** Markdown. */
  readme: string;
  licenseText: Uint8Array;
}

export interface Wheel {
  file: string;
  content: Buffer;
}

const TAG = "py3-none-any";

/** Returns the wheel of a pure-Python package. The keys of `modules` are paths. */
export function pythonWheel(project: WheelProject, modules: ReadonlyMap<string, Uint8Array>): Wheel {
  const id = `${project.name.replaceAll(/[-_.]+/g, "_")}-${project.version}`;
  const folder = `${id}.dist-info`;
  const files = new Map([
    ...[...modules].toSorted(([left], [right]) => (left < right ? -1 : 1)),
    [`${folder}/licenses/LICENSE`, project.licenseText],
    [`${folder}/METADATA`, Buffer.from(metadata(project))],
    [`${folder}/WHEEL`, Buffer.from(WHEEL)],
  ]);
  const record = `${folder}/RECORD`;
  const lines = [...files].map(([path, content]) => `${path},${checksum(content)},${content.length}\n`);
  files.set(record, Buffer.from(`${lines.join("")}${record},,\n`));
  // ZIP stores local times without a zone: this one gives the same bytes in every zone.
  const mtime = new Date(1980, 0, 1);
  const content = zipSync(Object.fromEntries(files), { level: 9, mtime });
  return { file: `${id}-${TAG}.whl`, content: Buffer.from(content) };
}

const WHEEL = `Wheel-Version: 1.0\nGenerator: waymark\nRoot-Is-Purelib: true\nTag: ${TAG}\n`;

function metadata(project: WheelProject): string {
  const fields = [
    ["Metadata-Version", "2.4"],
    ["Name", project.name],
    ["Version", project.version],
    ["Summary", project.summary],
    ["License-Expression", project.license],
    ["License-File", "LICENSE"],
    ...project.classifiers.map((classifier) => ["Classifier", classifier]),
    ["Requires-Python", project.requiresPython],
    ...project.dependencies.map((requirement) => ["Requires-Dist", requirement]),
    ["Description-Content-Type", "text/markdown"],
  ];
  return `${fields.map(([name, value]) => `${name}: ${value}\n`).join("")}\n${project.readme}`;
}

function checksum(content: Uint8Array): string {
  return `sha256=${createHash("sha256").update(content).digest("base64url")}`;
}
