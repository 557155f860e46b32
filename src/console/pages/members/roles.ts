import type { MemberRole } from "../../generated/members.ts";

export const roleLabels: Readonly<Record<MemberRole, string>> = {
  OWNER: "Owner",
  MEMBER: "Member",
  OPERATOR: "Operator",
};
