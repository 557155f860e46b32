/** Assigns names to frequently used statements, so that PostgreSQL prepares them once per connection. */

/** Each connection keeps its named statements in memory, so their number is limited. Further statements run unnamed. */
export const MAX_PREPARED_STATEMENTS = 300;
/** The number of most recently used unnamed texts whose uses are counted. */
export const MAX_COUNTED_TEXTS = 1_000;
/** A text gets a name at this use; a filter that a client uses once is not worth preparing. */
export const PREPARE_AFTER = 5;

export class PreparedStatementNames {
  readonly #names = new Map<string, string>();
  readonly #uses = new Map<string, number>();

  /** Counts a use of `text` and returns its name, or undefined to run it unnamed. */
  nameOf(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size >= MAX_PREPARED_STATEMENTS) return name;
    return this.#countUse(text) < PREPARE_AFTER ? undefined : this.#assign(text);
  }

  /** Re-inserting a text moves it to the end, so that the first is the least recently used. */
  #countUse(text: string): number {
    const uses = (this.#uses.get(text) ?? 0) + 1;
    this.#uses.delete(text);
    this.#uses.set(text, uses);
    if (this.#uses.size > MAX_COUNTED_TEXTS) this.#uses.delete(this.#uses.keys().next().value as string);
    return uses;
  }

  #assign(text: string): string {
    const name = `w${this.#names.size}`;
    this.#names.set(text, name);
    this.#uses.delete(text);
    // All names are assigned, so counting is over.
    if (this.#names.size >= MAX_PREPARED_STATEMENTS) this.#uses.clear();
    return name;
  }
}
