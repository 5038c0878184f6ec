import type { INodeProperties } from "n8n-workflow";

import { ITEMS, JSON_VALUE, address, body, id, on, operation, operations, query } from "./fields";

/** Pages and sites: scan, stored page, map, search. */
export const pages: INodeProperties[] = [
  operations("page", [
    operation("Scan a page", "scan", "Fetch a page: Markdown, article, metadata and signals", {
      request: { method: "POST", url: "/v1/scan" },
    }),
    operation("Get a stored page", "get", "Get a page of a crawl with its content", {
      request: { method: "GET", url: "=/v1/pages/{{$parameter.pageId}}" },
    }),
    operation("Map a site", "map", "List the URLs of a site", {
      request: { method: "POST", url: "/v1/map" },
      output: { postReceive: [{ type: "rootProperty", properties: { property: "urls" } }] },
    }),
    operation("Search", "search", "Search the stored pages of the project, or the web", {
      request: { method: "POST", url: "/v1/cloud/search" },
    }),
  ]),
  address("page", "scan", "map"),
  id("page", "pageId", "Page ID", "get"),
  query("format", {
    displayName: "Format",
    type: "options",
    default: "markdown",
    options: [
      { name: "Markdown", value: "markdown" },
      { name: "Article", value: "article" },
      { name: "HTML", value: "html" },
    ],
    displayOptions: on("page", "get"),
  }),
  body("query", {
    displayName: "Query",
    type: "string",
    required: true,
    default: "",
    displayOptions: on("page", "search"),
  }),
  {
    displayName: "Options",
    name: "scanOptions",
    type: "collection",
    placeholder: "Add Option",
    default: {},
    displayOptions: on("page", "scan"),
    options: [
      body("only_main_content", {
        displayName: "Only Main Content",
        type: "boolean",
        default: true,
        description: "Whether the Markdown leaves out navigation, footer and sidebars",
      }),
      body("include_links", {
        displayName: "Include Links",
        type: "boolean",
        default: true,
        description: "Whether to add the page's links",
      }),
      body("metadata_only", {
        displayName: "Metadata Only",
        type: "boolean",
        default: true,
        description: "Whether to leave out Markdown and article",
      }),
      body("max_age_seconds", {
        displayName: "Maximum Age",
        type: "number",
        default: 3600,
        description: "Seconds for which an earlier answer is good enough; 0 fetches again",
      }),
      body("cloud_mode", {
        displayName: "Fetch With",
        type: "options",
        default: "auto",
        options: [
          { name: "HTTP", value: "none" },
          { name: "Whatever Works", value: "auto" },
          { name: "Browser", value: "browser" },
        ],
      }),
      {
        displayName: "Extract",
        name: "extract",
        type: "json",
        default: "{}",
        description: "Fields to extract: an object with schema, and selectors or prompt",
        routing: { send: { type: "body", property: "extract", value: JSON_VALUE } },
      },
    ],
  },
  {
    displayName: "Options",
    name: "mapOptions",
    type: "collection",
    placeholder: "Add Option",
    default: {},
    displayOptions: on("page", "map"),
    options: [
      body("search", { displayName: "Search", type: "string", default: "", description: "Words that URLs should have" }),
      body("limit", { displayName: "Limit", type: "number", default: 50, typeOptions: { minValue: 1 }, description: "Max number of results to return" }),
      body("subdomains", { displayName: "Subdomains", type: "boolean", default: true, description: "Whether subdomains count as the site" }),
    ],
  },
];

/** Actors: their list, and a call. */
export const actors: INodeProperties[] = [
  operations("actor", [
    operation("Run an actor", "run", "Run an actor and wait for its answer", {
      request: { method: "POST", url: "=/v1/actors/{{$parameter.actor}}" },
    }),
    operation("List actors", "list", "List the actors that are loaded", {
      request: { method: "GET", url: "/v1/actors" },
      output: ITEMS,
    }),
  ]),
  {
    displayName: "Actor",
    name: "actor",
    type: "string",
    required: true,
    default: "",
    placeholder: "audit-onpage",
    displayOptions: on("actor", "run"),
  },
  {
    displayName: "Input",
    name: "input",
    type: "json",
    required: true,
    default: '{\n  "url": "https://example.com/"\n}',
    description: "The actor's input, by its schema",
    displayOptions: on("actor", "run"),
    routing: { request: { body: JSON_VALUE } },
  },
];
