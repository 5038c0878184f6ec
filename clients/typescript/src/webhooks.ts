import { createHmac, timingSafeEqual } from "node:crypto";

/**
 * Whether `signature` (the header `X-Crawler-Signature`) is that of this body.
 *
 * `body` is the request's body as it was received, `secretHex` the project's secret of
 * `GET /v1/webhook/secret`.
 */
export function verify(body: string | Uint8Array, signature: string, secretHex: string): boolean {
  if (!/^([0-9a-f]{2})+$/i.test(secretHex)) return false;
  const mac = createHmac("sha256", Buffer.from(secretHex, "hex")).update(body).digest("hex");
  const expected = Buffer.from(`sha256=${mac}`);
  const given = Buffer.from(signature);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
