/** The exports of this feature: other features and the adapters import only from here. */
export { type AccessChange, createAccessChangeRecorder, type RecordAccessChange } from "./access-notices.ts";
export { Mail } from "./mail.entity.ts";
export { latestSealedBody } from "./mail.secret-check.ts";
export {
  createMailService,
  mailCursor,
  type MailService,
  type MailView,
  type NewMail,
  readMailCursor,
} from "./mail.service.ts";
export { composeMail, type MailContent, redactLinks } from "./mail.template.ts";
export { createMailTransport } from "./mail.transport.ts";
export { startMailWorker } from "./mail.worker.ts";
