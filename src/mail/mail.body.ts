/** The body of a mail at rest: sealed, since whoever reads its links could follow them. */
import type { SecretBox } from "../platform/secret-box.ts";

export interface MailBody {
  readonly text: string;
  readonly html: string;
}

/** `id`: the mail's uuid, to which the body is bound. */
export function sealBody(box: Pick<SecretBox, "seal">, id: string, { text, html }: MailBody): string {
  return box.seal(JSON.stringify({ text, html }), contextOf(id));
}

/** Throws where it was sealed with another WAYMARK_SECRET, or for another mail. */
export function openBody(box: Pick<SecretBox, "open">, id: string, sealed: string): MailBody {
  return JSON.parse(box.open(sealed, contextOf(id))) as MailBody;
}

/** What the body of a mail is sealed for. */
export function contextOf(id: string): string {
  return `mail ${id}`;
}
