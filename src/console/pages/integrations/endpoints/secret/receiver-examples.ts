/** Example receivers that verify signatures with the Standard Webhooks libraries. The guide has more. */

export interface ReceiverExample {
  id: "node" | "python";
  label: string;
  code: string;
}

/** The examples listen on the path of the endpoint's `url`. */
export function receiverExamples(url: string): ReceiverExample[] {
  const path = URL.canParse(url) ? new URL(url).pathname : "/webhooks";
  return [
    { id: "node", label: "Node", code: nodeExample(JSON.stringify(path)) },
    { id: "python", label: "Python", code: pythonExample(JSON.stringify(path)) },
  ];
}

function nodeExample(path: string): string {
  return `// npm install express standardwebhooks
// WEBHOOK_SECRET=whsec_… node receiver.mjs
import express from "express";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.WEBHOOK_SECRET);
const app = express();

// Signatures cover the raw body, so don't use express.json().
const bytes = express.raw({ type: "application/json", limit: "1mb" });

app.post(${path}, bytes, (request, response) => {
  let event;
  try {
    event = webhook.verify(request.body, request.headers);
  } catch {
    return response.sendStatus(400);
  }
  console.log(event.id, event.type); // store the event here, process it later
  response.sendStatus(204);
});

app.listen(process.env.PORT ?? 8000);`;
}

function pythonExample(path: string): string {
  return `# pip install flask standardwebhooks
# WEBHOOK_SECRET=whsec_… flask --app receiver run --port 8000
import os

from flask import Flask, request
from standardwebhooks import Webhook

app = Flask(__name__)
app.config["MAX_CONTENT_LENGTH"] = 1024 * 1024
webhook = Webhook(os.environ["WEBHOOK_SECRET"])


@app.post(${path})
def receive():
    body = request.get_data()  # the raw body, as it was signed
    try:
        event = webhook.verify(body, dict(request.headers))
    except Exception:
        return "", 400
    print(event["id"], event["type"])  # store the event here, process it later
    return "", 204`;
}
