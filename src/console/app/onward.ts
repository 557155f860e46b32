/** The way to where somebody was going when they were asked to sign in. */
import { redirect } from "@tanstack/react-router";
import { serverUrl } from "./base.ts";
import type { NextSearch } from "./next.ts";

/** The page of the server's own that sends people here. */
const DASHBOARD = "/operator/agenda/";

export function onward({ next = "/" }: NextSearch) {
  return next.startsWith(DASHBOARD)
    ? redirect({ href: serverUrl(next.slice(1)), reloadDocument: true, replace: true })
    : redirect({ href: next, replace: true });
}
