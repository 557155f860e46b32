/** Names for prepared statements, given only to texts that come again and again. */

/** A connection keeps each named statement for its life: so many, and the rest run unnamed. */
export const MAX_PREPARED_STATEMENTS = 300;
/** Unnamed texts whose sights are counted: those that were seen last. */
export const MAX_COUNTED_TEXTS = 1_000;
/** At this sight a text is named. A filter that one client has once, in whatever shape, is not worth a name. */
export const PREPARE_AFTER = 5;

export class PreparedStatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_PREPARED_STATEMENTS) return known;
    return this.#countUse(text) < PREPARE_AFTER ? undefined : this.#assign(text);
  }

  /** The text seen last stands last, so that the first is the one to forget. */
  #countUse(text: string): number {
    const sights = (this.#uses.get(text) ?? 0) + 1;
    this.#uses.delete(text);
    this.#uses.set(text, sights);
    if (this.#uses.size > MAX_COUNTED_TEXTS) this.#uses.delete(this.#uses.keys().next().value as string);
    return sights;
  }

  #assign(text: string): string {
    const name = `w${this.#names.size}`;
    this.#names.set(text, name);
    this.#uses.delete(text);
    // Nothing is named any more, so nothing is counted.
    if (this.#names.size >= MAX_PREPARED_STATEMENTS) this.#uses.clear();
    return name;
  }
}
