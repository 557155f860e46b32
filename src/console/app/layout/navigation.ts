/** The entries of the side bar for each role. */
import {
  IconBell,
  IconBuildingCommunity,
  IconChartBar,
  IconClockCog,
  IconFileImport,
  IconFileText,
  IconGauge,
  IconInbox,
  IconKey,
  IconListCheck,
  IconMail,
  IconPackage,
  IconPlugConnected,
  IconSend,
  IconShieldLock,
  IconTestPipe,
  IconUrgent,
  IconUsers,
  IconWebhook,
  IconClipboardList,
  type Icon,
} from "@tabler/icons-react";
import type { LinkProps } from "@tanstack/react-router";
import { canVisit, type Access } from "../session/access.ts";
import type { Mode } from "../session/mode.ts";
import type { Session } from "../session/session.ts";

export interface NavEntry {
  label: string;
  icon: Icon;
  /** A page of the console. */
  to: NonNullable<LinkProps["to"]>;
  access: Access;
  /** Highlighted only on this path, not on paths below it. */
  exact?: boolean;
  /** Hidden in the other mode. */
  onlyIn?: Mode;
}

export interface NavGroup {
  /** Null for a group without a heading. */
  title: string | null;
  entries: readonly NavEntry[];
}

const dashboard: NavEntry = { label: "Dashboard", icon: IconGauge, to: "/", access: "anyone", exact: true };
const jobs: NavEntry = { label: "Jobs", icon: IconPackage, to: "/jobs", access: "anyone" };
const members: NavEntry = {
  label: "Members",
  icon: IconUsers,
  to: "/members",
  access: "anyone",
  onlyIn: "live",
};
const security: NavEntry = {
  label: "Security",
  icon: IconShieldLock,
  to: "/security",
  access: "anyone",
  onlyIn: "live",
};

const integrations: NavEntry = {
  label: "Integrations",
  icon: IconPlugConnected,
  to: "/integrations",
  access: "integrations",
};

/** The pages of the section Integrations. */
const integrationPages: readonly NavEntry[] = [
  { label: "API keys", icon: IconKey, to: "/integrations/keys", access: "integrations" },
  { label: "Endpoints", icon: IconWebhook, to: "/integrations/endpoints", access: "integrations" },
  { label: "Deliveries", icon: IconSend, to: "/integrations/deliveries", access: "integrations" },
  { label: "Request log", icon: IconFileText, to: "/integrations/requests", access: "integrations" },
  { label: "Usage", icon: IconChartBar, to: "/integrations/usage", access: "usage" },
];

const importJobs: NavEntry = {
  label: "Import",
  icon: IconFileImport,
  to: "/import",
  access: "import",
  onlyIn: "live",
};

const organizationNavigation: readonly NavGroup[] = [
  {
    title: null,
    entries: [
      dashboard,
      jobs,
      importJobs,
      integrations,
      { label: "Simulator", icon: IconTestPipe, to: "/simulator", access: "simulator", onlyIn: "test" },
    ],
  },
  {
    title: "Account",
    entries: [
      members,
      { label: "Audit log", icon: IconClipboardList, to: "/audit", access: "members", onlyIn: "live" },
      security,
      {
        label: "Notifications",
        icon: IconBell,
        to: "/notifications",
        access: "organization",
        onlyIn: "live",
      },
    ],
  },
];

const operatorNavigation: readonly NavGroup[] = [
  { title: null, entries: [dashboard, jobs] },
  {
    title: "Partners",
    entries: [
      { label: "Requests", icon: IconInbox, to: "/operator/requests", access: "operator" },
      {
        label: "Organisations",
        icon: IconBuildingCommunity,
        to: "/operator/organizations",
        access: "operator",
      },
      integrations,
      { label: "Failing endpoints", icon: IconUrgent, to: "/operator/endpoints", access: "operator" },
    ],
  },
  {
    title: "Service",
    entries: [
      importJobs,
      { label: "Statuses", icon: IconListCheck, to: "/operator/statuses", access: "operator" },
      { label: "Mail", icon: IconMail, to: "/operator/mail", access: "operator" },
      { label: "Audit log", icon: IconClipboardList, to: "/operator/audit", access: "operator" },
      { label: "Tasks", icon: IconClockCog, to: "/operator/tasks", access: "operator" },
    ],
  },
  { title: "Account", entries: [{ ...members, label: "Operators" }, security] },
];

export function integrationsFor(session: Session): readonly NavEntry[] {
  return integrationPages.filter(({ access }) => canVisit(session, access));
}

export function navigationFor(session: Session, mode: Mode): readonly NavGroup[] {
  const groups = session.user.role === "operator" ? operatorNavigation : organizationNavigation;
  const isShown = ({ access, onlyIn = mode }: NavEntry): boolean =>
    canVisit(session, access) && onlyIn === mode;
  return groups
    .map(({ title, entries }) => ({ title, entries: entries.filter(isShown) }))
    .filter(({ entries }) => entries.length > 0);
}
