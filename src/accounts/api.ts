/** The exports of this feature: other features and the adapters import only from here. */
export { accountEmail, parseOrThrow, userNameField } from "./account.fields.ts";
export { type AccountService, createAccountService } from "./account.service.ts";
export type { ClientInfo } from "./auth/client-info.ts";
export type { SignInResult } from "./auth/sign-in.service.ts";
export { EmailToken } from "./email-token.entity.ts";
export { createEmailTokenService } from "./email-token.service.ts";
export { Invitation, type InvitedRole } from "./invitations/entity.ts";
export { inviteOperator } from "./invitations/operator-invitation.ts";
export type { InvitationService, InvitationView } from "./invitations/service.ts";
export { countMembersByOrganization } from "./members/counts.ts";
export type { RegistrationService } from "./members/registration.service.ts";
export type { MemberService, MemberView } from "./members/service.ts";
export { createMembershipServices, type MembershipServices } from "./membership.services.ts";
export { createPasswordHasher } from "./passwords/hasher.ts";
export type { PasswordService } from "./passwords/service.ts";
export { AccountRequest, AccountRequestNote, type AccountRequestStatus } from "./requests/entity.ts";
export {
  accountRequestCursor,
  accountRequestNotes,
  type AccountRequestNoteView,
  accountRequestsByIds,
  type AccountRequestView,
  accountRequestWarnings,
  countAccountRequests,
  listAccountRequests,
  readAccountRequestCursor,
} from "./requests/queries.ts";
export type { ReviewService } from "./requests/review.service.ts";
export type { AccountRequestService } from "./requests/service.ts";
export { SavedView } from "./saved-view.entity.ts";
export { createSavedViewService, type SavedViewDto, type SavedViewService } from "./saved-view.service.ts";
export { UserSession, UserVerification } from "./sessions/entity.ts";
export type { OperatorSessionPrincipal, SessionPrincipal } from "./sessions/principal.ts";
export { purgeSessions, revokeAllSessions, type SessionView } from "./sessions/service.ts";
export type { SessionVerifier } from "./sessions/verifier.ts";
export { createSuspensionService, type SuspensionService } from "./suspension.service.ts";
export { twoFactorCodeKinds } from "./two-factor/codes.ts";
export { resetTwoFactor } from "./two-factor/reset.ts";
export { canDecryptLatestSecret, usersWithUnreadableSecret } from "./two-factor/secret-check.ts";
export { UserCredential, UserTwoFactor } from "./credential.entity.ts";
export { createUserService, type UserService } from "./user.service.ts";
