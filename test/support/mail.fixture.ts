/** The mail service on a new database, with workers that send mails to a test SMTP server or a folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Registry } from "prom-client";
import { beforeEach } from "vitest";
import { entities } from "../../src/app/entities.ts";
import { MailService, type MailView } from "../../src/mail/service.ts";
import { createMailTransport } from "../../src/mail/transport.ts";
import { composeMail, type NewMail } from "../../src/mail/template.ts";
import { MailWorker } from "../../src/mail/worker.ts";
import { openDatabase } from "../../src/core/postgres/database.ts";
import { createLogger } from "../../src/core/logger.ts";
import { raw } from "../../src/core/postgres/sql.ts";
import { parseSmtpUrl } from "../../src/core/mail.ts";
import { startTestSmtpServer, type TestSmtpServer } from "./smtp-server.ts";
import { testSecretBox } from "./test-secret.ts";
import { createTestDatabase } from "./database/test-database.ts";
import { useFixture } from "./use-fixture.ts";

/** The token in the link of each mail. */
export const LINK_TOKEN = "c2VjcmV0LW9mLWEtbGluaw";
export const SENDER = { name: "Wäymark", address: "no-reply@waymark.example" };

export type MailFixture = Awaited<ReturnType<typeof openMailFixture>>;

export interface MailFixtureWithServer extends MailFixture {
  /** New for each test. */
  server: TestSmtpServer;
  /** Starts a worker that sends to `server`. */
  startSmtpWorker(): MailWorker;
}

/** Opens a fixture for the tests of a file. Before each test it deletes all mails and starts an SMTP server. */
export function useMailFixture(): MailFixtureWithServer {
  const fixture = useFixture(openMailFixture) as MailFixtureWithServer;
  fixture.startSmtpWorker = () => fixture.startWorker(`smtp://localhost:${fixture.server.port}`);
  beforeEach(async () => {
    await fixture.clear();
    fixture.server = await startTestSmtpServer();
    return () => fixture.server[Symbol.asyncDispose]();
  });
  return fixture;
}

export function newMailTo(to: string, subject = "Welcome"): NewMail {
  const url = `https://waymark.example/register#token=${LINK_TOKEN}`;
  return composeMail(to, "registration", {
    title: subject,
    paragraphs: ["Hello."],
    action: { label: "Register", url },
  });
}

export async function openMailFixture() {
  const testDatabase = await createTestDatabase();
  const database = await openDatabase({ url: testDatabase.url, poolSize: 6, entities });
  const mails = new MailService({ database, secretBox: testSecretBox, isSmtpConfigured: true });
  const directory = await mkdtemp(join(tmpdir(), "waymark-mails-"));
  const log: string[] = [];
  const logger = createLogger("debug", { write: (line) => void log.push(line) });
  let registry = new Registry();
  const outbox = async (): Promise<MailView[]> =>
    (await mails.list(database, { limit: 100, after: null })).items;
  return {
    database,
    mails,
    folder: directory,
    log,
    /** `url` is the SMTP server's. With null, mails are saved to `folder`. */
    startWorker(url: string | null): MailWorker {
      const smtp = url === null ? null : parseSmtpUrl(url);
      const transport = createMailTransport({ smtp, from: SENDER, directory });
      registry = new Registry();
      return new MailWorker({
        database,
        databaseUrl: testDatabase.url,
        secretBox: testSecretBox,
        transport,
        logger,
        registry,
      });
    },
    /** Attempts by outcome, of the last started worker. */
    async attempts(): Promise<Record<string, number>> {
      const values = (await registry.getSingleMetric("waymark_mail_attempts_total")?.get())?.values ?? [];
      return Object.fromEntries(values.map(({ labels, value }) => [String(labels["outcome"]), value]));
    },
    outbox,
    onlyMail: async () => (await outbox())[0] as MailView,
    async makeDue() {
      await database.query(raw("update mail set due_at = now() where status = 'pending'"));
    },
    /** Returns all rows of the mail table as text. */
    async dump() {
      const rows = await database.query<{ row: string }>(raw("select mail::text as row from mail"));
      return rows.map(({ row }) => row).join("\n");
    },
    async clear() {
      log.length = 0;
      await database.query(raw("delete from mail"));
    },
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await testDatabase[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}
