/** The links of a mail's text: those that lead to this very service, and no others, are there to be followed. */

export interface TextPart {
  text: string;
  /** Null: plain text. */
  href: string | null;
}

/** Ends before what closes a sentence or a bracket. */
const LINK = /https?:\/\/[^\s<>"]*[^\s<>".,:;!?)\]}'’”]/g;
const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** `own`: an address of this service, as the reader's browser knows it. */
export function linkParts(text: string, own: string): TextPart[] {
  const parts: TextPart[] = [];
  let at = 0;
  for (const { 0: link, index } of text.matchAll(LINK)) {
    if (index > at) parts.push({ text: text.slice(at, index), href: null });
    parts.push({ text: link, href: isOwn(link, own) ? link : null });
    at = index + link.length;
  }
  if (at < text.length) parts.push({ text: text.slice(at), href: null });
  return parts;
}

/** Somebody else's words stand in mails too, and may lead anywhere. */
function isOwn(link: string, own: string): boolean {
  if (!URL.canParse(link)) return false;
  const [there, here] = [new URL(link), new URL(own)];
  if (there.username !== "" || there.password !== "") return false;
  const areBothHere = LOOPBACK.has(there.hostname) && LOOPBACK.has(here.hostname);
  return there.origin === here.origin || (areBothHere && there.port === here.port);
}
