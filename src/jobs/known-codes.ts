/**
 * The codes of a new installation, as the first migration inserts them. The OpenAPI document names them, so that editors complete
 * them. The operator can add statuses, and any text is a failure reason.
 */
const statuses = [
  "pending",
  "at_warehouse",
  "scheduled",
  "assigned",
  "picked_up",
  "in_transit",
  "out_for_delivery",
  "arrived",
  "ready_for_collection",
  "completed",
  "partially_completed",
  "failed",
  "on_hold",
  "returning",
  "returned",
  "cancelled",
];

const failureReasons = [
  "recipient_unavailable",
  "recipient_unreachable",
  "recipient_refused",
  "recipient_moved",
  "business_closed",
  "reschedule_requested",
  "verification_failed",
  "wrong_incomplete_address",
  "address_not_found",
  "access_restricted",
  "no_safe_place",
  "outside_service_area",
  "payment_not_received",
  "parcel_damaged",
  "parcel_lost",
  "parcel_missing",
  "wrong_parcel",
  "oversize_overweight",
  "vehicle_breakdown",
  "driver_unavailable",
  "accident",
  "insufficient_time",
  "capacity_exceeded",
  "misrouted",
  "missing_proof",
  "shipper_cancelled",
  "shipper_data_incorrect",
  "awaiting_instructions",
  "severe_weather",
  "road_closure",
  "force_majeure",
  "public_holiday",
  "customs_hold",
  "security_hold",
  "max_attempts_exceeded",
  "other",
  "unknown",
];

export const knownStatuses = { "x-known-values": statuses };

export const knownFailureReasons = { "x-known-values": failureReasons };
