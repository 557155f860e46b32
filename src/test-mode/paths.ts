/** The named paths that a test job can take, as the statuses that it gets in order. */
export const paths = {
  delivered: ["assigned", "picked_up", "in_transit", "out_for_delivery", "arrived", "completed"],
  failed_then_delivered: [
    "assigned",
    "picked_up",
    "in_transit",
    "out_for_delivery",
    "failed",
    "out_for_delivery",
    "arrived",
    "completed",
  ],
  returned: ["assigned", "picked_up", "in_transit", "out_for_delivery", "failed", "returning", "returned"],
  on_hold: ["at_warehouse", "on_hold", "scheduled", "assigned"],
  cancelled: ["scheduled", "cancelled"],
} as const;

export type PathName = keyof typeof paths;
export const pathNames = Object.keys(paths) as PathName[];

const reasons: Readonly<Record<string, string>> = {
  failed: "recipient_unavailable",
  on_hold: "awaiting_instructions",
};

/** Returns the PATCH of a step to `status`. As with a partner's PATCH of a status, an older reason stays. */
export function changeTo(status: string): { normalized_status: string; failure_reason?: string } {
  const reason = reasons[status];
  return { normalized_status: status, ...(reason !== undefined && { failure_reason: reason }) };
}
