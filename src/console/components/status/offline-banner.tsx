/** A banner that is shown while the browser is offline. */
import { IconCloudOff } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import classes from "./offline-banner.module.css";

function subscribeToNetwork(listener: () => void): () => void {
  window.addEventListener("online", listener);
  window.addEventListener("offline", listener);
  return () => {
    window.removeEventListener("online", listener);
    window.removeEventListener("offline", listener);
  };
}

export function OfflineBanner() {
  const isOnline = useSyncExternalStore(subscribeToNetwork, () => navigator.onLine);
  return (
    <div role="status">
      {!isOnline && (
        <p className={classes.banner}>
          <IconCloudOff size={18} aria-hidden="true" />
          You are offline. This page may be out of date, and changes can’t be saved.
        </p>
      )}
    </div>
  );
}
