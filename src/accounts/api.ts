/** The exports of this feature: other features and the adapters import only from here. */
export { accountEmail, parseOrThrow, userNameField } from "./fields.ts";
export type { ClientInfo } from "./auth/auth-request.ts";
export { TWO_FACTOR_COOKIE } from "./auth/cookies.ts";
export { usersWithUnreadableSecret } from "./auth/secret.ts";
export { UserCredential, UserTwoFactor } from "./credential.entity.ts";
export { EmailToken } from "./email-token.service.ts";
export { Invitation } from "./invitations/entity.ts";
export { inviteOperator, MAX_PENDING_INVITATIONS } from "./invitations/service.ts";
export { countMembersByOrganization } from "./members/service.ts";
export { OrganizationChanges } from "./organization-changes.service.ts";
export { UserPasskey } from "./passkeys/entity.ts";
export { createPasswordHasher } from "./passwords/hasher.ts";
export type { PasswordService } from "./passwords/service.ts";
export { purgeAccountData } from "./purge.ts";
export { issueRecoveryLink, resetTwoFactor } from "./recovery.ts";
export { AccountRequest, AccountRequestNote } from "./requests/entity.ts";
export {
  accountRequestCursor,
  accountRequestNotes,
  accountRequestsByIds,
  countAccountRequests,
  listAccountRequests,
} from "./requests/queries.ts";
export { accountRequestWarnings } from "./requests/warnings.sql.ts";
export { SavedView, SavedViewService } from "./saved-view.service.ts";
export { type AccountServices, type MembershipServices, openAccounts } from "./services.ts";
export { UserSession, UserVerification } from "./sessions/entity.ts";
export {
  parseSessionMode,
  scopesOf,
  SESSION_MODE_HEADER,
  type SessionMode,
  type SessionPrincipal,
} from "./sessions/session-principal.ts";
export type { SessionVerifier } from "./sessions/verifier.ts";
export { SsoConnection } from "./sso/service.ts";
export { revokeAllSessions, UserService } from "./user.service.ts";
