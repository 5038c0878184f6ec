// The compiler leaves icons behind.
import { copyFile } from "node:fs/promises";

for (const node of ["Orbweaver", "OrbweaverTrigger"]) {
  await copyFile("orbweaver.svg", `dist/nodes/${node}/orbweaver.svg`);
}
