/** The tabs of the Integrations section. */
import { Link, Outlet } from "@tanstack/react-router";
import { canVisit } from "../../app/session/access.ts";
import { useSession } from "../../app/session/session.ts";
import classes from "./integrations.layout.module.css";

const tabs = [
  { label: "API keys", to: "/integrations/keys" },
  { label: "Endpoints", to: "/integrations/endpoints" },
  { label: "Deliveries", to: "/integrations/deliveries" },
  { label: "Request log", to: "/integrations/requests" },
  { label: "Usage", to: "/integrations/usage" },
] as const;

export function IntegrationsLayout() {
  const session = useSession();
  const shown = canVisit(session, "usage") ? tabs : tabs.filter(({ to }) => to !== "/integrations/usage");
  return (
    <>
      <nav aria-label="Integrations" className={classes.root}>
        {shown.map(({ label, to }) => (
          <Link key={to} to={to} className={classes.tab} activeOptions={{ includeSearch: false }}>
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
}
