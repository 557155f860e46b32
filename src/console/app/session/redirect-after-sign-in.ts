/** The way of who is signed in to where they were going when they were asked to. */
import { redirect } from "@tanstack/react-router";
import { needsTwoFactor } from "./access.ts";
import { AGENDA_DASHBOARD_PATH, serverUrl } from "../api/server-url.ts";
import type { ReturnToSearch } from "./return-to.ts";
import type { Session } from "./session.ts";

/** Throws what the router is to follow. */
export function redirectAfterSignIn(session: Session, search: ReturnToSearch): never {
  if (needsTwoFactor(session)) throw redirect({ to: "/two-factor-required", search, replace: true });
  const { next = "/" } = search;
  // The one page of the server's own that sends people to sign in.
  if (next.startsWith(AGENDA_DASHBOARD_PATH))
    throw redirect({ href: serverUrl(next), reloadDocument: true, replace: true });
  throw redirect({ href: next, replace: true });
}
