import type { INodeType, INodeTypeDescription } from "n8n-workflow";

import { crawls } from "./crawls";
import { actors, pages } from "./pages";

/** Scans pages, crawls and maps sites, and runs actors. */
export class Orbweaver implements INodeType {
  description: INodeTypeDescription = {
    displayName: "Orbweaver",
    name: "orbweaver",
    icon: "file:orbweaver.svg",
    group: ["transform"],
    version: 1,
    subtitle: '={{ $parameter["operation"] + ": " + $parameter["resource"] }}',
    description: "Scan pages, crawl and map sites, run actors",
    defaults: { name: "Orbweaver" },
    usableAsTool: true,
    inputs: ["main"],
    outputs: ["main"],
    credentials: [{ name: "orbweaverApi", required: true }],
    requestDefaults: {
      baseURL: "={{$credentials.baseUrl}}",
      headers: { Accept: "application/json" },
    },
    properties: [
      {
        displayName: "Resource",
        name: "resource",
        type: "options",
        noDataExpression: true,
        default: "page",
        options: [
          { name: "Actor", value: "actor" },
          { name: "Crawl", value: "crawl" },
          { name: "Page", value: "page" },
        ],
      },
      ...pages,
      ...crawls,
      ...actors,
    ],
  };
}
