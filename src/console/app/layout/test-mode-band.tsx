/** A band at the top of each page, and a frame around the window, in test mode. */
import { IconTestPipe } from "@tabler/icons-react";
import { GuideLink } from "../../components/layout/guide-link.tsx";
import { guide } from "../guide/guide-pages.ts";
import { useMode } from "../session/session.ts";
import classes from "./test-mode-band.module.css";

export function TestModeBand() {
  const mode = useMode();
  return (
    <div role="status">
      {mode === "test" && (
        <div className={classes.band}>
          <IconTestPipe size={18} stroke={1.7} aria-hidden="true" />
          <span>Test mode: nothing here is live</span>
          <GuideLink page={guide.testMode} c="inherit" />
        </div>
      )}
    </div>
  );
}
