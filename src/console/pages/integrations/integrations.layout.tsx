/** The tabs of the Integrations section. */
import { Link, Outlet } from "@tanstack/react-router";
import { integrationsFor } from "../../app/layout/navigation.ts";
import { useSession } from "../../app/session/session.ts";
import classes from "./integrations.layout.module.css";

export function IntegrationsLayout() {
  const session = useSession();
  return (
    <>
      <nav aria-label="Integrations" className={classes.root}>
        {integrationsFor(session).map(({ label, to }) => (
          <Link key={to} to={to} className={classes.tab} activeOptions={{ includeSearch: false }}>
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
}
