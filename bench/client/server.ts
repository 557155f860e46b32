/** A server that answers each request with the same job. Run as a child process, it sends its port to the parent. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const job = {
  id: "job_01KAGD2WJ8F9V6BMH0T3S5XQ1N",
  marking_number: "MN-2026-000123",
  recipient_name: "Harbour Street Bakery",
  delivery_address: "12 Harbour Street, #04-01",
  normalized_status: "completed",
  instructions: "Leave with the concierge",
};
const body = JSON.stringify({ request_id: "req_1", success: true, data: job, error: null });

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "application/json", "x-request-id": "req_1" }).end(body);
});
server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
