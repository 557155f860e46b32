/** How people come to an organisation and go: requests and their review, links that are followed, invitations, members. */
import type { KeepAccessAct } from "./access-notices.service.ts";
import type { MailService } from "../mail/mail.service.ts";
import type { Afterwards } from "../platform/afterwards.ts";
import type { Clock } from "../platform/clock.ts";
import type { Database } from "../platform/database.ts";
import { createInvitationService, type InvitationService } from "./invitation.service.ts";
import type { LinkService } from "./link.service.ts";
import { createMemberService, type MemberService } from "./member.service.ts";
import { createRegistrationService, type RegistrationService } from "./registration.service.ts";
import { createAccountRequestService, type AccountRequestService } from "./request.service.ts";
import { createReviewService, type ReviewService } from "./review.service.ts";
import { createSuspensionService, type SuspensionService } from "./suspension.service.ts";
import type { Throttle } from "./throttle.ts";
import type { UserService } from "./user.service.ts";

export interface PeopleServices {
  readonly accountRequests: AccountRequestService;
  readonly reviews: ReviewService;
  readonly registrations: RegistrationService;
  readonly invitations: InvitationService;
  readonly members: MemberService;
  readonly suspensions: SuspensionService;
}

export interface PeopleParts {
  database: Database;
  clock: Clock;
  links: LinkService;
  mails: Pick<MailService, "enqueue">;
  users: Pick<UserService, "hashPassword" | "insertUser">;
  throttle: Throttle;
  afterwards: Afterwards;
  /** Absent: keys that are revoked with a member are not recorded. */
  keepAct?: KeepAccessAct | undefined;
  /** Tells workers that there may be something to deliver. */
  announce: () => void;
  /** An address of the console, such as `https://api.example.com/sign-in`. */
  pageUrl: (path: string) => string;
}

export function createPeopleServices(parts: PeopleParts): PeopleServices {
  return {
    accountRequests: createAccountRequestService(parts),
    reviews: createReviewService(parts),
    registrations: createRegistrationService(parts),
    invitations: createInvitationService(parts),
    members: createMemberService(parts),
    suspensions: createSuspensionService(parts),
  };
}
