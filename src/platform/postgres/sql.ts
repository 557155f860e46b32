/** SQL templates: statements composed from fragments, with bound values. */

/** A fragment of SQL. A `sql` template inserts a nested `Sql` as text; any other value becomes a bound parameter. */
export class Sql {
  readonly strings: readonly string[];
  readonly parts: readonly unknown[];

  constructor(strings: readonly string[], parts: readonly unknown[]) {
    this.strings = strings;
    this.parts = parts;
  }

  /** Returns the text with `$n` placeholders, and the values in that order. */
  compile(): { text: string; values: unknown[] } {
    const values: unknown[] = [];
    return { text: this.#render(values), values };
  }

  #render(values: unknown[]): string {
    let text = this.strings[0] as string;
    for (let index = 0; index < this.parts.length; index += 1) {
      const part = this.parts[index];
      text +=
        (part instanceof Sql ? part.#render(values) : `$${values.push(part)}`) +
        (this.strings[index + 1] as string);
    }
    return text;
  }
}

export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  return new Sql(strings, parts);
}

/** Returns `text` as SQL without escaping it. Never pass text from outside. */
export function raw(text: string): Sql {
  return new Sql([text], []);
}

export function join(fragments: readonly Sql[], separator: string): Sql {
  if (fragments.length === 0) return raw("");
  return new Sql(["", ...fragments.slice(1).map(() => separator), ""], fragments);
}
