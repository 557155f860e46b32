/** The way of who is signed in to where they were going when they were asked to. */
import { redirect } from "@tanstack/react-router";
import { lacksSecondStep } from "./access.ts";
import { serverUrl } from "./base.ts";
import type { NextSearch } from "./next.ts";
import type { Session } from "./session.ts";

/** The page of the server's own that sends people here. */
const DASHBOARD = "/operator/agenda/";

/** Throws what the router is to follow. */
export function leadOnward(session: Session, search: NextSearch): never {
  if (lacksSecondStep(session)) throw redirect({ to: "/second-step", search, replace: true });
  const { next = "/" } = search;
  if (next.startsWith(DASHBOARD))
    throw redirect({ href: serverUrl(next.slice(1)), reloadDocument: true, replace: true });
  throw redirect({ href: next, replace: true });
}
