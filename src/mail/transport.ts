/** Sends mails to the configured mail server, or writes them to `.eml` files if there is none. */
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createMailer,
  renderMail,
  type MailOutcome,
  type OutgoingMail,
  type MailAddress,
} from "../core/mail/mailer.ts";
import type { SmtpServer } from "../core/mail/smtp-url.ts";

export type TransportOutcome = MailOutcome | { readonly kind: "stored" };

export interface MailTransport {
  /** Never rejects. */
  deliver(mail: OutgoingMail, signal: AbortSignal): Promise<TransportOutcome>;
  /** Deletes mail files written before `beforeMs`. */
  purgeExpired(beforeMs: number): Promise<void>;
}

export interface MailTransportOptions {
  /** Null: mails are written to files. */
  readonly smtp: SmtpServer | null;
  readonly from: MailAddress;
  /** The folder for the files. */
  readonly directory: string;
}

export function createMailTransport({ smtp, from, directory }: MailTransportOptions): MailTransport {
  const mailer = smtp && createMailer({ server: smtp, from });
  return {
    deliver: (mail, signal) => (mailer ? mailer.send(mail, signal) : storeMail(mail, from, directory)),
    purgeExpired: (beforeMs) => purgeFiles(directory, beforeMs),
  };
}

/** Readable only by the owner of the process, as mails contain sign-in links. */
const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const FILE_SUFFIX = ".eml";

async function storeMail(mail: OutgoingMail, from: MailAddress, folder: string): Promise<TransportOutcome> {
  try {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE });
    const name = `${mail.createdAt.toISOString().replaceAll(":", "-")}-${mail.id}${FILE_SUFFIX}`;
    await writeFile(join(folder, name), await renderMail(mail, from), { mode: FILE_MODE });
    return { kind: "stored" };
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    const reason = `the mail could not be written to a file (${code})`;
    return { kind: "refused", reason, isPermanent: false };
  }
}

async function purgeFiles(folder: string, beforeMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => [] as string[]);
  for (const name of names.filter((each) => each.endsWith(FILE_SUFFIX))) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < beforeMs) await rm(path, { force: true });
  }
}
