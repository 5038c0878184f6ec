import type { INodeProperties } from "n8n-workflow";

import { DELETED, address, allItems, body, id, on, operation, operations, query } from "./fields";

/** Crawls of whole sites. */
export const crawls: INodeProperties[] = [
  operations("crawl", [
    operation("Start a crawl", "start", "Start a crawl of a site; it runs in the background", {
      request: { method: "POST", url: "/v1/crawls" },
    }),
    operation("Get a crawl", "get", "Get the state of a crawl", {
      request: { method: "GET", url: "=/v1/crawls/{{$parameter.crawlId}}" },
    }),
    operation("Get a crawl's pages", "pages", "Get all pages of a crawl, one item each", {
      request: { method: "GET", url: "=/v1/crawls/{{$parameter.crawlId}}/pages" },
      send: { paginate: true },
      operations: { pagination: allItems },
    }),
    operation("Compare two crawls", "compare", "List what changed between two crawls of a site", {
      request: {
        method: "GET",
        url: "=/v1/crawls/{{$parameter.oldCrawlId}}/diff/{{$parameter.crawlId}}",
      },
    }),
    operation("Delete a crawl", "delete", "Delete a crawl with all its pages", {
      request: { method: "DELETE", url: "=/v1/crawls/{{$parameter.crawlId}}" },
      output: DELETED,
    }),
  ]),
  address("crawl", "start"),
  id("crawl", "oldCrawlId", "Earlier Crawl ID", "compare"),
  id("crawl", "crawlId", "Crawl ID", "get", "pages", "compare", "delete"),
  {
    displayName: "Options",
    name: "startOptions",
    type: "collection",
    placeholder: "Add Option",
    default: {},
    displayOptions: on("crawl", "start"),
    options: [
      body("max_pages", { displayName: "Maximum Pages", type: "number", default: 100, typeOptions: { minValue: 1 } }),
      body("depth", { displayName: "Depth", type: "number", default: 3, description: "Links from the first page at most" }),
      body("render", {
        displayName: "Render",
        type: "options",
        default: "auto",
        options: [
          { name: "Never", value: "never" },
          { name: "Where Needed", value: "auto" },
          { name: "Always", value: "always" },
        ],
      }),
      body("subdomains", { displayName: "Subdomains", type: "boolean", default: true, description: "Whether subdomains count as the site" }),
      body("webhook_url", {
        displayName: "Webhook URL",
        type: "string",
        default: "",
        description: "Who is told at the end, such as the address of an Orbweaver Trigger",
      }),
      body("cron", {
        displayName: "Schedule",
        type: "string",
        default: "",
        placeholder: "0 6 * * *",
        description: "A cron expression in UTC: the crawl is then repeated",
      }),
    ],
  },
  {
    displayName: "Options",
    name: "pageOptions",
    type: "collection",
    placeholder: "Add Option",
    default: {},
    displayOptions: on("crawl", "pages"),
    options: [
      query("include", {
        displayName: "Include",
        type: "string",
        default: "markdown,metadata",
        description: "Columns besides the facts: markdown, article, metadata, signals, title …",
      }),
      query("limit", { displayName: "Limit", type: "number", default: 50, typeOptions: { minValue: 1 }, description: "Max number of results to return" }),
      query("offset", { displayName: "Offset", type: "number", default: 0, description: "Number of pages to skip" }),
      query("status", { displayName: "Status", type: "number", default: 200, description: "Only pages with this HTTP status" }),
    ],
  },
];
