/** Composes the services for membership: account requests, reviews, registrations, invitations, members, suspensions. */
import type { MailService, RecordAccessChange } from "../mail/api.ts";
import type { BackgroundQueue } from "../platform/concurrency/background-queue.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/postgres/database.ts";
import { createInvitationService, type InvitationService } from "./invitations/service.ts";
import type { EmailTokenService } from "./email-token.service.ts";
import { createMemberService, type MemberService } from "./members/service.ts";
import { createRegistrationService, type RegistrationService } from "./members/registration.service.ts";
import { createAccountRequestService, type AccountRequestService } from "./requests/service.ts";
import { createReviewService, type ReviewService } from "./requests/review.service.ts";
import { createSuspensionService, type SuspensionService } from "./suspension.service.ts";
import type { Throttle } from "./auth/throttle.ts";
import type { UserService } from "./user.service.ts";

export interface MembershipServices {
  readonly accountRequests: AccountRequestService;
  readonly reviews: ReviewService;
  readonly registrations: RegistrationService;
  readonly invitations: InvitationService;
  readonly members: MemberService;
  readonly suspensions: SuspensionService;
}

export interface MembershipDeps {
  database: Database;
  clock: Clock;
  emailTokens: EmailTokenService;
  mails: Pick<MailService, "enqueue">;
  users: Pick<UserService, "hashPassword" | "insertUser">;
  throttle: Throttle;
  backgroundQueue: BackgroundQueue;
  /** Absent: keys revoked with a member get no audit entry and no mail. */
  recordAccessChange?: RecordAccessChange | undefined;
  /** Wakes the delivery workers. */
  notifyWorkers: () => void;
  /** Returns the URL of a console page, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

export function createMembershipServices(deps: MembershipDeps): MembershipServices {
  return {
    accountRequests: createAccountRequestService(deps),
    reviews: createReviewService(deps),
    registrations: createRegistrationService(deps),
    invitations: createInvitationService(deps),
    members: createMemberService(deps),
    suspensions: createSuspensionService(deps),
  };
}
