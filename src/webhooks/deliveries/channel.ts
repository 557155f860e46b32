/** PostgreSQL channel that wakes the dispatchers. */
export const DELIVERIES_CHANNEL = "waymark_deliveries";
