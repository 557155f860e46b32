/** The encoding and separator of a CSV file. */
import type { FileEncoding } from "./import-api.ts";

/** Null if the whole file is UTF-8. Any bytes can be Windows-1252, the usual encoding of CSV by Excel in Western Europe. */
export async function detectEncoding(file: Blob): Promise<FileEncoding | null> {
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (first === 0xff && second === 0xfe) return "utf-16le";
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = file.stream().getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      decoder.decode(value, { stream: !done });
      if (done) return null;
    }
  } catch {
    await reader.cancel();
    return "windows-1252";
  }
}

const DELIMITERS = [",", ";", "\t"];

/** The separator behind the first name of the header; a comma if there is none. `start`: the beginning of the file. */
export function delimiterAfter(start: string, name: string): string {
  const rest = start.slice(start.indexOf(name) + name.length).replace(/^"/, "");
  return DELIMITERS.find((delimiter) => rest.startsWith(delimiter)) ?? ",";
}
