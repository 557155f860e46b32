/** Labels for the actions of the audit log. An unknown action is shown by its code. */

export const auditActionLabels: Readonly<Record<string, string>> = {
  "account_request.received": "Requested an account",
  "account_request.answered": "Answered a question",
  "account_request.asked": "Asked a question",
  "account_request.noted": "Added a note",
  "account_request.approved": "Approved a request",
  "account_request.rejected": "Rejected a request",
  "account_request.registration_resent": "Resent a registration link",
  "member.registered": "Registered",
  "member.invited": "Invited a member",
  "member.joined": "Accepted an invitation",
  "member.removed": "Removed a member",
  "member.role_changed": "Changed a role",
  "invitation.resent": "Resent an invitation",
  "invitation.revoked": "Revoked an invitation",
  "organization.suspended": "Suspended an organisation",
  "organization.restored": "Restored an organisation",
  "organization.renamed": "Renamed an organisation",
  "organization.viewed": "Viewed the console as an organisation",
  "organization.import_allowed": "Allowed an organisation to import jobs",
  "organization.import_forbidden": "Forbade an organisation to import jobs",
  "organization.time_zone_changed": "Changed the time zone",
  "test_data.deleted": "Deleted test data",
  "session.opened": "Signed in",
  "session.sign_in_failed": "Failed to sign in",
  "session.reauthenticated": "Confirmed their identity",
  "session.closed": "Signed out",
  "session.ended": "Ended a session",
  "password.forgotten": "Requested a password reset",
  "password.reset": "Reset their password",
  "password.changed": "Changed their password",
  "password.recovered": "Issued a recovery link",
  "sso.connected": "Connected single sign-on",
  "sso.changed": "Changed single sign-on",
  "sso.removed": "Removed single sign-on",
  "notifications.webhook_set": "Set a webhook for notifications",
  "notifications.webhook_removed": "Removed a webhook for notifications",
  "user.renamed": "Changed their name",
  "passkey.added": "Added a passkey",
  "passkey.removed": "Removed a passkey",
  "two_factor.enabled": "Turned on two-factor authentication",
  "two_factor.disabled": "Turned off two-factor authentication",
  "two_factor.reset": "Reset a user’s two-factor authentication",
  "recovery_codes.regenerated": "Generated new recovery codes",
  "key.created": "Created an API key",
  "key.rotated": "Rotated an API key",
  "key.revoked": "Revoked an API key",
  "endpoint.created": "Created a webhook endpoint",
  "endpoint.url_changed": "Changed the URL of a webhook endpoint",
  "endpoint.changed": "Changed the settings of a webhook endpoint",
  "endpoint.paused": "Paused a webhook endpoint",
  "endpoint.resumed": "Resumed a webhook endpoint",
  "endpoint.retried": "Retried the deliveries of a webhook endpoint",
  "endpoint.replayed": "Replayed webhook deliveries",
  "endpoint.deleted": "Deleted a webhook endpoint",
  "endpoint.secret_rotated": "Rotated a webhook secret",
  "endpoint.secret_revealed": "Viewed a webhook secret",
  "import.started": "Started an import",
  "import.finished": "Finished an import",
  "import.stopped": "Import stopped early",
  "database.restored": "Restored the database from a backup",
  "secret.accepted": "Accepted a new secret key",
};

/** Groups of the action menu, by the first part of the action. */
const subjectLabels: Readonly<Record<string, string>> = {
  account_request: "Account requests",
  member: "Members",
  invitation: "Members",
  organization: "Organisations",
  test_data: "Test data",
  session: "Sign-in",
  password: "Sign-in",
  sso: "Sign-in",
  user: "Sign-in",
  passkey: "Sign-in",
  notifications: "Notifications",
  two_factor: "Sign-in",
  recovery_codes: "Sign-in",
  key: "API keys",
  endpoint: "Webhooks",
  import: "Imports",
  database: "Service",
  secret: "Service",
};

export interface ActionGroup {
  group: string;
  items: { value: string; label: string }[];
}

/** The options of the action filter, by group. */
export function actionGroups(): ActionGroup[] {
  const groups = new Map<string, ActionGroup["items"]>();
  for (const [value, label] of Object.entries(auditActionLabels)) {
    const group = subjectLabels[value.slice(0, value.indexOf("."))] ?? "Other";
    groups.set(group, [...(groups.get(group) ?? []), { value, label }]);
  }
  return Array.from(groups, ([group, items]) => ({ group, items }));
}
