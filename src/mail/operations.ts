/** The operations of the mail outbox. */
import { z } from "zod";
import { administrator, type Operation, operation } from "../operations/operation.ts";
import type { MailService } from "./service.ts";

interface Services {
  readonly mails: MailService;
}

const resendMail = operation({
  name: "resendMail",
  access: administrator,
  fresh: false,
  params: z.object({ id: z.string() }),
  run: ({ mails }: Services, operator, { id }) => mails.resend(operator, id),
});

/** The access of the root fields of GraphQL with hand-written resolvers. */
export const mailAccess = { mailOutbox: administrator };

export const mailOperations: readonly Operation<Services>[] = [resendMail];
