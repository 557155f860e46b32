/** The frame of pages without a session, and of the page that enforces two-factor authentication. */
import { Outlet } from "@tanstack/react-router";
import { Brand } from "../../components/layout/brand.tsx";
import { ColorSchemeSwitch } from "../../components/layout/color-scheme-switch.tsx";
import { OfflineBanner } from "../../components/status/offline-banner.tsx";
import { GuideLink } from "../../components/layout/guide-link.tsx";
import { useScreenGuide } from "../guide/screen-guide.ts";
import classes from "./account-layout.module.css";

export function AccountLayout() {
  const { about } = useScreenGuide();
  return (
    <div className={classes.root}>
      <OfflineBanner />
      <main tabIndex={-1} className={classes.main}>
        <div className={classes.brand}>
          <Brand size={36} />
        </div>
        <div className={classes.card}>
          <Outlet />
        </div>
      </main>
      <footer className={classes.foot}>
        <GuideLink page={about} />
        <ColorSchemeSwitch />
      </footer>
    </div>
  );
}
