// The installed version of a package, also of one that does not export its package.json.
import { readFileSync } from 'node:fs';

export function versionOf(name) {
  const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(file)).version}`;
}
