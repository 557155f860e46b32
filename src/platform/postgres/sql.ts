/** SQL as data: text with `$n` places and the values that go there, composed from fragments, never from strings. */

/** A piece of SQL. In a `sql` template a nested `Sql` is spliced in; anything else becomes a bound value. */
export class Sql {
  readonly strings: readonly string[];
  readonly parts: readonly unknown[];

  constructor(strings: readonly string[], parts: readonly unknown[]) {
    this.strings = strings;
    this.parts = parts;
  }

  /** The text with its places numbered, and the values in that order. */
  compile(): { text: string; values: unknown[] } {
    const values: unknown[] = [];
    return { text: this.#render(values), values };
  }

  #render(values: unknown[]): string {
    let text = this.strings[0] as string;
    for (let at = 0; at < this.parts.length; at += 1) {
      const part = this.parts[at];
      text +=
        (part instanceof Sql ? part.#render(values) : `$${values.push(part)}`) +
        (this.strings[at + 1] as string);
    }
    return text;
  }
}

export function sql(strings: TemplateStringsArray, ...parts: unknown[]): Sql {
  return new Sql(strings, parts);
}

/** Text of our own (a column, a keyword, a constant): never anything that came from outside. */
export function raw(text: string): Sql {
  return new Sql([text], []);
}

export function join(fragments: readonly Sql[], separator: string): Sql {
  if (fragments.length === 0) return raw("");
  return new Sql(["", ...fragments.slice(1).map(() => separator), ""], fragments);
}
