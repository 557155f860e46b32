/** The acts that the audit log knows, in words. One that is not here is shown as it is called. */

export const auditActionLabels: Readonly<Record<string, string>> = {
  "account_request.received": "Asked for an account",
  "account_request.answered": "Answered a question",
  "account_request.asked": "Asked for more",
  "account_request.noted": "Noted something",
  "account_request.approved": "Approved a request",
  "account_request.rejected": "Rejected a request",
  "account_request.registration_resent": "Resent a registration",
  "member.registered": "Registered",
  "member.invited": "Invited a member",
  "member.joined": "Joined by an invitation",
  "member.removed": "Removed a member",
  "member.role_changed": "Changed a role",
  "invitation.resent": "Resent an invitation",
  "invitation.revoked": "Took back an invitation",
  "organization.suspended": "Suspended an organisation",
  "organization.restored": "Restored an organisation",
  "session.opened": "Signed in",
  "session.sign_in_failed": "Was refused to sign in",
  "session.reauthenticated": "Confirmed their identity",
  "session.closed": "Signed out",
  "session.ended": "Ended a session",
  "password.forgotten": "Asked for a new password",
  "password.reset": "Reset their password",
  "password.changed": "Changed their password",
  "user.renamed": "Changed their name",
  "two_factor.enabled": "Turned the second factor on",
  "two_factor.disabled": "Turned the second factor off",
  "two_factor.reset": "Reset a second factor",
  "recovery_codes.regenerated": "Made new recovery codes",
  "key.created": "Created an API key",
  "key.rotated": "Rotated an API key",
  "key.revoked": "Revoked an API key",
  "endpoint.created": "Created a webhook endpoint",
  "endpoint.url_changed": "Changed the URL of a webhook endpoint",
  "endpoint.deleted": "Deleted a webhook endpoint",
  "endpoint.secret_rotated": "Rotated a webhook’s secret",
  "endpoint.secret_revealed": "Looked at a webhook’s secret",
  "import.started": "Started an import",
  "import.finished": "Finished an import",
  "import.stopped": "An import stopped halfway",
  "database.restored": "Went on from a backup",
  "secret.accepted": "Went on with another secret",
};

/** What the first part of an action's name is about, for menus. */
const subjectLabels: Readonly<Record<string, string>> = {
  account_request: "Account requests",
  member: "Members",
  invitation: "Members",
  organization: "Organisations",
  session: "Signing in",
  password: "Signing in",
  user: "Signing in",
  two_factor: "Signing in",
  recovery_codes: "Signing in",
  key: "API keys",
  endpoint: "Webhooks",
  import: "Imports",
  database: "The service itself",
  secret: "The service itself",
};

export interface ActionGroup {
  group: string;
  items: { value: string; label: string }[];
}

/** For a menu. */
export function actionGroups(): ActionGroup[] {
  const groups = new Map<string, ActionGroup["items"]>();
  for (const [value, label] of Object.entries(auditActionLabels)) {
    const group = subjectLabels[value.slice(0, value.indexOf("."))] ?? "Others";
    groups.set(group, [...(groups.get(group) ?? []), { value, label }]);
  }
  return Array.from(groups, ([group, items]) => ({ group, items }));
}
