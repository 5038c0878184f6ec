import { createHmac, timingSafeEqual } from "node:crypto";

import type {
  IDataObject,
  INodeType,
  INodeTypeDescription,
  IWebhookFunctions,
  IWebhookResponseData,
} from "n8n-workflow";

/** Starts a workflow when a crawl or an actor's run ends. */
export class OrbweaverTrigger implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Orbweaver Trigger",
    name: "orbweaverTrigger",
    icon: "file:orbweaver.svg",
    group: ["trigger"],
    version: 1,
    description: "Starts the workflow at the end of a crawl; give this node's address as its webhook_url",
    defaults: { name: "Orbweaver Trigger" },
    inputs: [],
    outputs: ["main"],
    credentials: [{ name: "orbweaverApi", required: true }],
    webhooks: [
      { name: "default", httpMethod: "POST", responseMode: "onReceived", path: "orbweaver", rawBody: true },
    ],
    properties: [],
  };

  async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
    const { webhookSecret } = await this.getCredentials("orbweaverApi");
    const request = this.getRequestObject();
    const signature = String(this.getHeaderData()["x-crawler-signature"] ?? "");
    if (!isSigned(request.rawBody, signature, String(webhookSecret ?? ""))) {
      const response = this.getResponseObject();
      response.status(401).json({ error: "the signature is not this project's" });
      return { noWebhookResponse: true };
    }
    return { workflowData: [this.helpers.returnJsonArray(this.getBodyData() as IDataObject)] };
  }
}

/** Whether a signature is that of this body; `secret` is hexadecimal. */
export function isSigned(body: Uint8Array, signature: string, secret: string): boolean {
  if (!/^([0-9a-f]{2})+$/i.test(secret)) return false;
  const mac = createHmac("sha256", Buffer.from(secret, "hex")).update(body).digest("hex");
  const [expected, given] = [Buffer.from(`sha256=${mac}`), Buffer.from(signature)];
  return given.length === expected.length && timingSafeEqual(given, expected);
}
