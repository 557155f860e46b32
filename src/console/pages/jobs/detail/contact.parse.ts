/** Finds phone numbers and e-mail addresses in the contact of a recipient, which is any text. */

export interface ContactPart {
  text: string;
  /** `tel:` or `mailto:`; null for other text. */
  href: string | null;
}

/**
 * An e-mail address, or a phone number: digits with at most two separators between them, or a slash without blanks, because " / "
 * separates two numbers.
 */
const CONTACT =
  /[^\s@<>()[\],;:"]{1,64}@[^\s@<>()[\],;:"]{1,190}\.[a-z\d-]{2,60}|\+?\(?\d(?:(?:[ \u{A0}().-]{0,2}|\/)\d){6,19}/giu;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
const MIN_DIGITS = 7;
const MAX_DIGITS = 15;

/** The whole text, in parts. */
export function parseContact(contact: string): ContactPart[] {
  const parts: ContactPart[] = [];
  let end = 0;
  for (const { 0: match, index } of contact.matchAll(CONTACT)) {
    const href = match.includes("@") ? mailUrl(match) : telephoneUrl(match);
    if (href === null) continue;
    if (index > end) parts.push({ text: contact.slice(end, index), href: null });
    parts.push({ text: match, href });
    end = index + match.length;
  }
  if (end < contact.length) parts.push({ text: contact.slice(end), href: null });
  return parts;
}

function mailUrl(address: string): string {
  return `mailto:${encodeURIComponent(address).replace("%40", "@")}`;
}

/** The 0 in +44 (0)20 … is not dialled after a country code. */
function telephoneUrl(number: string): string | null {
  const isInternational = number.startsWith("+");
  const digits = (isInternational ? number.replace("(0)", "") : number).replaceAll(/\D/g, "");
  if (DAY.test(number) || digits.length < MIN_DIGITS || digits.length > MAX_DIGITS) return null;
  return `tel:${isInternational ? "+" : ""}${digits}`;
}
