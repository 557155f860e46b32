/** Says that the network is gone, as long as it is. */
import { IconCloudOff } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import classes from "./offline-banner.module.css";

function watchNetwork(watcher: () => void): () => void {
  window.addEventListener("online", watcher);
  window.addEventListener("offline", watcher);
  return () => {
    window.removeEventListener("online", watcher);
    window.removeEventListener("offline", watcher);
  };
}

export function OfflineBanner() {
  const isOnline = useSyncExternalStore(watchNetwork, () => navigator.onLine);
  return (
    <div role="status">
      {!isOnline && (
        <p className={classes.banner}>
          <IconCloudOff size={18} aria-hidden="true" />
          You are offline. What you see may be out of date, and nothing can be changed.
        </p>
      )}
    </div>
  );
}
