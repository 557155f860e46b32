/** Finds the links in an e-mail's text. Only links to this service become clickable. */

export interface TextPart {
  text: string;
  /** Null for plain text. */
  href: string | null;
}

/** Excludes punctuation and closing brackets at the end of a URL. */
const URL_PATTERN = /https?:\/\/[^\s<>"]*[^\s<>".,:;!?)\]}'’”]/g;
const LOOPBACK_HOSTS = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** `ownUrl`: the URL of this service in the user's browser. */
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

/** E-mails quote text from other users, whose links may lead anywhere. */
function isSameService(link: string, ownUrl: string): boolean {
  if (!URL.canParse(link)) return false;
  const [there, here] = [new URL(link), new URL(ownUrl)];
  if (there.username !== "" || there.password !== "") return false;
  const areBothHere = LOOPBACK_HOSTS.has(there.hostname) && LOOPBACK_HOSTS.has(here.hostname);
  return there.origin === here.origin || (areBothHere && there.port === here.port);
}
