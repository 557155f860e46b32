/** PostgreSQL's channel on which dispatchers hear that there is something to deliver. */
export const DELIVERIES_CHANNEL = "waymark_deliveries";
