export { Orbweaver, type Settings, type Waiting } from "./client.js";
export { OrbweaverError } from "./errors.js";
export { verify } from "./webhooks.js";
export type * from "./types.js";
