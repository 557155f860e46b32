import { api } from "./api.ts";
import { serverUrl } from "./base.ts";

/** Ends the session. The page is loaded anew, so that nothing of it stays in memory and no socket stays open. */
export async function signOut(): Promise<void> {
  await api.anonymous.post("auth/sign-out").catch(() => undefined);
  window.location.assign(serverUrl("sign-in"));
}
