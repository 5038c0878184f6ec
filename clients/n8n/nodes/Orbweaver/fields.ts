import type {
  DeclarativeRestApiSettings,
  IDataObject,
  IExecutePaginationFunctions,
  INodeExecutionData,
  INodeProperties,
  INodePropertyOptions,
} from "n8n-workflow";

type Routing = NonNullable<INodePropertyOptions["routing"]>;

/** An operation of a resource with its request. */
export function operation(
  name: string,
  value: string,
  description: string,
  routing: Routing,
): INodePropertyOptions {
  return { name, value, description, action: name, routing };
}

/** The choice of an operation of a resource. */
export function operations(resource: string, options: INodePropertyOptions[]): INodeProperties {
  return {
    displayName: "Operation",
    name: "operation",
    type: "options",
    noDataExpression: true,
    displayOptions: { show: { resource: [resource] } },
    default: options[0].value,
    options,
  };
}

/** Where a field is shown. */
export function on(resource: string, ...operation: string[]) {
  return { show: { resource: [resource], operation } };
}

/** A field of the request's body under its name in the API. */
export function body(name: string, field: Omit<INodeProperties, "name">): INodeProperties {
  return { ...field, name, routing: { send: { type: "body", property: name } } };
}

/** A parameter of the query under its name in the API. */
export function query(name: string, field: Omit<INodeProperties, "name">): INodeProperties {
  return { ...field, name, routing: { send: { type: "query", property: name } } };
}

/** The value of a field of JSON: typed as text, or an object that an expression or an agent gives. */
export const JSON_VALUE = '={{ typeof $value === "string" ? JSON.parse($value) : $value }}';

/** One item that says what was done, in place of an answer without a body. */
export const DELETED = {
  postReceive: [{ type: "set" as const, properties: { value: "={{ { deleted: true } }}" } }],
};

/** The items of a list, one output item each. */
export const ITEMS = { postReceive: [{ type: "rootProperty" as const, properties: { property: "items" } }] };

/** Most items of one request. */
const PART = 500;

/** All items of a long list, or as many as Limit says, one output item each. */
export async function allItems(
  this: IExecutePaginationFunctions,
  request: DeclarativeRestApiSettings.ResultOptions,
): Promise<INodeExecutionData[]> {
  const query = (request.options.qs ?? {}) as IDataObject;
  const most = query.limit === undefined ? Infinity : Number(query.limit);
  const found: INodeExecutionData[] = [];
  let offset: unknown = query.offset ?? 0;
  while (typeof offset === "number" && found.length < most) {
    request.options.qs = { ...query, offset, limit: Math.min(PART, most - found.length) };
    const [answer] = await this.makeRoutingRequest(request);
    for (const item of answer.json.items as IDataObject[]) found.push({ json: item });
    offset = answer.json.next_offset;
  }
  return found;
}

/** The address of a page or a site. */
export function address(resource: string, ...shown: string[]): INodeProperties {
  return body("url", {
    displayName: "URL",
    type: "string",
    required: true,
    default: "",
    placeholder: "https://example.com/",
    displayOptions: on(resource, ...shown),
  });
}

/** The id of a run or a page, which the request's path has. */
export function id(resource: string, name: string, label: string, ...shown: string[]): INodeProperties {
  return {
    displayName: label,
    name,
    type: "number",
    required: true,
    default: 0,
    typeOptions: { minValue: 1 },
    displayOptions: on(resource, ...shown),
  };
}
