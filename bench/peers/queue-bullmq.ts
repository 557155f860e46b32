/** A BullMQ queue of deliveries, for the producer. */
import { Queue } from "bullmq";
import type { Message, MessageQueue } from "../deliveries/protocol.ts";

export function openQueue(redisSocket: string): MessageQueue {
  const options = { connection: { path: redisSocket }, defaultJobOptions: { removeOnComplete: true } };
  const queue = new Queue<Message>("deliver", options);
  return { add: async (message) => void (await queue.add("deliver", message)) };
}
