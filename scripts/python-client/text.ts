/** Names and docstrings in Python. */

const KEYWORDS =
  "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield";
/** Names that the generated modules use, and that a member would hide. */
const USED_NAMES = "date datetime dict field list models operations self body";
const RESERVED = new Set([...KEYWORDS.split(" "), ...USED_NAMES.split(" ")]);

/** `markingNumber` and `Marking-Number` become `marking_number`; a name that Python can't use gets `_` at the end. */
export function pythonName(name: string): string {
  const snake = snakeCase(name);
  return RESERVED.has(snake) ? `${snake}_` : snake;
}

export function snakeCase(name: string): string {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1_$2")
    .replaceAll(/[^A-Za-z\d]+/g, "_")
    .toLowerCase();
}

export function pascalCase(name: string): string {
  return snakeCase(name).replaceAll(/(?:^|_)([a-z\d])/g, (_match, letter: string) => letter.toUpperCase());
}

const LINE_WIDTH = 110;

/** Returns a docstring of `paragraphs`, indented by `indent` spaces. */
export function docstring(paragraphs: readonly string[], indent: number): string {
  const margin = " ".repeat(indent);
  const text = paragraphs
    .flatMap((paragraph) => ["", ...wrap(paragraph.replaceAll("\\", "\\\\"), LINE_WIDTH - indent)])
    .slice(1)
    .map((line) => (line === "" ? "" : margin + line))
    .join("\n")
    .trimStart();
  return text.includes("\n") ? `${margin}"""${text}\n${margin}"""` : `${margin}"""${text}"""`;
}

/** Breaks at spaces; a line that starts with more spaces continues with them. */
function wrap(paragraph: string, width: number): string[] {
  return paragraph.split("\n").flatMap((source) => {
    const indent = /^ */.exec(source)?.[0] ?? "";
    const lines = [""];
    for (const word of source.trim().split(/\s+/)) {
      const line = lines.at(-1) ?? "";
      if (line !== "" && indent.length + line.length + 1 + word.length > width) lines.push(word);
      else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
    }
    return lines.map((line, index) => indent + (index > 0 && indent !== "" ? "  " : "") + line);
  });
}
