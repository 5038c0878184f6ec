// A real server: ORBWEAVER_BINARY, by default the release build.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const KEY = "orb_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

const root = new URL("../../../target/release/orbweaver", import.meta.url).pathname;
/** The program. */
export const binary = process.env.ORBWEAVER_BINARY ?? root;

/** Starts a server on a port of its own: its address, and what ends it. */
export async function start() {
  const data = await mkdtemp(join(tmpdir(), "orbweaver-"));
  const options = ["serve", "--listen", "127.0.0.1:0", "--allow-net", "127.0.0.0/8"];
  const env = { ...process.env, ORBWEAVER_BOOTSTRAP_KEY: KEY, ORBWEAVER_DATA_DIR: data };
  const child = spawn(binary, options, { env, stdio: ["ignore", "pipe", "ignore"] });
  let said = "";
  const service = await new Promise((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      said += chunk;
      const found = /listens on (\S+)/.exec(said);
      if (found) resolve(found[1]);
    });
    child.on("exit", () => reject(new Error("the service ended before it listened")));
  });
  const stop = async () => {
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    await rm(data, { recursive: true });
  };
  return { service, stop };
}
