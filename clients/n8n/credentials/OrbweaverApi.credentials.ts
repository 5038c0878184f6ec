import type {
  IAuthenticateGeneric,
  ICredentialTestRequest,
  ICredentialType,
  INodeProperties,
} from "n8n-workflow";

/** Address and key of a service. */
export class OrbweaverApi implements ICredentialType {
  name = "orbweaverApi";
  displayName = "Orbweaver API";
  properties: INodeProperties[] = [
    {
      displayName: "Address",
      name: "baseUrl",
      type: "string",
      default: "http://127.0.0.1:8080",
      description: "Address of the service, without a path",
    },
    {
      displayName: "Key",
      name: "apiKey",
      type: "string",
      typeOptions: { password: true },
      default: "",
      description: "A project's key; it begins with orb_",
    },
    {
      displayName: "Webhook Secret",
      name: "webhookSecret",
      type: "string",
      typeOptions: { password: true },
      default: "",
      description: "The project's secret of GET /v1/webhook/secret; the trigger checks signatures with it",
    },
  ];
  authenticate: IAuthenticateGeneric = {
    type: "generic",
    properties: { headers: { Authorization: "=Bearer {{$credentials.apiKey}}" } },
  };
  test: ICredentialTestRequest = {
    request: { baseURL: "={{$credentials.baseUrl}}", url: "/v1/usage" },
  };
}
