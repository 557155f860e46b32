/** Redirects a user who has signed in to the page that they wanted to open. */
import { redirect } from "@tanstack/react-router";
import { needsTwoFactor } from "./access.ts";
import { AGENDA_DASHBOARD_PATH, serverUrl } from "../api/server-url.ts";
import type { ReturnToSearch } from "./return-to.ts";
import type { Session } from "./session.ts";

/** Throws the router's redirect. */
export function redirectAfterSignIn(session: Session, search: ReturnToSearch): never {
  if (needsTwoFactor(session)) throw redirect({ to: "/two-factor-required", search, replace: true });
  const { next = "/" } = search;
  // Agenda's dashboard is rendered by the server, not by the router.
  if (next.startsWith(AGENDA_DASHBOARD_PATH))
    throw redirect({ href: serverUrl(next), reloadDocument: true, replace: true });
  throw redirect({ href: next, replace: true });
}
