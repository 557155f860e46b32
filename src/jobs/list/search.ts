/** Reads the text that users search jobs by: words, phone numbers, and pasted lists of Marking Numbers. */
import { lengthInCodePoints, textValue } from "../values.ts";

export const searchLimits = { maxLength: 255, maxNumbers: 500, minDigits: 5 } as const;
const { maxLength, maxNumbers, minDigits } = searchLimits;
const MAX_LIST_LENGTH = maxNumbers * (120 + 1);

/** A job matches if it has all texts of one of `alternatives`, or one of the Marking Numbers of `list`. */
export interface JobSearch {
  readonly alternatives: readonly (readonly string[])[];
  /** Distinct, as given; empty unless the text has several. */
  readonly list: readonly string[];
}

export const searchText = textValue(MAX_LIST_LENGTH).superRefine((text, context) => {
  if (!isLong(text)) return;
  const { list } = readSearch(text);
  if (list.length > 1 && list.length <= maxNumbers) return;
  const found = list.length > maxNumbers ? `, got ${list.length}` : "";
  context.addIssue({
    code: "too_big",
    maximum: maxLength,
    origin: "string",
    message: `must be at most ${maxLength} characters, or a list of at most ${maxNumbers} Marking Numbers${found}`,
  });
});

/** OpenAPI and the SDL say it in the same words. */
export const searchRule =
  "all words in any order, each as any part of the Marking Number, recipient name, contact, delivery address or postal code, " +
  `without regard to case and accents. A phone number of at least ${minDigits} digits is found in any spelling. ` +
  `Several Marking Numbers, at most ${maxNumbers}, find their jobs`;

export function readSearch(text: string): JobSearch {
  // Phone numbers that are copied from address books have invisible characters.
  const visible = text.normalize("NFKC").replaceAll(/\p{Cf}/gu, "");
  return { alternatives: isLong(text) ? [] : alternativesOf(visible), list: readList(text) };
}

const isLong = (text: string): boolean => text.length > maxLength && lengthInCodePoints(text) > maxLength;

/** As written, and with each phone number as digits. */
function alternativesOf(text: string): string[][] {
  const words = splitWords(text);
  const { others, phones } = takePhones(text);
  const withDigits = [...splitWords(others), ...phones];
  const isSame = phones.length === 0 || words.join(" ") === withDigits.join(" ");
  return isSame ? [words] : [words, withDigits];
}

const splitWords = (text: string): string[] => text.split(/[\s,;]+/u).filter(Boolean);

/** Digits and the signs of phone numbers, between blanks or commas. */
const PHONE = /(?<![^\s,;])[+(]*\d[\d\s()./-]*(?![^\s,;])/gu;

function takePhones(text: string): { others: string; phones: string[] } {
  const phones: string[] = [];
  const others = text.replaceAll(PHONE, (written) => {
    const digits = comparableDigits(written);
    if (digits.length < minDigits) return written;
    phones.push(digits);
    return " ";
  });
  return { others, phones };
}

/** Country codes of one or two digits; all others have three. */
const COUNTRY_CODE = /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})/;
/** Shorter rests are no whole number, so they keep their country code. */
const MIN_NATIONAL_DIGITS = 7;

/** The digits without the country code and the leading zero, which other spellings do not have. */
function comparableDigits(written: string): string {
  const all = written.replaceAll(/\D/g, "");
  const digits = all.replace(/^0+/, "");
  const isInternational = written.includes("+") || all.startsWith("00");
  const national = digits.replace(COUNTRY_CODE, "").replace(/^0/, "");
  return isInternational && national.length >= MIN_NATIONAL_DIGITS ? national : digits;
}

/** Words can be read as a list too. It is one if a number has a job, or if all could be numbers and not only blanks separate them. */
export function isReported(text: string, list: readonly string[], notFound: readonly string[]): boolean {
  const couldBeNumbers = LINES.test(text.trim()) && list.every((item) => /\d/.test(item));
  return notFound.length < list.length || couldBeNumbers;
}

const LINES = /[\r\n\t,;]+/;

/** Blanks separate the numbers only if nothing else does, because a Marking Number can contain blanks. */
function readList(text: string): string[] {
  const items = (separator: RegExp) => [
    ...new Set(
      text
        .split(separator)
        .map((item) => item.trim())
        .filter(Boolean),
    ),
  ];
  const lines = items(LINES);
  const list = lines.length > 1 ? lines : items(/\s+/u);
  return list.length > 1 ? list : [];
}
