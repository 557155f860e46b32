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

/** Those of `named` that are not there: no such file, or no such title in it. */
export async function missingTests(named: readonly NamedTest[]): Promise<NamedTest[]> {
  const texts = new Map<string, string>();
  for (const { file } of named)
    if (!texts.has(file)) texts.set(file, await readFile(join(ROOT, file), "utf8").catch(() => ""));
  const isThere = ({ file, title }: NamedTest): boolean =>
    ['"', "'", "`"].some((quote) => texts.get(file)?.includes(quote + title + quote));
  return named.filter((test) => !isThere(test));
}
