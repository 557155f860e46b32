/** The way of who is signed in to where they were going when they were asked to. */
import { redirect } from "@tanstack/react-router";
import { lacksSecondStep } from "./access.ts";
import { DASHBOARD, serverUrl } from "./base.ts";
import type { NextSearch } from "./next.ts";
import type { Session } from "./session.ts";

/** Throws what the router is to follow. */
export function leadOnward(session: Session, search: NextSearch): never {
  if (lacksSecondStep(session)) throw redirect({ to: "/second-step", search, replace: true });
  const { next = "/" } = search;
  // The one page of the server's own that sends people to sign in.
  if (next.startsWith(DASHBOARD))
    throw redirect({ href: serverUrl(next), reloadDocument: true, replace: true });
  throw redirect({ href: next, replace: true });
}
