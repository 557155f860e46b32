/** Names for prepared statements, given only to texts that come again and again. */

/** A connection keeps each named statement for its life: so many, and the rest run unnamed. */
export const MAX_NAMES = 300;
/** Unnamed texts whose sights are counted: those that were seen last. */
export const REMEMBERED_TEXTS = 1_000;
/** At this sight a text is named. A filter that one client has once, in whatever shape, is not worth a name. */
export const NAMED_FROM = 5;

export class StatementNames {
  readonly #names = new Map<string, string>();
  readonly #sights = new Map<string, number>();

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined || this.#names.size >= MAX_NAMES) return known;
    return this.#count(text) < NAMED_FROM ? undefined : this.#give(text);
  }

  /** The text seen last stands last, so that the first is the one to forget. */
  #count(text: string): number {
    const sights = (this.#sights.get(text) ?? 0) + 1;
    this.#sights.delete(text);
    this.#sights.set(text, sights);
    if (this.#sights.size > REMEMBERED_TEXTS) this.#sights.delete(this.#sights.keys().next().value as string);
    return sights;
  }

  #give(text: string): string {
    const name = `w${this.#names.size}`;
    this.#names.set(text, name);
    this.#sights.delete(text);
    // Nothing is named any more, so nothing is counted.
    if (this.#names.size >= MAX_NAMES) this.#sights.clear();
    return name;
  }
}
