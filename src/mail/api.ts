/** The exports of this feature: other features and the adapters import only from here. */
export { type AccessChange, createAccessChangeRecorder, type RecordAccessChange } from "./access-notices.ts";
export { Mail } from "./entity.ts";
export { mailCursor, MailService, type MailView } from "./service.ts";
export { composeMail, type MailContent, type NewMail, redactLinks } from "./template.ts";
export { createMailTransport } from "./transport.ts";
export { MailWorker } from "./worker.ts";
