/** The body of a mail at rest: sealed, since whoever reads its links could follow them. */
import type { SecretBox } from "../platform/secret-box.ts";

export interface MailBody {
  readonly text: string;
  readonly html: string;
}

/** `id`: the mail's uuid, to which the body is bound. */
export function sealBody(secretBox: Pick<SecretBox, "seal">, id: string, { text, html }: MailBody): string {
  return secretBox.seal(JSON.stringify({ text, html }), mailSealContext(id));
}

/** Throws where it was sealed with another WAYMARK_SECRET, or for another mail. */
export function openBody(secretBox: Pick<SecretBox, "open">, id: string, sealed: string): MailBody {
  return JSON.parse(secretBox.open(sealed, mailSealContext(id))) as MailBody;
}

/** What the body of a mail is sealed for. */
export function mailSealContext(id: string): string {
  return `mail ${id}`;
}
