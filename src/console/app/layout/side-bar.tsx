/** The logo, the navigation and the current user. */
import { ActionIcon, Avatar, Stack, Text } from "@mantine/core";
import { IconLogout } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Brand } from "../../components/layout/brand.tsx";
import { ColorSchemeSwitch } from "../../components/layout/color-scheme-switch.tsx";
import { SideBarLink } from "../../components/layout/links.tsx";
import { ModeSwitch } from "./mode-switch.tsx";
import { navigationFor, type NavGroup } from "./navigation.ts";
import { useMode, type Session } from "../session/session.ts";
import classes from "./side-bar.module.css";
import { useSignOut } from "../session/use-sign-out.ts";

interface SideBarProps {
  session: Session;
  /** The button of the palette. */
  search?: ReactNode;
  /** The help menu. On a phone both are in the header, because they would open below the drawer. */
  help?: ReactNode;
}

export function SideBar({ session, search, help }: SideBarProps) {
  const mode = useMode();
  return (
    <div className={classes.root}>
      <Link to="/" className={classes.brand} aria-label="Waymark dashboard">
        <Brand />
      </Link>
      {session.organization && mode !== "partner" && <ModeSwitch />}
      {search}
      <nav aria-label="Main" className={classes.nav}>
        {navigationFor(session, mode).map((group) => (
          <NavSection key={group.title ?? ""} group={group} />
        ))}
      </nav>
      <Stack gap="sm" className={classes.foot}>
        <div className={classes.tools}>
          <ColorSchemeSwitch />
          {help}
        </div>
        <CurrentUser session={session} />
      </Stack>
    </div>
  );
}

function NavSection({ group: { title, entries } }: { group: NavGroup }) {
  return (
    <div className={classes.section}>
      {title !== null && <p className={classes.title}>{title}</p>}
      <ul className={classes.list}>
        {entries.map(({ label, icon: Picture, to, exact = false }) => (
          <li key={to}>
            <SideBarLink
              to={to}
              label={label}
              activeOptions={{ exact, includeSearch: false }}
              leftSection={<Picture size={18} stroke={1.7} aria-hidden="true" />}
              classNames={{ root: classes.link ?? "" }}
            />
          </li>
        ))}
      </ul>
    </div>
  );
}

function CurrentUser({ session: { user, organization } }: { session: Session }) {
  const signOut = useSignOut();
  return (
    <div className={classes.user}>
      <Avatar name={user.name} color="spruce" size={34} radius="md" aria-hidden="true" />
      <span className={classes.who} title={user.email}>
        <Text component="span" fz="sm" fw={600} truncate>
          {user.name}
        </Text>
        <Text component="span" fz="xs" c="dimmed" truncate>
          {organization?.name ?? "Operator"}
        </Text>
      </span>
      <ActionIcon aria-label="Sign out" title="Sign out" onClick={() => void signOut()}>
        <IconLogout size={18} stroke={1.7} aria-hidden="true" />
      </ActionIcon>
    </div>
  );
}
