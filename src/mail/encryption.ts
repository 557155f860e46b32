/** Encrypts mail bodies in the database, as they contain sign-in links. */
import type { SecretBox } from "../core/secret-box.ts";
import type { NewMail } from "./template.ts";

type MailBody = Pick<NewMail, "text" | "html">;

/** `id`: the mail's uuid. The ciphertext can be opened only with the same id. */
export function sealBody(box: Pick<SecretBox, "seal">, id: string, { text, html }: MailBody): string {
  return box.seal(JSON.stringify({ text, html }), mailSealContext(id));
}

/** Throws if the body was sealed with another WAYMARK_SECRET or for another mail. */
export function openBody(box: Pick<SecretBox, "open">, id: string, sealed: string): MailBody {
  return JSON.parse(box.open(sealed, mailSealContext(id))) as MailBody;
}

/** The additional authenticated data of a mail's body. */
export function mailSealContext(id: string): string {
  return `mail ${id}`;
}
