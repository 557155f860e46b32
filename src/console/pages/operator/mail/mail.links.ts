/** The links of a mail's text: those that lead to this very service, and no others, are there to be followed. */

export interface TextPart {
  text: string;
  /** Null: plain text. */
  href: string | null;
}

/** Ends before what closes a sentence or a bracket. */
const URL_PATTERN = /https?:\/\/[^\s<>"]*[^\s<>".,:;!?)\]}'’”]/g;
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** `own`: an address of this service, as the reader's browser knows it. */
export function splitLinks(text: string, ownUrl: string): TextPart[] {
  const parts: TextPart[] = [];
  let position = 0;
  for (const { 0: link, index } of text.matchAll(URL_PATTERN)) {
    if (index > position) parts.push({ text: text.slice(position, index), href: null });
    parts.push({ text: link, href: isSameService(link, ownUrl) ? link : null });
    position = index + link.length;
  }
  if (position < text.length) parts.push({ text: text.slice(position), href: null });
  return parts;
}

/** Somebody else's words stand in mails too, and may lead anywhere. */
function isSameService(link: string, ownUrl: string): boolean {
  if (!URL.canParse(link)) return false;
  const [there, here] = [new URL(link), new URL(ownUrl)];
  if (there.username !== "" || there.password !== "") return false;
  const areBothHere = LOOPBACK_HOSTS.has(there.hostname) && LOOPBACK_HOSTS.has(here.hostname);
  return there.origin === here.origin || (areBothHere && there.port === here.port);
}
