/** Tests as the pages of `docs` name them: `file`: title, with `<br>` between them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

export interface NamedTest {
  file: string;
  title: string;
}

export function namedTestsIn(cell: string): NamedTest[] {
  return cell.split("<br>").flatMap((part) => {
    const [, file, title] = /^`(test\/[^`]+)`: (.+)$/.exec(part) ?? [];
    return file === undefined || title === undefined ? [] : [{ file, title }];
  });
}

/** Those of `named` that are not there: no such file, or no test of such a title in it that is run. */
export async function missingTests(named: readonly NamedTest[]): Promise<NamedTest[]> {
  const texts = new Map<string, string>();
  for (const { file } of named)
    if (!texts.has(file)) texts.set(file, await readFile(join(ROOT, file), "utf8").catch(() => ""));
  return named.filter(({ file, title }) => !hasTest(texts.get(file) ?? "", title));
}

/** Whether `text` has a test of this title that is run, be it under a condition (`it.skipIf`). It is formatted as ours are. */
export function hasTest(text: string, title: string): boolean {
  const run = text.replaceAll(SKIPPED, "");
  return ['"', "'", "`"].some((quote) =>
    run.split(quote + title + quote).some((before, at, all) => at < all.length - 1 && /\(\s*$/.test(before)),
  );
}

/** One that is skipped or still to be written, or a group of such: to the line of the same indent that ends it. */
const SKIPPED = /^( *)(?:it|test|describe)(?:\.\w+)*\.(?:skip|todo)\b(?:.*;$|[^]*?^\1\S.*;$)/gm;
