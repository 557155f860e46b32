/** Versions of Python packages (PEP 440). */

const LETTERS: Readonly<Record<string, string>> = { alpha: "a", beta: "b", rc: "rc" };

/** Converts the version of the product: `1.2.0` stays, `1.2.0-rc` becomes `1.2.0rc0` and `1.2.0-beta.3` becomes `1.2.0b3`. */
export function pythonVersion(version: string): string {
  const [, release = "", stage, number = "0"] =
    /^(\d+\.\d+\.\d+)(?:-(\w+)(?:\.(\d+))?)?$/.exec(version) ?? [];
  const letter = stage === undefined ? "" : LETTERS[stage];
  if (release === "" || letter === undefined) throw new Error(`${version} has no form in Python`);
  return letter === "" ? release : `${release}${letter}${number}`;
}
