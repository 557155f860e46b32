/** The exports of this feature: other features and the adapters import only from here. */
export { type AccessChange, createAccessChangeRecorder, type RecordAccessChange } from "./access-notices.ts";
export { Mail } from "./mail.entity.ts";
export { latestSealedBody } from "./mail.queue.sql.ts";
export { mailCursor, MailService, type MailView } from "./mail.service.ts";
export { composeMail, type NewMail, redactLinks } from "./mail.template.ts";
export { createMailTransport } from "./mail.transport.ts";
export { MailWorker } from "./mail.worker.ts";
